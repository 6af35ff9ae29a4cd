import { ENOUGH } from './e-value.ts';

/** What pairs of answers to the same question prove, of which one was given with the lesson and one without. */

const PAIRS_MAX = 1000;

/**
 * The e-value for "more pairs differ this way than that": only pairs that differ count, and where the lesson changes nothing each
 * of them is a fair coin. `∫ (2θ)^more (2(1−θ))^fewer dθ·2` over θ from ½ to 1, a uniform (Beta(1, 1), cut) mixture, exactly:
 * `Σ_{k≤more} more!·fewer! / (k!·(n+1−k)!)` with n = more + fewer. Valid whenever one looks (Ville 1939; Robbins' mixture,
 * Howard et al. 1810.08240). 1 without pairs.
 */
export function pairsEvidence(more: number, fewer: number): number {
  let term = 1 / (fewer + 1);
  let sum = term;
  for (let k = more; k > 0; k--) {
    term *= k / (more + fewer + 2 - k);
    sum += term;
  }
  return sum;
}

/**
 * How many pairs it takes to show that a share `reduction` of the failures goes away, where without the lesson a share
 * `baseRate` of the answers fails: as many as make the expected counts enough. Undefined where more than 1,000.
 */
export function pairsNeeded(baseRate: number, reduction: number): number | undefined {
  const told = baseRate * (1 - reduction);
  for (let pairs = 1; pairs <= PAIRS_MAX; pairs++) {
    const better = Math.floor(pairs * baseRate * (1 - told) + ROUNDING);
    const worse = Math.floor(pairs * told * (1 - baseRate) + ROUNDING);
    if (pairsEvidence(better, worse) >= ENOUGH) return pairs;
  }
  return undefined;
}

const ROUNDING = 0.5;
