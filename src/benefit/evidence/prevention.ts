import { ENOUGH, fromLog, logMean } from './e-value.ts';

/**
 * Prevention: does a failure come back less often where its lesson is told? Only what failed counts, and of it only whether it
 * was held out. Let r be the risk of failing where told, as a multiple of that where held out. Of what failed, the share
 *
 *   θ(r) = p / (p + (1 − p) r)
 *
 * was held out; at r = 1 exactly p, whatever the risk is, and however it drifts. L(r) = Π θ(r) / p where held,
 * (1 − θ(r)) / (1 − p) where told, thus Π 1 / (p + (1 − p) r), times r where told. (Lindon & Malek, arXiv 2011.03567; Grünwald,
 * de Heide & Koolen, arXiv 1906.07801: the safe logrank test.)
 */

/** Something that failed, and the probability, 0 to 1, with which it was to be held out; with 0 and 1 it says nothing. */
export type PreventionEvent = { readonly isHeld: boolean; readonly p: number };

/** How many events of one probability were held out and told; all that L depends on. */
export type Tally = { readonly p: number; readonly held: number; readonly told: number };

export type Prevention = {
  /** Those that count: with a probability between 0 and 1. */
  readonly failures: number;
  readonly held: number;
  readonly told: number;
  /** That telling prevents: mean of L over r < 1; and that it does harm: over r > 1. 20 is enough. */
  readonly evidence: number;
  readonly harm: number;
  /** The risk where told, as a multiple: the most likely one; null without failures. */
  readonly best: number | null;
  /** 95 %, valid whenever one looks. 0 and Infinity: no bound. */
  readonly low: number;
  readonly high: number;
};

/** From a twentieth of the risk to 88 times as much, each a fifth more than the one before. */
const RATIOS = Array.from({ length: 42 }, (_, step) => 0.05 * 1.2 ** step);
const HELPING = RATIOS.filter((ratio) => ratio < 1);
const HARMING = RATIOS.filter((ratio) => ratio > 1);

/** An interval's end is looked for between e^−60 and e^60, and halved so often. */
const LOG_RATIO_MAX = 60;
const HALVINGS = 50;

/** Counts events by their probability; those that say nothing are left out. */
export function tallied(events: readonly PreventionEvent[]): Tally[] {
  const counting = events.filter(({ p }) => p > 0 && p < 1);
  return [...Map.groupBy(counting, ({ p }) => p)].map(([p, those]) => {
    const held = those.filter(({ isHeld }) => isHeld).length;
    return { p, held, told: those.length - held };
  });
}

/** log L(r) for the logarithm of r: concave in it. */
function logLikelihood(logRatio: number, tallies: readonly Tally[]): number {
  const ratio = Math.exp(logRatio);
  return tallies.reduce(
    (sum, { p, held, told }) => sum + told * logRatio - (held + told) * Math.log(p + (1 - p) * ratio),
    0,
  );
}

/** The logarithms of both evidences, which may be too large or small for a number. */
export function logEvidence(tallies: readonly Tally[]): { readonly helps: number; readonly harms: number } {
  return { helps: logMean(likelihoods(HELPING, tallies)), harms: logMean(likelihoods(HARMING, tallies)) };
}

function likelihoods(ratios: readonly number[], tallies: readonly Tally[]): number[] {
  return ratios.map((ratio) => logLikelihood(Math.log(ratio), tallies));
}

/**
 * Whether r may be what telling makes of the risk: mean L / L(r) < 20, the mean over all r, which is Robbins' mixture (Howard,
 * Ramdas, McAuliffe & Sekhon, arXiv 1810.08240). Says no of the true r, ever, with a probability of at most 5 %.
 */
export function mayBe(ratio: number, tallies: readonly Tally[]): boolean {
  return logLikelihood(Math.log(ratio), tallies) > leastLikely(tallies);
}

function leastLikely(tallies: readonly Tally[]): number {
  return logMean(likelihoods(RATIOS, tallies)) - Math.log(ENOUGH);
}

/** The r of which {@link mayBe} is true: as log L is concave an interval, whose ends are found by halving. */
function intervalOf(tallies: readonly Tally[]): { readonly low: number; readonly high: number } {
  const logs = likelihoods(RATIOS, tallies);
  const least = leastLikely(tallies);
  const best = Math.log(RATIOS[logs.indexOf(Math.max(...logs))] ?? 1);
  const endTowards = (far: number) => {
    let [inside, outside] = [best, far];
    for (let halving = 0; halving < HALVINGS; halving++) {
      const middle = (inside + outside) / 2;
      if (logLikelihood(middle, tallies) > least) inside = middle;
      else outside = middle;
    }
    return logLikelihood(far, tallies) > least ? far * Number.POSITIVE_INFINITY : inside;
  };
  return { low: Math.exp(endTowards(-LOG_RATIO_MAX)), high: Math.exp(endTowards(LOG_RATIO_MAX)) };
}

/** The r of the highest L: where as many are expected to have been told as were, which falls as r grows. */
function likeliest(tallies: readonly Tally[]): number | null {
  const told = tallies.reduce((sum, tally) => sum + tally.told, 0);
  const held = tallies.reduce((sum, tally) => sum + tally.held, 0);
  if (told === 0 || held === 0) return told === held ? null : told === 0 ? 0 : Number.POSITIVE_INFINITY;
  let [low, high] = [-LOG_RATIO_MAX, LOG_RATIO_MAX];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    const expected = tallies.reduce((sum, tally) => {
      const odds = ((1 - tally.p) / tally.p) * Math.exp(middle);
      return sum + ((tally.held + tally.told) * odds) / (1 + odds);
    }, 0);
    if (expected < told) low = middle;
    else high = middle;
  }
  return Math.exp(low);
}

/** What counted events say, in whatever order they were counted; see {@link prevention}. */
export function preventionOf(counted: readonly Tally[]): Prevention {
  const tallies = counted.toSorted((left, right) => left.p - right.p);
  const sum = (count: (tally: Tally) => number) => tallies.reduce((total, tally) => total + count(tally), 0);
  const [held, told] = [sum((tally) => tally.held), sum((tally) => tally.told)];
  const { helps, harms } = logEvidence(tallies);
  const evidence = { evidence: fromLog(helps), harm: fromLog(harms) };
  const best = likeliest(tallies);
  return { failures: held + told, held, told, ...evidence, best, ...intervalOf(tallies) };
}

/**
 * What is known from the failures of one lesson or of many, one for each failure group, tree and channel. Promises, if telling
 * changes nothing and each was held out by a coin of its own: `evidence` ever reaches 20 in at most 5 % of all cases, `harm` likewise; p
 * may have been chosen by what came before. If telling changes the risk r-fold: r is ever outside of [low, high] in at most 5 %.
 */
export function prevention(events: readonly PreventionEvent[]): Prevention {
  return preventionOf(tallied(events));
}
