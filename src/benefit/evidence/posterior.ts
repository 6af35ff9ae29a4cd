import { logEvidence, type PreventionEvent, tallied } from './prevention.ts';

/** {@link uselessProbability} of the logarithms of both evidences. */
export function uselessOf({ helps, harms }: ReturnType<typeof logEvidence>): number {
  return 1 / (1 + Math.exp(helps - harms));
}

/**
 * P(r ≥ 1), 0 to 1: how probable it is that telling prevents nothing, if that was as probable as the contrary before. By Bayes'
 * rule the share of the harm's evidence in both. Promises no error rate: it serves to withdraw what can be put back.
 */
export function uselessProbability(events: readonly PreventionEvent[]): number {
  return uselessOf(logEvidence(tallied(events)));
}
