import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { prevention } from '../../../src/benefit/evidence/prevention.ts';
import { combined, eBh, someHelps } from '../../../src/benefit/evidence/several.ts';
import { allArms, failed } from './arms.ts';

describe('someHelps()', () => {
  test('multiplies over the lessons what is kept and what is staked', () => {
    // 3/8 + 5/8 · 33 = 21, and 3/8 + 5/8 · 1 = 1 of a lesson that did not fail.
    expect(combined([33, 1])).toBeCloseTo(21, 9);
    const [one, other] = [failed(5, 1), failed(4, 0, 0.1)];
    const expected = [one, other].map((events) => 3 / 8 + (5 / 8) * prevention(events).evidence);
    expect(someHelps([one, other, []])).toBeCloseTo((expected[0] ?? 0) * (expected[1] ?? 0), 6);
  });

  test('of no lesson, or none that could be held out, knows nothing', () => {
    expect(someHelps([])).toBe(1);
    expect(someHelps([failed(7, 1, 0), []])).toBe(1);
  });

  test('is 1 on average over all that the coins of three lessons can give where none helps', () => {
    const mean = allArms(9, () => 0.5)
      .map(({ arms, probability }) => {
        const lessons = [0, 1, 2].map((lesson) =>
          arms.filter((_, at) => at % 3 === lesson).map((isHeld) => ({ isHeld, p: 0.5 })),
        );
        return probability * someHelps(lessons);
      })
      .reduce((sum, part) => sum + part, 0);
    expect(mean).toBeCloseTo(1, 9);
  });

  test('a lesson that does nothing costs at most five eighths of its bet, and many that help stay finite', () => {
    expect(someHelps([failed(20, 0), failed(0, 400)])).toBeGreaterThan(
      0.37 * prevention(failed(20, 0)).evidence * (5 / 8),
    );
    expect(Number.isFinite(someHelps(Array.from({ length: 40 }, () => failed(400, 4))))).toBe(true);
  });
});

describe('eBh()', () => {
  const named = (values: readonly number[]) => values.map((evidence, at) => ({ id: at, evidence }));

  test('takes the most lessons of which each has enough for so many: worked out by hand', () => {
    // Of four at 0.05 the limits are 80 for one, 40 for two, 26.7 for three, 20 for four.
    expect(eBh(named([45, 1, 41, 19]), 0.05)).toEqual([0, 2]);
    expect(eBh(named([79, 39, 26, 19]), 0.05)).toEqual([]);
    expect(eBh(named([21, 22, 23, 20]), 0.05)).toEqual([2, 1, 0, 3]);
    expect(eBh(named([]), 0.05)).toEqual([]);
  });

  test('more evidence never unproves a lesson, and an alpha of none proves nothing', () => {
    const values = fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(values, fc.nat(), (those, pick) => {
        const at = pick % those.length;
        const proven = eBh(named(those), 0.05);
        const more = eBh(named(those.with(at, (those[at] ?? 0) + 50)), 0.05);
        expect(proven.filter((id) => !more.includes(id))).toEqual([]);
        expect(eBh(named(those), 0)).toEqual([]);
      }),
    );
  });
});
