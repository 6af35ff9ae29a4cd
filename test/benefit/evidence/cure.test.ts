import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type CureEpisode, cure, cureSteps } from '../../../src/benefit/evidence/cure.ts';
import { allArms } from './arms.ts';

const episode = fc.record({
  isHeld: fc.boolean(),
  p: fc.constantFrom(0.1, 0.2, 0.5),
  cost: fc.integer({ min: 1, max: 20 }),
});
const episodes = fc.array(episode, { maxLength: 60 });

describe('cure()', () => {
  test('multiplies one bet for each episode: worked out by hand', () => {
    const p = 0.5;
    // The first has none to compare with. The second, cheaper and told: score −1, so it gains all of each stake. The
    // third, held out, above one and equal to one of two: mid-rank 1.5, score 0.5, so it gains half of each.
    const three = [
      { isHeld: true, p, cost: 4 },
      { isHeld: false, p, cost: 1 },
      { isHeld: true, p, cost: 4 },
    ];
    const won = [1.2 * 1.1, 1.4 * 1.2, 1.6 * 1.3, 1.8 * 1.4, 1.95 * 1.475];
    const lost = [0.8 * 0.9, 0.6 * 0.8, 0.4 * 0.7, 0.2 * 0.6, 0.05 * 0.525];
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / 5;
    const { evidence, harm, ...rest } = cure(three);
    expect(rest).toEqual({ episodes: 3, held: 2, told: 1, medianHeld: 4, medianTold: 1 });
    expect([evidence, harm]).toEqual([expect.closeTo(mean(won), 9), expect.closeTo(mean(lost), 9)]);
  });

  test('without an episode that could be held out knows nothing', () => {
    const nothing = {
      episodes: 0,
      held: 0,
      told: 0,
      medianHeld: null,
      medianTold: null,
      evidence: 1,
      harm: 1,
    };
    expect(cure([])).toEqual(nothing);
    expect(
      cure([
        { isHeld: false, p: 0, cost: 3 },
        { isHeld: true, p: 1, cost: 9 },
      ]),
    ).toEqual(nothing);
  });

  test('of an even number of costs takes the mean of the middle two', () => {
    const held = [9, 1, 4, 2].map((cost) => ({ isHeld: true, p: 0.5, cost }));
    expect(cure(held)).toMatchObject({ medianHeld: 3, medianTold: null });
  });

  test('is 1 on average over all that the coins can give where telling changes nothing, whatever the costs', () => {
    const costs = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(costs, (those) => {
        const next = (before: readonly boolean[]) => (before.at(-1) ? 0.1 : 0.5);
        let [helps, harms] = [0, 0];
        for (const { arms, probability } of allArms(8, next)) {
          const said = cure(
            arms.map((isHeld, at) => ({ isHeld, p: next(arms.slice(0, at)), cost: those[at] ?? 1 })),
          );
          helps += probability * said.evidence;
          harms += probability * said.harm;
        }
        expect([helps, harms]).toEqual([expect.closeTo(1, 9), expect.closeTo(1, 9)]);
      }),
      { numRuns: 20 },
    );
  });

  test('depends on the order of the costs alone, not on their unit', () => {
    fc.assert(
      fc.property(episodes, (all) => {
        const [own, others] = [cure(all), cure(all.map((one) => ({ ...one, cost: one.cost ** 3 + 7 })))];
        expect([others.evidence, others.harm]).toEqual([own.evidence, own.harm]);
      }),
    );
  });

  test('a told one that costs more than all before speaks against telling, a held one for it', () => {
    fc.assert(
      fc.property(fc.array(episode, { minLength: 1, maxLength: 40 }), (all) => {
        const before = cure(all);
        const [held, told] = [true, false].map((isHeld) => cure([...all, { isHeld, p: 0.5, cost: 99 }]));
        expect(held?.evidence).toBeGreaterThan(before.evidence);
        expect(told?.evidence).toBeLessThan(before.evidence);
        expect(told?.harm).toBeGreaterThan(before.harm);
      }),
    );
  });

  test('cureSteps() gives what cure() says after each episode', () => {
    fc.assert(
      fc.property(episodes, (all) => {
        const said = all.map((_, at) => cure(all.slice(0, at + 1)));
        expect(cureSteps(all)).toEqual(said.map(({ evidence, harm }) => ({ evidence, harm })));
      }),
      { numRuns: 30 },
    );
  });

  test('says something finite of thousands of episodes', () => {
    const many = Array.from({ length: 5000 }, (_, at): CureEpisode => {
      const isHeld = at % 2 === 0;
      return { isHeld, p: 0.5, cost: isHeld ? Number.POSITIVE_INFINITY : 1 };
    });
    const { evidence, harm } = cure(many);
    expect(evidence).toBeGreaterThan(1e299);
    expect([evidence, harm].every(Number.isFinite)).toBe(true);
  });
});
