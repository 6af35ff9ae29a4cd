import type { Exit } from '../../system/process-identity.ts';
import type { Ending, Outcome } from '../model/turn.ts';
import type { RunsWorld } from '../world.ts';
import type { Away, PoolSpec } from './spec.ts';

/** A turn on another machine, without what talks to the server: that is loaded only where there is one. */

export type AskedTurn = {
  readonly run: Away;
  readonly number: number;
  readonly spec: PoolSpec;
  readonly world: RunsWorld;
  /** Told when the server cannot be reached, once until it is back. */
  readonly onTrouble: (words: string) => void;
};

/** How it ended there. */
export type AwayEnding = {
  readonly outcome: Outcome;
  readonly error: string | null;
  readonly exit: Exit | null;
  readonly notes: readonly string[];
};

export type AwayTurn = {
  /** Never rejects. */
  readonly ended: Promise<AwayEnding>;
  /** Has it stopped there, as soon as the server can be told. */
  readonly stop: () => void;
};

export type BeginAwayTurn = (asked: AskedTurn) => AwayTurn;

const UNKNOWN = 'the other machine could not be asked; what became of the work there is not known';

/** The ending with what the machine says. A stop that was asked for here counts, and so does what its client itself reported. */
export function withAwayEnding(ending: Ending, there: AwayEnding | undefined, isStopped: boolean): Ending {
  if (there === undefined)
    return isStopped || ending.outcome === 'success'
      ? ending
      : { ...ending, outcome: 'lost', error: UNKNOWN };
  const noted = { ...ending, notes: [...ending.notes, ...there.notes] };
  if (isStopped || there.outcome === 'success') return noted;
  return { ...noted, outcome: there.outcome, error: there.error ?? ending.error };
}
