import type { Exit, ProcessIdentity } from '../../system/process-identity.ts';
import type { Permissions } from './permissions.ts';

/** What a turn used. `null`: the client does not say. Input includes cached tokens, output includes thinking. */
export type Usage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly costUsd: number | null;
  /** Whether the client named the cost, or it was computed from the configured prices. */
  readonly costSource: 'client' | 'priced' | null;
  readonly model: string | null;
};

export const NO_USAGE: Usage = {
  ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
  ...{ costUsd: null, costSource: null, model: null },
};

export const OUTCOMES = ['success', 'error', 'timeout', 'stopped', 'lost'] as const;

export type Outcome = (typeof OUTCOMES)[number];
export type TurnState = 'queued' | 'starting' | 'running' | 'stopping' | Outcome;

export type Stop = {
  readonly reason: 'requested' | 'timeout' | 'idle' | 'budget' | 'limit' | 'shutdown';
  /** Who asked, or which limit was reached, for the Notes. */
  readonly by: string;
  readonly atMs: number;
  /** Whose session asked, as a turn's `session`; absent where a limit was reached. */
  readonly session?: string;
};

/** Who has stopped a turn, for a message that goes ahead of others. */
export const NEWER = 'a newer message';

/** Which states may follow. */
const NEXT: Readonly<Record<TurnState, readonly TurnState[]>> = {
  queued: ['starting', 'stopped', 'error'],
  starting: ['queued', 'running', 'stopping', ...OUTCOMES],
  running: ['stopping', ...OUTCOMES],
  stopping: OUTCOMES,
  ...{ success: [], error: [], timeout: [], stopped: [], lost: [] },
};

/** Whether a turn may go from one state to the other. */
export function canFollow(from: TurnState, to: TurnState): boolean {
  return NEXT[from].includes(to);
}

/** Whether nothing can change the state any more. */
export function isTerminal(state: TurnState): state is Outcome {
  return NEXT[state].length === 0;
}

/** The mark of a run's turn. */
export function turnMark({ runId, number }: Pick<Turn, 'runId' | 'number'>): string {
  return `${runId}/${number}`;
}

/** One execution of a client for a run: its task, a message, or an announce step. Times are milliseconds since 1970. */
export type Turn = {
  readonly runId: string;
  /** From 1 on, in the run. */
  readonly number: number;
  readonly kind: 'task' | 'send' | 'announce';
  /** The turn whose result an announce step puts into words. */
  readonly announces: number | null;
  readonly state: TurnState;
  readonly message: string;
  /** As who asked for it calls it; of a run, the same name is the same turn. Null: it has none. */
  readonly name: string | null;
  /** Whether it starts before the others of its line that wait. */
  readonly ahead: boolean;
  /** Who asked: a session; '': a person, or a client without one; null: the run's requester. */
  readonly session: string | null;
  /** Of who sent the message; null: the run's. Never more than those. */
  readonly permissions: Permissions | null;
  readonly queuedAtMs: number;
  /** When a slot was given to it, and its supervisor was to be started. */
  readonly claimedAtMs: number | null;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly deadlineAtMs: number | null;
  readonly stop: Stop | null;
  readonly owner: ProcessIdentity | null;
  /** Set just before the client is started: from then on it may have run. */
  readonly launchedAtMs: number | null;
  readonly process: ProcessIdentity | null;
  readonly usage: Usage;
  readonly result: string | null;
  readonly error: string | null;
  readonly notes: readonly string[];
  readonly exit: Exit | null;
  /** Grows with every change; a change that expects another version is refused. */
  readonly version: number;
};

/** How a turn ended. The first ending that is stored counts. */
export type Ending = Pick<Turn, 'result' | 'error' | 'notes' | 'usage' | 'exit'> & {
  readonly outcome: Outcome;
  readonly endedAtMs: number;
};

/** Of an ending of which nothing else is known. */
export const NOTHING_SAID: Omit<Ending, 'outcome' | 'endedAtMs'> = {
  ...{ result: null, error: null, notes: [], usage: NO_USAGE, exit: null },
};

/** How long a turn has taken so far; null: it has not begun. */
export function runtimeMs({ startedAtMs, endedAtMs }: Turn, nowMs: number): number | null {
  return startedAtMs === null ? null : Math.max(0, (endedAtMs ?? nowMs) - startedAtMs);
}

/** Why a turn failed; undefined when it did not, or nothing is known. */
export function endReason({ error, stop, state }: Turn): string | undefined {
  if (error !== null || stop === null || !isTerminal(state)) return error ?? undefined;
  return state === 'stopped' ? `stopped by ${stop.by}` : stop.by;
}
