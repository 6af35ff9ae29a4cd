import type { Conclusion } from '../../clients/runs/run-client.ts';
import { unreachable } from '../../core/guards.ts';
import { priced } from '../../core/runs/price.ts';
import type { ModelPrice } from '../../core/runs/settings.ts';
import type { Ending, Exit, Outcome, Stop, Turn } from '../../core/runs/turn.ts';

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
