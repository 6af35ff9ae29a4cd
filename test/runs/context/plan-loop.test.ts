import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type PlanDecision, readDecision } from '../../../src/runs/context/plan.ts';
import { decide, withVersion } from '../../../src/runs/context/plan-loop.ts';
import { currentVersion, newPlan, type Plan } from '../../../src/runs/context/plan-store.ts';

const NOW = new Date('2026-11-23T07:08:09.123Z');
const RUN = 'a'.repeat(32);
const turnOf = (turn: number) => ({ runId: RUN, turn });

function planOf(...feedback: (string | null)[]): Plan {
  const none = newPlan('Expire sessions', 'agent:main:app-1', NOW);
  return feedback.reduce<Plan>(
    (plan, words, index) =>
      withVersion(plan, { text: `draft ${index + 1}`, feedback: words, ...turnOf(index + 1) }, NOW),
    none,
  );
}
const said = (plan: Plan, typed: string, roundsMax = 10) => decide(plan, readDecision(typed), roundsMax);

describe('what comes of a plan', () => {
  test('approve is for the version that counts', () => {
    for (const typed of ['approve', 'ok', ' Done ']) expect(said(planOf(null), typed).kind).toBe('approve');
  });

  test('cancel ends it, with all that it has', () => {
    const step = said(planOf(null, 'shorter'), 'cancel');
    expect(step).toMatchObject({ kind: 'over', plan: { status: 'cancelled', current: 2 } });
    expect(step.plan.versions).toHaveLength(2);
  });

  test('feedback is for the version that counts, and a new one is made of that', () => {
    const plan = planOf(null, 'shorter');
    expect(said(plan, 'name the tests')).toMatchObject({ kind: 'refine', feedback: 'name the tests' });
    expect(plan.versions).toMatchObject([
      { number: 1, from: null, feedback: null },
      { number: 2, from: 1, feedback: 'shorter' },
    ]);
  });

  test('undo goes back to the version that it was made of, and keeps all of them', () => {
    const plan = planOf(null, 'shorter', 'longer');
    const back = said(plan, 'undo');
    expect(back).toMatchObject({ kind: 'show', plan: { current: 2 } });
    const again = withVersion(back.plan, { text: 'other', feedback: 'in German', ...turnOf(4) }, NOW);
    expect(currentVersion(again)).toMatchObject({ number: 4, from: 2, text: 'other' });
    expect(again.versions).toHaveLength(4);
    expect(said(again, 'undo').plan.current).toBe(2);
    expect(said(planOf(null), 'undo')).toMatchObject({ kind: 'say' });
  });

  test('after the last round the draft stays, and can still be approved, undone and cancelled', () => {
    const plan = planOf(null, 'one', 'two');
    expect(said(plan, 'three', 3)).toMatchObject({ kind: 'refine' });
    const over = said(plan, 'three', 2);
    expect(over).toMatchObject({ kind: 'say', plan });
    expect(over.kind === 'say' && over.words).toContain('refined 2 times');
    for (const [typed, kind] of [
      ['approve', 'approve'],
      ['undo', 'show'],
      ['cancel', 'over'],
    ] as const)
      expect(said(plan, typed, 2).kind).toBe(kind);
  });

  test('what was added by itself counts as no round', () => {
    expect(planOf(null, null, 'shorter').rounds).toBe(1);
  });

  test('a turn is one version, whoever notes it first; one that said nothing is none', () => {
    const pending = { ...turnOf(2), feedback: 'shorter' };
    const waiting = { ...planOf(null), pending };
    const noted = withVersion(waiting, { ...pending, text: 'short' }, NOW);
    expect(noted).toMatchObject({ current: 2, rounds: 1, pending: null });
    expect(withVersion(noted, { ...pending, text: 'short' }, NOW)).toEqual(noted);
    expect(withVersion(waiting, { ...pending, text: '' }, NOW)).toEqual({ ...waiting, pending: null });
    const other = withVersion(waiting, { ...turnOf(3), text: 'x', feedback: null }, NOW);
    expect(other.pending).toEqual(pending);
  });

  test('nothing typed says what can be typed', () => {
    expect(said(planOf(null), '  ')).toMatchObject({ kind: 'say' });
  });

  test('whatever is decided, no version is lost, and one that is there counts', () => {
    const decision = fc.constantFrom<PlanDecision>(
      ...(['approve', 'show', 'undo', 'nothing'] as const).map((kind) => ({ kind })),
      { kind: 'feedback', text: 'x' },
    );
    fc.assert(
      fc.property(fc.array(decision), (decisions) => {
        let plan = planOf(null);
        for (const one of decisions) {
          const step = decide(plan, one, 5);
          const made = { text: 'x', feedback: 'x', ...turnOf(plan.versions.length + 1) };
          const next = step.kind === 'refine' ? withVersion(step.plan, made, NOW) : step.plan;
          expect(next.versions.slice(0, plan.versions.length)).toEqual([...plan.versions]);
          expect(currentVersion(next)).toBeDefined();
          expect(next.rounds).toBeLessThanOrEqual(5);
          plan = next;
        }
      }),
    );
  });
});
