/** Holds the database for one piece of work, and leaves it to others before the next. */
export type InTurn = <T>(work: () => T) => T;

export type TurnClock = { readonly now: () => number; readonly sleep: (ms: number) => void };

const REAL_CLOCK: TurnClock = { now: () => performance.now(), sleep: (ms) => Bun.sleepSync(ms) };

/**
 * Shares the database with the hooks, which wait 400 ms for it and look again every few milliseconds, later every 100:
 * whoever holds it for long stretches with nothing between would keep them out. So it is left alone for as long as it
 * was held; what is done meanwhile counts.
 */
export function takingTurns({ now, sleep }: TurnClock = REAL_CLOCK): InTurn {
  let freedMs = 0;
  let heldMs = 0;
  return (work) => {
    const restMs = freedMs + heldMs - now();
    if (restMs > 0) sleep(restMs);
    const startedMs = now();
    try {
      return work();
    } finally {
      freedMs = now();
      heldMs = freedMs - startedMs;
    }
  };
}
