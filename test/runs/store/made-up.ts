import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type StatePaths, statePaths } from '../../../src/core/state-paths.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import type { NewAnnouncement } from '../../../src/runs/model/announcement.ts';
import { ASKS_NEVER } from '../../../src/runs/model/permissions.ts';
import { NO_POLICY } from '../../../src/runs/model/tool-policy.ts';
import type { Ending, Turn } from '../../../src/runs/model/turn.ts';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import type { SpawnLimits } from '../../../src/runs/store/limits.ts';
import { acknowledge, takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { openRunsDb } from '../../../src/runs/store/rows.ts';
import { type Insertion, insertRun, type NewRun } from '../../../src/runs/store/runs.ts';
import { appendTurn, changeTurn, endTurn } from '../../../src/runs/store/turns.ts';

/** Runs, ends and announcements for the tests of the store. */

export const NOW_MS = Date.parse('2026-05-01T10:00:00.000Z');
export const A = 'agent:main:shop-1';
export const B = 'agent:main:bank-2';

const NO_LIMIT = { tokens: null, usd: null };
export const LIMITS: SpawnLimits = {
  maxQueued: 1000,
  undeliveredMax: 1000,
  dedupeMs: 60_000,
  dedupesFailed: false,
  budget: { run: NO_LIMIT, requester: NO_LIMIT, day: NO_LIMIT },
};
export const LANE = { maxConcurrent: 8 };

export type Home = { readonly paths: StatePaths; readonly db: Sqlite; readonly open: () => Sqlite };

/** A home of its own for one test; everything opened in it is closed afterwards. */
export function inHome<T>(work: (home: Home) => T): T {
  const home = mkdtempSync(`${tmpdir()}/runs-`);
  const paths = statePaths({ SELF_GENERATION_HOME: home }, 'linux');
  if (paths === undefined) throw new Error(`Cannot use the home directory "${home}"`);
  const opened: Sqlite[] = [];
  const open = () => {
    const db = openRunsDb(paths);
    opened.push(db);
    return db;
  };
  const dispose = () => {
    for (const db of opened) db.close();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const result = work({ paths, open, db: open() });
    if (result instanceof Promise) return result.finally(dispose) as T;
    dispose();
    return result;
  } catch (error) {
    dispose();
    throw error;
  }
}

type NewTurn = Parameters<typeof appendTurn>[0];
export type RunFields = Partial<NewRun> & {
  readonly key?: string;
  readonly session?: string | null;
  readonly spawnKey?: string;
};

/** A run that may be inserted; each has another id. */
export function newRun({ key = A, session = null, spawnKey: _, ...rest }: RunFields = {}): NewRun {
  const uuid = crypto.randomUUID();
  return {
    id: uuid.replaceAll('-', ''),
    requester: { key, session, client: 'claude', cwd: '/home/dev/shop' },
    childKey: `agent:main:subagent:${uuid}`,
    agentId: 'main',
    client: 'claude',
    label: null,
    task: 'count the files',
    model: { requested: null, resolved: null },
    thinking: null,
    cleanup: 'keep',
    runTimeoutMs: 0,
    cwd: '/home/dev/shop',
    worktreeMode: 'never',
    policy: NO_POLICY,
    permissions: ASKS_NEVER,
    gaps: [],
    agentDir: null,
    profile: null,
    handover: null,
    part: null,
    instructions: null,
    pool: null,
    warning: null,
    terminal: null,
    archiveAfterMs: 3_600_000,
    createdAtMs: NOW_MS,
    ...rest,
  };
}

/** Asks for a run under a key of its own, or the one given. */
export function spawn(db: Sqlite, fields: RunFields = {}, limits: SpawnLimits = LIMITS): Insertion {
  const run = newRun(fields);
  return insertRun(run, fields.spawnKey ?? run.id, limits, db);
}

/** As spawn(), where it has to be accepted. */
export function accepted(db: Sqlite, fields: RunFields = {}): Turn {
  const answer = spawn(db, fields);
  if (answer.kind !== 'inserted') throw new Error(`Cannot insert a run: ${JSON.stringify(answer)}`);
  return answer.turn;
}

/** A run that has its slot and no supervisor yet. */
export function claimed(db: Sqlite, fields: RunFields = {}): Turn {
  const { runId } = accepted(db, fields);
  const turns = claimTurns({ maxConcurrent: 10_000 }, fields.createdAtMs ?? NOW_MS, db);
  const turn = turns.find((one) => one.runId === runId);
  if (turn === undefined) throw new Error(`Cannot give run "${runId}" a slot`);
  return turn;
}

/** A run whose first turn runs. */
export function started(db: Sqlite, fields: RunFields = {}): Turn {
  const owner = { pid: 7, start: '70', boot: 'b' };
  const turn = changeTurn(claimed(db, fields), { state: 'running', owner, launchedAtMs: NOW_MS }, db);
  if (turn === undefined) throw new Error('Cannot start a run');
  return turn;
}

/** One more turn of a run: a message that waits, unless the fields say otherwise. */
export function appended(db: Sqlite, runId: string, fields: Partial<NewTurn> = {}): Turn {
  const message = {
    kind: 'send',
    announces: null,
    message: 'and now?',
    nowMs: NOW_MS,
    state: 'queued',
  } as const;
  return appendTurn({ runId, ...message, ...fields }, db);
}

/** Everything that waits is handed out and settled at that time. */
export function deliver(db: Sqlite, nowMs: number): void {
  const listener = { requester: A, session: null, owner: 'o', isPerson: true };
  takeAnnouncements(listener, { nowMs, leaseMs: 1000, limit: 999 }, db);
  acknowledge('o', nowMs, db);
}

/** A run that has ended and has something to tell, ready `afterMs` later. */
export function ended(db: Sqlite, fields: RunFields = {}, tells: Partial<NewAnnouncement> = {}): Turn {
  const turn = endTurn(started(db, fields), ending(), announcement(tells), db);
  if (turn === undefined) throw new Error('Cannot end a run');
  return turn;
}

/** What so many tokens took; the cost may be unknown. */
export function usageOf(tokens: number, costUsd: number | null): Usage {
  const costSource = costUsd === null ? null : 'priced';
  return { ...NO_USAGE, inputTokens: tokens - 1, outputTokens: 1, costUsd, costSource };
}

export function ending(fields: Partial<Ending> = {}): Ending {
  return {
    outcome: 'success',
    result: 'done',
    error: null,
    notes: [],
    usage: NO_USAGE,
    exit: { code: 0, signal: null },
    endedAtMs: NOW_MS + 1000,
    ...fields,
  };
}

export function announcement(fields: Partial<NewAnnouncement> = {}): NewAnnouncement {
  return {
    id: crypto.randomUUID(),
    status: 'success',
    result: 'done',
    notes: '- (none)',
    stats: 'Stats: runtime 1s',
    readyAtMs: NOW_MS + 1000,
    ...fields,
  };
}
