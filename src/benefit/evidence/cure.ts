import { fromLog, logMean } from './e-value.ts';

/**
 * Cure: once something has failed, is it mended sooner where its lesson is told? Each episode is a bet on its arm, higher the more its cost
 * differs from those before:
 *
 *   Π (1 + λ s (Z − p)),   s = 2 · mid-rank of its cost among the earlier ones − 1,   Z = 1 where held, else 0
 *
 * averaged over five stakes |λ| < 1 / max(p, 1 − p). As the cost says nothing of the arm where telling changes nothing, each
 * factor is expected to be 1. (Duan, Ramdas & Wasserman, arXiv 2009.05892; Waudby-Smith & Ramdas, arXiv 2010.09686.)
 */

/** A failure, and what it cost until the same check passed, in any unit: only the order counts. */
export type CureEpisode = { readonly isHeld: boolean; readonly p: number; readonly cost: number };

export type Cure = {
  /** Those that count: with a probability between 0 and 1. */
  readonly episodes: number;
  readonly held: number;
  readonly told: number;
  /** Of the costs; null without any. */
  readonly medianHeld: number | null;
  readonly medianTold: number | null;
  /** That what is told is mended sooner; and that it is mended later. 20 is enough. */
  readonly evidence: number;
  readonly harm: number;
};

/** Shares of the highest stake. */
const STAKES = [0.2, 0.4, 0.6, 0.8, 0.95];

/** How many of the sorted values come before a value, of equal ones half. */
function midRank(
  value: number,
  sorted: readonly number[],
): { readonly first: number; readonly rank: number } {
  const before = (isBefore: (other: number) => boolean) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(sorted[middle] ?? value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const [first, last] = [before((other) => other < value), before((other) => other <= value)];
  return { first, rank: (first + last) / 2 };
}

/** The middle of sorted values, of an even number the mean of two. */
function medianOf(sorted: readonly number[]): number | null {
  const middle = sorted.length >> 1;
  const [left, right] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return left === undefined || right === undefined ? null : (left + right) / 2;
}

/** Both evidences after each of the episodes, in the order in which they failed; those with p = 0 or 1 are left out. */
export function cureSteps(
  episodes: readonly CureEpisode[],
): { readonly evidence: number; readonly harm: number }[] {
  const earlier: number[] = [];
  const helps = STAKES.map(() => 0);
  const harms = STAKES.map(() => 0);
  return episodes.filter(counts).map(({ isHeld, p, cost }) => {
    const { first, rank } = midRank(cost, earlier);
    const score = earlier.length === 0 ? 0 : (2 * rank) / earlier.length - 1;
    earlier.splice(first, 0, cost);
    const gain = (score * ((isHeld ? 1 : 0) - p)) / Math.max(p, 1 - p);
    for (const [index, stake] of STAKES.entries()) {
      helps[index] = (helps[index] ?? 0) + Math.log1p(stake * gain);
      harms[index] = (harms[index] ?? 0) + Math.log1p(-stake * gain);
    }
    return { evidence: fromLog(logMean(helps)), harm: fromLog(logMean(harms)) };
  });
}

function counts({ p }: CureEpisode): boolean {
  return p > 0 && p < 1;
}

/**
 * What is known from episodes in the order in which they failed. Promises, if telling changes nothing and each was held out by a
 * coin of its own: `evidence` ever reaches 20 in at most 5 % of all cases, `harm` likewise; p may have been chosen by what came before.
 */
export function cure(episodes: readonly CureEpisode[]): Cure {
  const counting = episodes.filter(counts);
  const costs = (ofHeld: boolean) =>
    counting
      .flatMap(({ isHeld, cost }) => (isHeld === ofHeld ? [cost] : []))
      .sort((left, right) => left - right);
  const [held, told] = [costs(true), costs(false)];
  return {
    ...{ episodes: counting.length, held: held.length, told: told.length },
    ...{ medianHeld: medianOf(held), medianTold: medianOf(told) },
    ...(cureSteps(counting).at(-1) ?? { evidence: 1, harm: 1 }),
  };
}
