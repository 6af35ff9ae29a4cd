import type { Outcome } from '../database/ledger.ts';
import type { CureEpisode } from './evidence/cure.ts';
import { CALLS_MAX, SILENT_MS } from './settle.ts';

type Settled = Pick<Outcome, 'id' | 'failedAt' | 'calls' | 'ms' | 'ended'> & {
  readonly isHeld: boolean;
  readonly holdPercent: number;
};

/**
 * What cure() learns from: calls until the same check passed, of all that has ended. What was left before counts as much as what
 * reached the limit: giving up is no cure. In the order in which they ended, so that what ends later never changes what was known.
 */
export function episodesOf(rows: readonly Settled[]): CureEpisode[] {
  const endOf = ({ failedAt, ms, ended }: Settled) =>
    Number(failedAt) + Number(ms) + (ended === 'left' ? SILENT_MS : 0);
  return rows
    .filter(({ ended }) => ended !== null)
    .sort((one, other) => endOf(one) - endOf(other) || one.id - other.id)
    .map(({ isHeld, holdPercent, calls, ended }) => ({
      ...{ isHeld, p: holdPercent / 100 },
      cost: ended === 'left' ? CALLS_MAX : Number(calls),
    }));
}
