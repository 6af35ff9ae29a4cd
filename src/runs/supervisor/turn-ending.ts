/**
 * How long a client has been running, and what follows from it. Two clocks, because neither is to be trusted alone: the
 * wall clock jumps when somebody sets it, and goes on while the machine sleeps; the steady one ends with our process.
 */

import type { Conclusion } from '../../clients/client.ts';
import { unreachable } from '../../core/guards.ts';
import { type ModelPrice, WARNING_SHARE } from '../../settings/run-settings.ts';
import type { Exit } from '../../system/process-identity.ts';
import type { Run } from '../model/run.ts';
import { priced } from '../model/stats.ts';
import type { Ending, Outcome, Stop, Turn, Usage } from '../model/turn.ts';
import { amountsOf, type BudgetUse, budgetUses, show, type Unit } from '../store/limits.ts';
import type { Supervision } from './turn-row.ts';

/** What others have taken of a limit: the turn itself comes on top. */
export type BudgetShare = Pick<BudgetUse, 'name' | 'limit'> & {
  readonly others: Readonly<Record<Unit, number>>;
};

type BudgetVerdict =
  | { readonly kind: 'within' }
  | { readonly kind: 'near' | 'exceeded'; readonly words: string };

/** How the limits stand for a turn that has taken this, as far as it is known. */
export function judgeBudget(shares: readonly BudgetShare[], usage: Usage): BudgetVerdict {
  const amounts = shares.flatMap(({ name, limit, others }) =>
    amountsOf(limit, (unit) => others[unit] + takenBy(usage, unit)).map(({ unit, max, taken }) => ({
      ...{ max, taken, shown: show(taken, unit), limited: `${show(max, unit)} for the ${name}` },
    })),
  );
  const over = amounts.find(({ taken, max }) => taken >= max);
  if (over !== undefined)
    return { kind: 'exceeded', words: `budget exceeded: ${over.shown} of ${over.limited}` };
  const near = amounts.findLast(({ taken, max }) => taken >= max * WARNING_SHARE);
  return near === undefined
    ? { kind: 'within' }
    : { kind: 'near', words: `near the budget of ${near.limited}` };
}

/** What may still be spent in USD; null: there is no such limit. */
export function usdLeft(shares: readonly BudgetShare[], usage: Usage): number | null {
  const left = shares.flatMap(({ limit, others }) =>
    limit.usd === null ? [] : [limit.usd - others.usd - takenBy(usage, 'usd')],
  );
  return left.length === 0 ? null : Math.max(0, Math.min(...left));
}

/** The limits that are set, with what all turns but this one have taken. */
export function sharesOf(run: Run, turn: Turn, { settings, db, world }: Supervision): BudgetShare[] {
  const asker = { runId: run.id, requester: run.requester.key, nowMs: world.now().getTime() };
  return budgetUses(asker, settings.budget, db).map(({ name, limit, taken }) => {
    const others = (unit: Unit) => Math.max(0, taken[unit] - takenBy(turn.usage, unit));
    return { name, limit, others: { tokens: others('tokens'), usd: others('usd') } };
  });
}

function takenBy(usage: Usage, unit: Unit): number {
  return unit === 'usd' ? (usage.costUsd ?? 0) : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}

export type ClockTimes = {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Milliseconds of a clock that nobody sets; where it begins does not matter. */
  readonly steadyMs: number;
};

/** The time for which a client has been running, as far as both clocks agree on it. */
export type RunningTime = { readonly spentMs: number; readonly at: ClockTimes };

/**
 * The running time a moment later. A wall clock that was set forward adds nothing that did not pass, and one that was
 * set back takes nothing away; what a sleeping machine does not count is not counted.
 */
export function passTime({ spentMs, at: before }: RunningTime, at: ClockTimes): RunningTime {
  const steadyMs = Math.max(0, at.steadyMs - before.steadyMs);
  const wallMs = at.wallMs - before.wallMs;
  return { spentMs: spentMs + (wallMs < 0 ? steadyMs : Math.min(wallMs, steadyMs)), at };
}

/** 0: no limit. */
export type TimeLimits = { readonly runMs: number; readonly idleMs: number };

type Watched = {
  readonly spentMs: number;
  /** Without any output. */
  readonly silentMs: number;
  /** Since the client said its last word on the turn; null: it has not. */
  readonly sinceResultMs: number | null;
};

type TimeVerdict = 'go on' | 'timeout' | 'idle' | 'ended but for its process';

/** How long a client may take to end after its last word. */
export const AFTER_RESULT_MS = 10_000;

/** Whether the time of a client is over. One that has said its result has kept the limits, whatever follows. */
export function judgeTime({ runMs, idleMs }: TimeLimits, watched: Watched): TimeVerdict {
  if (watched.sinceResultMs !== null)
    return watched.sinceResultMs >= AFTER_RESULT_MS ? 'ended but for its process' : 'go on';
  if (runMs > 0 && watched.spentMs >= runMs) return 'timeout';
  return idleMs > 0 && watched.silentMs >= idleMs ? 'idle' : 'go on';
}

/** How the end of a client came to be seen. */
export type ClientEnd = {
  readonly conclusion: Conclusion;
  /** As the system said it; null: nobody saw it. */
  readonly exit: Exit | null;
  /** Why it was ended from outside; null: it was not. */
  readonly stop: Stop | null;
  readonly notes: readonly string[];
  readonly endedAtMs: number;
};

/** How the turn ended. A stop that was asked for before the end is the reason, however well the client ended. */
export function endingOf(end: ClientEnd, prices: readonly ModelPrice[]): Ending {
  const { conclusion, exit, stop, notes, endedAtMs } = end;
  return {
    outcome:
      stop !== null ? stoppedOutcome(stop) : conclusion.outcome === 'unknown' ? 'lost' : conclusion.outcome,
    result: conclusion.text,
    error: stop === null ? conclusion.error : null,
    notes,
    usage: priced(conclusion.usage, prices),
    exit,
    endedAtMs,
  };
}

/** A turn that never came to its client, or of which nothing is left. */
export function endingWithout(
  { stop, usage }: Pick<Turn, 'stop' | 'usage'>,
  { outcome, error, endedAtMs }: Pick<Ending, 'outcome' | 'error' | 'endedAtMs'>,
): Ending {
  const nothing = { result: null, notes: [], usage, exit: null, endedAtMs };
  if (stop === null) return { ...nothing, outcome, error };
  return { ...nothing, outcome: stoppedOutcome(stop), error: null };
}

function stoppedOutcome({ reason }: Stop): Outcome {
  switch (reason) {
    case 'requested':
    case 'shutdown':
      return 'stopped';
    case 'timeout':
    case 'idle':
      return 'timeout';
    case 'budget':
      return 'error';
    default:
      return unreachable(reason);
  }
}
