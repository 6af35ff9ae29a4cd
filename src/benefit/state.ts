import { counted } from '../core/text.ts';

/** Where a lesson stands, in one word and with the reason. */

/** `trial`: held out at times, or often enough to be; `too-rare`: by itself it will never be known whether it helps. */
export type LessonState = 'withdrawn' | 'quiet' | 'proven' | 'trial' | 'too-rare' | 'pinned';

/** What of a lesson decides on its state. */
export type LessonFacts = {
  /** Why it was withdrawn; null where it is told. */
  readonly withdrawnFor: string | null;
  readonly isPinned: boolean;
  readonly isPersons: boolean;
  readonly isQuiet: boolean;
  /** Among all lessons, with a share of false ones of at most a twentieth. */
  readonly isProven: boolean;
  /** That telling it prevents the failure; 20 is much. */
  readonly evidence: number;
  /** In how many sessions a week it fails, as far as it is known to. */
  readonly perWeek: number;
};

/** Below that a single lesson is never answered: research on 556 sessions. */
const PER_WEEK_MIN = 2;

/** The state of a lesson, the first that holds, and why. */
export function stateOf(facts: LessonFacts): { readonly state: LessonState; readonly reason: string } {
  const { withdrawnFor, isPinned, isPersons, isQuiet, isProven, evidence, perWeek } = facts;
  if (withdrawnFor !== null) return { state: 'withdrawn', reason: withdrawnFor };
  if (isPinned) return { state: 'pinned', reason: 'pinned by a person: always told' };
  if (isPersons) return { state: 'pinned', reason: 'written by a person: always told' };
  if (isQuiet)
    return { state: 'quiet', reason: 'did not happen again: told only when it fails, and not at starts' };
  if (isProven)
    return { state: 'proven', reason: `evidence ${shown(evidence)}, with all other lessons looked at` };
  const often = `fails in ${counted(Number(shown(perWeek)), 'session')} a week`;
  if (perWeek < PER_WEEK_MIN)
    return { state: 'too-rare', reason: `${often}: too rare to know of this one alone` };
  return { state: 'trial', reason: `${often}, evidence ${shown(evidence)} of 20` };
}

const shown = (value: number): string => (value >= 10 ? value.toFixed(0) : String(Number(value.toFixed(1))));
