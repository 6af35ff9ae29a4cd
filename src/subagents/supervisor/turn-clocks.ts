/**
 * How long a client has been running, and what follows from it. Two clocks, because neither is to be trusted alone: the
 * wall clock jumps when somebody sets it, and goes on while the machine sleeps; the steady one ends with our process.
 */

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

export type Watched = {
  readonly spentMs: number;
  /** Without any output. */
  readonly silentMs: number;
  /** Since the client said its last word on the turn; null: it has not. */
  readonly sinceResultMs: number | null;
};

export type TimeVerdict = 'go on' | 'timeout' | 'idle' | 'ended but for its process';

/** How long a client may take to end after its last word. */
export const AFTER_RESULT_MS = 10_000;

/** Whether the time of a client is over. One that has said its result has kept the limits, whatever follows. */
export function judgeTime({ runMs, idleMs }: TimeLimits, watched: Watched): TimeVerdict {
  if (watched.sinceResultMs !== null)
    return watched.sinceResultMs >= AFTER_RESULT_MS ? 'ended but for its process' : 'go on';
  if (runMs > 0 && watched.spentMs >= runMs) return 'timeout';
  return idleMs > 0 && watched.silentMs >= idleMs ? 'idle' : 'go on';
}
