import type { Run } from '../../core/runs/run.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import type { Sqlite } from '../sqlite.ts';
import { checkBudget } from './budget.ts';
import { undelivered, waitingAnnouncements } from './outbox.ts';
import { ACTIVE_TURNS } from './run-rows.ts';
import { lastStopOfAll } from './stops.ts';

/** How much a requester may have going. To be asked in the transaction that writes the run down. */

export type SpawnLimits = {
  /** Turns that wait. */
  readonly maxQueued: number;
  /** Results that have not been taken in: from so many on, no run begins. */
  readonly undeliveredMax: number;
  /** How long the same call is the same run. */
  readonly dedupeMs: number;
  /** Whether it is so too when that run came to no good: a caller that names its calls means one run by one name. */
  readonly dedupesFailed: boolean;
  readonly budget: RunSettings['budget'];
};

export type SpawnRefusal = {
  readonly kind: 'refused';
  /** `stopped`: everything was stopped after this was asked for. `label`: another run that works or waits has it. */
  readonly why: 'queue' | 'undelivered' | 'budget' | 'stopped' | 'label';
  /** One line, for the error. */
  readonly words: string;
};

export type SpawnGrant = {
  readonly kind: 'granted';
  readonly undelivered: number;
  readonly budgetWarnings: string[];
};

/** Whether one more run may begin. */
export function checkLimits(
  { requester: asker, createdAtMs, label }: Pick<Run, 'requester' | 'createdAtMs' | 'label'>,
  limits: SpawnLimits,
  db: Sqlite,
): SpawnGrant | SpawnRefusal {
  const { key: requester, session } = asker;
  const stopped = lastStopOfAll(requester, [session], db);
  if (stopped !== undefined && createdAtMs < stopped.atMs) {
    return refuse('stopped', 'All sub-agents were stopped after this one was asked for');
  }
  const taken = label === null ? undefined : labelTaken(label, requester, db);
  if (taken !== undefined) return refuse('label', taken);
  const queued = countQueued(requester, db);
  if (queued >= limits.maxQueued) {
    return refuse('queue', `${queued} turns wait already, the most is ${limits.maxQueued}`);
  }
  const waiting = undelivered(requester, db);
  if (waiting >= limits.undeliveredMax) return refuse('undelivered', undeliveredWords(requester, limits, db));
  const budget = checkBudget({ requester, nowMs: createdAtMs }, limits.budget, db);
  if (budget.kind === 'refused') return refuse('budget', budget.words);
  return { kind: 'granted', undelivered: waiting, budgetWarnings: budget.warnings };
}

function refuse(why: SpawnRefusal['why'], words: string): SpawnRefusal {
  return { kind: 'refused', why, words };
}

/** Two runs that work or wait are not to be called the same: nobody could name the older one. */
function labelTaken(label: string, requester: string, db: Sqlite): string | undefined {
  const holder = db.get(
    `SELECT runs.number, turns.state FROM ${ACTIVE_TURNS} AND runs.requester = ? AND runs.label = ? LIMIT 1`,
    requester,
    label,
  );
  if (holder === undefined) return undefined;
  return `Cannot call a run "${label}": run #${holder.number} has that label and is ${holder.state}. Choose another label, or stop that run first: subagents stop ${holder.number}`;
}

function countQueued(requester: string, db: Sqlite): number {
  const waiting = `${ACTIVE_TURNS} AND turns.state = 'queued' AND runs.requester = ?`;
  return Number(db.get(`SELECT COUNT(*) AS n FROM ${waiting}`, requester)?.n);
}

function undeliveredWords(requester: string, limits: SpawnLimits, db: Sqlite): string {
  const waiting = waitingAnnouncements(requester, db);
  const ids = waiting.map(({ id, number }) => `#${number} (${id})`).join(', ');
  return `${waiting.length} results have not been taken in, the most is ${limits.undeliveredMax}: ${ids}`;
}
