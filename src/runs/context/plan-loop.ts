import type { TurnName } from '../model/run.ts';
import type { PlanDecision } from './plan.ts';
import { currentVersion, type Plan, type PlanVersion } from './plan-store.ts';

/** What comes of a plan when somebody decides on it: pure steps from one state of it to the next. */

/** What is to be done next; a plan that has come to its end is over. */
export type PlanStep =
  | { readonly kind: 'show' | 'approve' | 'over'; readonly plan: Plan }
  | { readonly kind: 'say'; readonly plan: Plan; readonly words: string }
  | { readonly kind: 'refine'; readonly plan: Plan; readonly feedback: string };

/** `roundsMax`: how often it is refined; after that the last draft stays, and can be approved. */
export function decide(plan: Plan, decision: PlanDecision, roundsMax: number): PlanStep {
  const version = currentVersion(plan);
  switch (decision.kind) {
    case 'nothing':
      return { kind: 'say', plan, words: 'Type approve, cancel, show, undo, or what is to be changed.' };
    case 'show':
      return { kind: 'show', plan };
    case 'approve':
      return { kind: 'approve', plan };
    case 'cancel':
      return { kind: 'over', plan: { ...plan, status: 'cancelled' } };
    case 'undo': {
      const from = version?.from ?? null;
      if (from === null)
        return { kind: 'say', plan, words: 'This is the first version: there is nothing to undo.' };
      return { kind: 'show', plan: { ...plan, current: from } };
    }
    case 'feedback':
      if (plan.rounds < roundsMax) return { kind: 'refine', plan, feedback: decision.text };
      return {
        kind: 'say',
        plan,
        words: `It was refined ${roundsMax} times, which is the most (plan.rounds): approve it, undo, or cancel.`,
      };
  }
}

/**
 * The plan with what a turn has come to: one more version, made of the one that counted, which counts now; none when the
 * text is empty, or is there already. Nothing is ever left out of it.
 */
export function withVersion(
  plan: Plan,
  made: Pick<PlanVersion, 'text' | 'feedback' | 'runId' | 'turn'>,
  now: Date,
): Plan {
  const isOfTurn = ({ runId, turn }: TurnName) => runId === made.runId && turn === made.turn;
  const pending = plan.pending !== null && isOfTurn(plan.pending) ? null : plan.pending;
  if (made.text === '' || plan.versions.some(isOfTurn)) return { ...plan, pending };
  const number = plan.versions.length + 1;
  const from = plan.current === 0 ? null : plan.current;
  const version = { ...made, number, from, at: now.toISOString() };
  const rounds = plan.rounds + (made.feedback === null ? 0 : 1);
  return { ...plan, versions: [...plan.versions, version], current: number, rounds, pending };
}
