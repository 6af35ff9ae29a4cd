import { fromLog } from './e-value.ts';
import { logEvidence, type PreventionEvent, tallied } from './prevention.ts';

/** Many lessons at once: does any of them help, and which? */

/** The share of each stake that is kept back, as most lessons are expected to do nothing. */
const KEPT = 3 / 8;

/** What {@link someHelps} makes of each lesson's own evidence. */
export function combined(evidences: readonly number[]): number {
  return fromLog(evidences.reduce((sum, evidence) => sum + Math.log(KEPT + (1 - KEPT) * evidence), 0));
}

/**
 * Evidence that at least one lesson prevents: Π (3/8 + 5/8 E) over the lessons, as each has coins of its own, so that their
 * evidences multiply (Vovk & Wang, arXiv 1912.06116). If none does, it ever reaches 20 in at most 5 % of all cases.
 */
export function someHelps(perLesson: readonly (readonly PreventionEvent[])[]): number {
  return combined(perLesson.map((events) => fromLog(logEvidence(tallied(events)).helps)));
}

/**
 * The lessons that may be called proven: the k with the highest evidence, for the largest k for which each of them has at least
 * n / (α k). The expected share of false ones among them is at most α, however the lessons hang together, at every look (Wang & Ramdas,
 * e-BH, arXiv 2009.02824). `alpha`: 0 to 1.
 */
export function eBh<Id>(
  values: readonly { readonly id: Id; readonly evidence: number }[],
  alpha: number,
): Id[] {
  const sorted = values.toSorted((left, right) => right.evidence - left.evidence);
  const last = sorted.findLastIndex(({ evidence }, at) => (at + 1) * evidence * alpha >= values.length);
  return sorted.slice(0, last + 1).map(({ id }) => id);
}
