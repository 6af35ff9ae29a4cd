import { describe, expect, test } from 'bun:test';
import { message, opening } from '../../src/orchestrate/material.ts';
import type { Asked } from '../../src/orchestrate/model/state.ts';
import type { Ask } from '../../src/orchestrate/next-steps.ts';
import { planText, subtask, verdictText } from './scripted.ts';
import { Simulated } from './simulated.ts';

const BACKEND = planText([subtask('ann', { role: 'backend' }), subtask('bob')]);
const saying = (plan: string, verdict: string) => (asked: Asked) => {
  if (asked.key === 'plan') return plan;
  return asked.key.startsWith('review.') ? verdict : `${asked.key} is done`;
};

/** The first question to this part, as many times as it was asked before. */
function asking(here: Simulated, key: string, nth: number, say: (asked: Asked) => string): Ask {
  for (;;) {
    for (const step of here.steps) {
      if (step.kind === 'ask' && step.ask.key === key && step.ask.nth === nth) return step.ask;
      if (step.kind !== 'wait') here.perform(step);
      else for (const one of here.active.slice(0, 1)) here.finish(one, 'success', say(one));
    }
    if (here.steps.length === 0) throw new Error(`${key} ${nth} is not asked for`);
  }
}

describe('what a part is asked', () => {
  const failing = verdictText({ ann: false, bob: true });

  test('an employee that only looks may change nothing, and one that works may', () => {
    const here = new Simulated();
    const say = saying(BACKEND, verdictText({ ann: true, bob: true }));
    const first = opening(asking(here, 'work.ann.1', 1, say), here.state, []);
    expect(first).toMatchObject({ profile: 'review', worktree: 'never', agentId: 'ann' });
    expect(first.instructions).toContain('You are "ann" of a team. Your role: backend.');
    expect(first.task).toContain('You are the first to work on this');
    const later = opening(asking(here, 'work.ann.3', 1, say), here.state, []);
    expect(later).not.toHaveProperty('profile');
    // Its own earlier phase is told as well as what the other has done.
    expect(later.task).toContain('work.ann.2 is done');
    expect(later.task).toContain('work.bob.3 is done');
  });

  test('who tries again is told what was found and what it had reported', () => {
    const here = new Simulated();
    const ask = asking(here, 'work.ann.3', 2, saying(planText([subtask('ann')]), failing));
    const text = message(ask, here.state);
    expect(text).toContain('This is attempt 2.');
    expect(text).toContain('ann has to say it twice');
    expect(text).toContain('work.ann.3 is done');
  });

  test('who could not deliver is given the task again, and who got no verdict is told so', () => {
    const here = new Simulated();
    const again = asking(here, 'work.ann.3', 2, (asked) =>
      asked.key === 'plan' ? planText([subtask('ann')]) : asked.key.startsWith('work.') ? '' : failing,
    );
    expect(message(again, here.state)).toContain("Do ann's part.");
    const other = new Simulated();
    const plan = planText([subtask('ann'), subtask('bob')]);
    const none = asking(other, 'work.ann.3', 2, saying(plan, verdictText({ bob: true })));
    expect(message(none, other.state)).toContain('came to no verdict');
  });

  test('a planner and a reviewer whose answer cannot be read are told why, and the form', () => {
    const here = new Simulated();
    const plan = asking(here, 'plan', 2, () => planText([subtask('zoe')]));
    expect(message(plan, here.state)).toMatch(/"zoe"[\s\S]*"subtasks"[\s\S]*"direct_answer"/);
    const other = new Simulated();
    const review = asking(other, 'review.1', 2, saying(planText([subtask('ann')]), 'PASS'));
    expect(message(review, other.state)).toMatch(/no JSON object[\s\S]*"verdicts"/);
  });

  test('who comes later is told of all files that were changed, also by an attempt before the last', () => {
    const here = new Simulated();
    const later = asking(here, 'work.ann.4', 1, (asked) => {
      const { key, nth } = asked;
      if (key.startsWith('work.') && !here.facts.some(({ name }) => name === `changes.${key}.${nth}`))
        here.put({
          name: `changes.${key}.${nth}`,
          value: {
            tree: 't',
            head: null,
            moved: null,
            files: [`src/${key}.${nth}`],
            patch: '',
            commands: [],
            report: null,
          },
        });
      if (key === 'plan')
        return planText([subtask('ann', { role: 'backend', start_phase: 3 }), subtask('bob')]);
      return key.startsWith('review.') ? verdictText({ ann: key !== 'review.1', bob: true }) : 'done';
    });
    const { task } = opening(later, here.state, []);
    expect(task).toContain('Changed: src/work.ann.3.1, src/work.ann.3.2\n');
  });

  test('a reviewer is no part of the team, and changes nothing', () => {
    const here = new Simulated();
    const ask = asking(here, 'review.1', 1, saying(planText([subtask('ann')]), failing));
    const asked = opening(ask, here.state, []);
    expect(asked.profile).toBe('review');
    expect(asked.task).toContain('it works');
    expect(asked.task).toContain('work.ann.3 is done');
  });
});
