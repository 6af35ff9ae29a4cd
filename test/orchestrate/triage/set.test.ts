import { describe, expect, test } from 'bun:test';
import { needsOrchestration } from '../../../src/orchestrate/triage/signals.ts';
import { decidedWith, isHeldOut, keptAnswers, PROMPTS, scoreOf } from './prompts.ts';

const HELD_OUT = PROMPTS.filter(isHeldOut);
const alone = decidedWith(new Map());

test('the set has 160 prompts or more, both languages, every kind, and half of it held out', () => {
  expect(PROMPTS.length).toBeGreaterThanOrEqual(160);
  expect(new Set(PROMPTS.map(({ prompt }) => prompt)).size).toBe(PROMPTS.length);
  const korean = PROMPTS.filter(({ language }) => language === 'ko').length;
  for (const part of [korean, HELD_OUT.length]) {
    expect(part / PROMPTS.length).toBeGreaterThan(0.4);
    expect(part / PROMPTS.length).toBeLessThan(0.6);
  }
  expect(new Set(PROMPTS.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(10);
});

describe('decideTriage() without a model', () => {
  for (const [name, prompts] of [
    ['all prompts', PROMPTS],
    ['those held out', HELD_OUT],
  ] as const) {
    test(`obeys every wish of ${name}, and is right often enough`, () => {
      const score = scoreOf(prompts, alone);
      expect(score.disobeyed).toEqual([]);
      expect(score.imagined).toEqual([]);
      expect(score.right).toBeGreaterThanOrEqual(0.7);
      expect(score.falsePipelines).toBeLessThanOrEqual(0.05);
    });
  }

  test('is better than never a team, and than the signals of the seed', () => {
    const never = scoreOf(PROMPTS, () => ({ label: 'single', by: 'default' }));
    const seed = scoreOf(PROMPTS, (prompt) => ({
      label: needsOrchestration(prompt) ? 'team' : 'single',
      by: 'default',
    }));
    expect(scoreOf(PROMPTS, alone).right).toBeGreaterThan(Math.max(never.right, seed.right));
    expect(never.disobeyed.length).toBeGreaterThan(10);
    expect(seed.falsePipelines).toBeGreaterThan(0.05);
  });
});

describe('decideTriage() with what a model said', () => {
  const answers = keptAnswers();

  test('a wish beats every answer', () => {
    const answer = (label: 'team' | 'single') => ({ label, evidence: '', size: '' });
    const against = new Map(
      PROMPTS.map(({ prompt, wish }) => [prompt, answer(wish === 'team' ? 'single' : 'team')]),
    );
    expect(scoreOf(PROMPTS, decidedWith(against)).disobeyed).toEqual([]);
  });

  test('right answers make it right, wrong ones wrong', () => {
    const said = (isRight: boolean) =>
      new Map(
        PROMPTS.map(({ prompt, label }) => [
          prompt,
          {
            label: isRight ? label : label === 'team' ? ('single' as const) : ('team' as const),
            evidence: '',
            size: '',
          },
        ]),
      );
    expect(scoreOf(PROMPTS, decidedWith(said(true))).exact).toBe(1);
    expect(scoreOf(PROMPTS, decidedWith(said(false))).right).toBeLessThan(0.5);
  });

  test('nine of ten are right with the answers that were kept', () => {
    const score = scoreOf(PROMPTS, decidedWith(answers));
    expect(answers.size).toBe(PROMPTS.length);
    expect(score.right).toBeGreaterThanOrEqual(0.9);
    expect(score.exact).toBeGreaterThanOrEqual(0.9);
    expect(score.falsePipelines).toBeLessThanOrEqual(0.05);
  });
});
