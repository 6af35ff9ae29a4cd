import { type Sqlite, textIn, type Value } from '../../database/sqlite.ts';
import { type BudgetLimit, type RunSettings, WARNING_SHARE } from '../../settings/run-settings.ts';
import { isKeyOfRun, type Run } from '../model/run.ts';
import type { Turn, Usage } from '../model/turn.ts';
import { undelivered, waitingAnnouncements } from './outbox.ts';
import { ACTIVE_TURNS, IS_ACTIVE } from './rows.ts';
import { lastStopOfAll } from './turns.ts';

/** What runs have used, announce steps included, and whether one more may begin. */

const UNITS = ['tokens', 'usd'] as const;
type Unit = (typeof UNITS)[number];

type Spent = {
  readonly tokens: number;
  /** Of those turns whose cost is known. */
  readonly usd: number;
  /** How many turns were started whose cost is not known. */
  readonly unknownUsd: number;
};

type SpentScope = { readonly runId: string } | { readonly requester: string } | { readonly sinceMs: number };

const MS_PER_DAY = 86_400_000;

const SUMS = `COALESCE(SUM(COALESCE(tokens_in, 0) + COALESCE(tokens_out, 0)), 0) AS tokens,
  COALESCE(SUM(cost_usd), 0) AS usd,
  COALESCE(SUM(launched_at IS NOT NULL AND cost_usd IS NULL), 0) AS unknown_usd`;

/** A requester's key, and those of its plan runs, which ask for others in their own name. */
const KEYS = 'SELECT ?1 UNION ALL SELECT child_key FROM runs WHERE requester = ?1 AND profile IS NOT NULL';
/** Behind ACTIVE_TURNS' runs: who has asked for a run, or for the plan that has. */
const OWNER =
  'COALESCE((SELECT plans.requester FROM runs AS plans WHERE plans.child_key = runs.requester), runs.requester)';

/** What the turns of a run or a requester have taken, or all that ended since then or has not ended yet. */
export function spent(scope: SpentScope, db: Sqlite): Spent {
  const sum = (rows: string, ...values: Value[]) => {
    const row = db.get(`SELECT ${SUMS} FROM ${rows}`, ...values);
    return { tokens: Number(row?.tokens), usd: Number(row?.usd), unknownUsd: Number(row?.unknown_usd) };
  };
  if ('runId' in scope) return sum('turns WHERE run_id = ?', scope.runId);
  if ('requester' in scope)
    return sum(
      `runs JOIN turns ON turns.run_id = runs.id WHERE runs.requester IN (${KEYS})`,
      scope.requester,
    );
  const [ended, active] = [sum('turns WHERE ended_at >= ?', scope.sinceMs), sum(`turns WHERE ${IS_ACTIVE}`)];
  const both = (key: keyof Spent) => ended[key] + active[key];
  return { tokens: both('tokens'), usd: both('usd'), unknownUsd: both('unknownUsd') };
}

/** A limit that is set, with what was taken of it. */
export type BudgetShare = {
  readonly name: keyof RunSettings['budget'];
  readonly limit: BudgetLimit;
  readonly taken: Spent;
};

/** The limits that are set, with what was taken of each: by a run if one is named, its requester, and all of a day. */
function budgetShares(
  { runId, requester: asker, nowMs }: { runId?: string; requester: string; nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): BudgetShare[] {
  const requester = ownerOf(asker, db);
  const scopes: readonly (readonly [BudgetShare['name'], SpentScope])[] = [
    ...(runId === undefined ? [] : [['run', { runId }] as const]),
    ['requester', { requester }],
    ['day', { sinceMs: nowMs - MS_PER_DAY }],
  ];
  return scopes.flatMap(([name, scope]) => {
    const limit = budget[name];
    return limit.tokens === null && limit.usd === null ? [] : [{ name, limit, taken: spent(scope, db) }];
  });
}

/** Who has to answer for a requester: of a plan run, who has asked for that. */
function ownerOf(key: string, db: Sqlite): string {
  if (!isKeyOfRun(key)) return key;
  return textIn(db.get('SELECT requester FROM runs WHERE child_key = ?', key)?.requester) ?? key;
}

/** Each unit that is limited, with what counts as taken of it when so much comes on top. */
function amountsOf({ limit, taken }: BudgetShare, moreOf: (unit: Unit) => number) {
  return UNITS.flatMap((unit) => {
    const max = limit[unit];
    return max === null ? [] : [{ unit, max, taken: taken[unit] + moreOf(unit) }];
  });
}

/** Whether a run may begin. What active runs may still take is reserved and counts; an unknown cost counts as 0, its tokens count. */
function checkBudget(
  asker: { requester: string; nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): { readonly refusal?: string; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  for (const share of budgetShares(asker, budget, db)) {
    const { name, taken: known } = share;
    const requester = name === 'day' ? null : ownerOf(asker.requester, db);
    const reserved = (unit: Unit) => reservedOf(unit, budget.run[unit], requester, db);
    for (const { unit, max, taken } of amountsOf(share, reserved)) {
      const words = `the budget of the ${name}: ${show(taken, unit)} of ${show(max, unit)}`;
      if (taken >= max) return { refusal: `This would exceed ${words} are taken or reserved`, warnings };
      if (unit === 'usd' && known.unknownUsd > 0)
        warnings.push(`The budget of the ${name} does not know what ${known.unknownUsd} turns have cost`);
      if (taken >= max * WARNING_SHARE) warnings.push(`Near ${words} are taken or reserved`);
    }
  }
  return { warnings };
}

/** What active runs may still take: of one requester, or of all. */
function reservedOf(unit: Unit, max: number | null, requester: string | null, db: Sqlite): number {
  if (max === null) return 0;
  const rows = db.all(`SELECT DISTINCT turns.run_id, ${OWNER} AS requester FROM ${ACTIVE_TURNS}`);
  const runs = rows.filter((row) => requester === null || row.requester === requester);
  const left = runs.map((row) => Math.max(0, max - spent({ runId: String(row.run_id) }, db)[unit]));
  return left.reduce((sum, one) => sum + one, 0);
}

/** An amount of a budget in words. */
function show(amount: number, unit: Unit): string {
  return unit === 'usd' ? `$${amount.toFixed(2)}` : `${Math.round(amount)} tokens`;
}

type BudgetVerdict =
  | { readonly kind: 'within' }
  | { readonly kind: 'near' | 'exceeded'; readonly words: string };

/** How the limits stand for a turn that has taken this, as far as it is known, beside what others have taken. */
export function judgeBudget(shares: readonly BudgetShare[], usage: Usage): BudgetVerdict {
  const amounts = shares.flatMap((share) =>
    amountsOf(share, (unit) => takenBy(usage, unit)).map(({ unit, max, taken }) => ({
      ...{ max, taken, shown: show(taken, unit), limited: `${show(max, unit)} for the ${share.name}` },
    })),
  );
  const over = amounts.find(({ taken, max }) => taken >= max);
  if (over !== undefined)
    return { kind: 'exceeded', words: `budget exceeded: ${over.shown} of ${over.limited}` };
  const near = amounts.findLast(({ taken, max }) => taken >= max * WARNING_SHARE);
  if (near === undefined) return { kind: 'within' };
  return { kind: 'near', words: `near the budget of ${near.limited}` };
}

/** What may still be spent in USD; null: there is no such limit. */
export function usdLeft(shares: readonly BudgetShare[], usage: Usage): number | null {
  const left = shares.flatMap(({ limit, taken }) =>
    limit.usd === null ? [] : [limit.usd - taken.usd - takenBy(usage, 'usd')],
  );
  return left.length === 0 ? null : Math.max(0, Math.min(...left));
}

/** The limits that are set, with what all turns but this one have taken. */
export function sharesOf(
  { run, turn, nowMs }: { readonly run: Run; readonly turn: Turn; readonly nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): BudgetShare[] {
  const asker = { runId: run.id, requester: run.requester.key, nowMs };
  return budgetShares(asker, budget, db).map((share) => {
    const others = (unit: Unit) => Math.max(0, share.taken[unit] - takenBy(turn.usage, unit));
    return { ...share, taken: { ...share.taken, tokens: others('tokens'), usd: others('usd') } };
  });
}

function takenBy(usage: Usage, unit: Unit): number {
  return unit === 'usd' ? (usage.costUsd ?? 0) : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}

/** The limits of a requester, which are checked in the transaction that inserts a run. */
export type SpawnLimits = {
  /** Turns that wait. */
  readonly maxQueued: number;
  /** Results that have not been taken in: from so many on, no run begins; from half of them on, that is warned of. */
  readonly undeliveredMax: number;
  /** How long the same call is the same run. */
  readonly dedupeMs: number;
  /** Whether also after that run has failed: a caller with a key means one run by one key. */
  readonly dedupesFailed: boolean;
  readonly budget: RunSettings['budget'];
};

/** So much a run may have looked up in all; calls at once are one to its own limit. */
const OF_RUN_MAX = 20;

export type SpawnRefusal = {
  readonly kind: 'refused';
  /** `stopped`: everything was stopped after this was asked for. `label`: another run that works or waits has it. */
  readonly why: 'queue' | 'undelivered' | 'budget' | 'stopped' | 'label';
  /** One line, for the error. */
  readonly words: string;
};

/** Whether one more run may begin. */
export function checkLimits(
  { requester: asker, createdAtMs, label, part }: Pick<Run, 'requester' | 'createdAtMs' | 'label' | 'part'>,
  limits: SpawnLimits,
  db: Sqlite,
): SpawnRefusal | { readonly kind: 'granted'; readonly warnings: readonly string[] } {
  const { key: requester, session } = asker;
  const stopped = lastStopOfAll(requester, [session], db);
  if (stopped !== undefined && createdAtMs < stopped.atMs)
    return refuse('stopped', 'All sub-agents were stopped after this one was asked for');
  if (isKeyOfRun(requester)) {
    const asked = Number(db.get('SELECT COUNT(*) AS n FROM runs WHERE requester = ?', requester)?.n);
    if (asked >= OF_RUN_MAX)
      return refuse(
        'queue',
        `${asked} questions of this run were looked up, which is the most: go on with what is known`,
      );
  }
  const taken = label === null ? undefined : labelTaken(label, requester, db);
  if (taken !== undefined) return refuse('label', taken);
  const isQueued = `${ACTIVE_TURNS} AND turns.state = 'queued' AND runs.requester = ?`;
  const queued = Number(db.get(`SELECT COUNT(*) AS n FROM ${isQueued}`, requester)?.n);
  if (queued >= limits.maxQueued)
    return refuse('queue', `${queued} turns wait already, the most is ${limits.maxQueued}`);
  const waiting = part === null ? undelivered(requester, db) : 0; // A part adds nothing to them.
  const many = `${waiting} results have not been taken in`;
  if (waiting >= limits.undeliveredMax) {
    const ids = waitingAnnouncements(requester, db).map(({ id, number }) => `#${number} (${id})`);
    return refuse('undelivered', `${many}, the most is ${limits.undeliveredMax}: ${ids.join(', ')}`);
  }
  const budget = checkBudget({ requester, nowMs: createdAtMs }, limits.budget, db);
  if (budget.refusal !== undefined) return refuse('budget', budget.refusal);
  const inbox = waiting >= limits.undeliveredMax / 2 ? [`${many}: see "subagents inbox"`] : [];
  return { kind: 'granted', warnings: [...budget.warnings, ...inbox] };
}

function refuse(why: SpawnRefusal['why'], words: string): SpawnRefusal {
  return { kind: 'refused', why, words };
}

/** Two active runs must not have the same label: the older one could not be named. */
function labelTaken(label: string, requester: string, db: Sqlite): string | undefined {
  const holder = db.get(
    `SELECT runs.number, turns.state FROM ${ACTIVE_TURNS} AND runs.requester = ? AND runs.label = ? LIMIT 1`,
    requester,
    label,
  );
  if (holder === undefined) return undefined;
  return `Cannot call a run "${label}": run #${holder.number} has that label and is ${holder.state}. Choose another label, or stop that run first: subagents stop ${holder.number}`;
}
