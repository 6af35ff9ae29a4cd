import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  mayBe,
  type Prevention,
  type PreventionEvent,
  prevention,
  tallied,
} from '../../../src/benefit/evidence/prevention.ts';
import { allArms, failed } from './arms.ts';

const chance = fc.constantFrom(0.1, 0.2, 0.5);
const events = fc.array(fc.record({ isHeld: fc.boolean(), p: chance }), { maxLength: 60 });
const evidences = (said: Prevention) => [said.evidence, said.harm];

describe('prevention()', () => {
  test('is the mean over the grid of the products that define it', () => {
    const grid = Array.from({ length: 42 }, (_, step) => 0.05 * 1.2 ** step);
    const theta = (r: number, p: number) => p / (p + (1 - p) * r);
    const naive = (ratios: readonly number[], all: readonly PreventionEvent[]) =>
      ratios
        .map((r) =>
          all.reduce(
            (product, { isHeld, p }) => product * (isHeld ? theta(r, p) / p : (1 - theta(r, p)) / (1 - p)),
            1,
          ),
        )
        .reduce((sum, product) => sum + product, 0) / ratios.length;
    fc.assert(
      fc.property(events, (all) => {
        const [helps, harms] = [grid.filter((r) => r < 1), grid.filter((r) => r > 1)];
        const said = prevention(all);
        expect(said.evidence / naive(helps, all)).toBeCloseTo(1, 9);
        expect(said.harm / naive(harms, all)).toBeCloseTo(1, 9);
      }),
    );
  });

  test.each([
    // Five failures, each told: at r → ∞ each term is 2⁵ = 32, so that harm is below it.
    [failed(0, 5), 0.12, 17.74, Number.POSITIVE_INFINITY, 0.79, Number.POSITIVE_INFINITY],
    // Of as many in both arms nothing is known.
    [failed(3, 3), 0.35, 0.23, 1, 0.07, 14.56],
    [failed(24, 10), 5.95, 0.02, 0.42, 0.11, 1.3],
    // Where one in ten is held out, ten of twelve say much more than in a fair toss.
    [failed(10, 2, 0.1), 4_512_558.62, 0.02, 0.02, 0, 0.22],
  ])('of %# says what was worked out', (all, evidence, harm, best, low, high) => {
    const said = prevention(all);
    expect(
      Object.values(said)
        .slice(3)
        .map((value) => round(value ?? Number.NaN)),
    ).toEqual([evidence, harm, best, low, high].map(round));
  });

  test('without a failure says nothing, and bounds nothing', () => {
    const nothing = {
      failures: 0,
      held: 0,
      told: 0,
      evidence: 1,
      harm: 1,
      best: null,
      low: 0,
      high: Infinity,
    };
    expect(prevention([])).toEqual(nothing);
    expect(prevention([...failed(9, 4, 0), ...failed(9, 4, 1)])).toEqual(nothing);
  });

  test('is 1 on average over all that the coins can give where telling changes nothing', () => {
    const cases: ((before: readonly boolean[]) => number)[] = [
      () => 0.5,
      () => 0.1,
      (before) => [0.5, 0.1, 0.3][before.length % 3] ?? 0.5,
      // Chosen by what came before, as somebody would who wants to see something.
      (before) => (before.filter(Boolean).length > before.length / 2 ? 0.1 : 0.5),
    ];
    for (const next of cases) {
      const means = allArms(10, next)
        .map(({ arms, probability }) =>
          evidences(prevention(arms.map((isHeld, at) => ({ isHeld, p: next(arms.slice(0, at)) })))).map(
            (value) => value * probability,
          ),
        )
        .reduce(([helps = 0, harms = 0], [more = 0, harm = 0]) => [helps + more, harms + harm]);
      expect(means.map((mean) => mean.toFixed(9))).toEqual(['1.000000000', '1.000000000']);
    }
  });

  test('is not 1 on average when the arms are not those of the coin', () => {
    const mean = allArms(8, () => 0.6)
      .map(
        ({ arms, probability }) =>
          probability * prevention(arms.map((isHeld) => ({ isHeld, p: 0.5 }))).evidence,
      )
      .reduce((sum, part) => sum + part, 0);
    expect(mean).toBeGreaterThan(1.2);
  });

  test('one more that was held out speaks for telling, one more that was told against it', () => {
    fc.assert(
      fc.property(events, chance, (all, p) => {
        const [before, held, told] = [[], failed(1, 0, p), failed(0, 1, p)].map((more) =>
          prevention([...all, ...more]),
        ) as [Prevention, Prevention, Prevention];
        expect(held.evidence).toBeGreaterThan(before.evidence);
        expect(told.evidence).toBeLessThan(before.evidence);
        expect(held.harm).toBeLessThan(before.harm);
        expect(told.harm).toBeGreaterThan(before.harm);
      }),
    );
  });

  test('depends on no order, and on nothing that could not be held out', () => {
    fc.assert(
      fc.property(
        events,
        fc.array(fc.record({ isHeld: fc.boolean(), p: fc.constantFrom(0, 1) })),
        (all, none) => {
          const [one, other] = [prevention(all), prevention([...none, ...all.toReversed()])];
          expect({ ...other, ...rounded(other) }).toEqual({ ...one, ...rounded(one) });
        },
      ),
    );
  });

  test('gives as an interval what may be the ratio, the most likely one among it', () => {
    const ratio = fc.double({ min: -7, max: 7, noNaN: true }).map(Math.exp);
    fc.assert(
      fc.property(events, ratio, (all, r) => {
        const { low, high } = prevention(all);
        expect(low).toBeLessThan(high);
        const isNearAnEnd = [low, high].some((end) => Math.abs(r / end - 1) < 1e-9);
        if (!isNearAnEnd) expect(mayBe(r, tallied(all))).toBe(r > low && r < high);
      }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 400 }),
        chance,
        (held, told, p) => {
          // Solves θ(r) = held / all.
          const likely = ((told / held) * p) / (1 - p);
          const { low, high } = prevention(failed(held, told, p));
          expect(
            low < Math.min(88, Math.max(0.05, likely)) && high > Math.min(88, Math.max(0.05, likely)),
          ).toBe(true);
        },
      ),
    );
  });

  test('says something finite of thousands of failures', () => {
    for (const [held, told] of [
      [50_000, 500],
      [500, 50_000],
      [30_000, 30_000],
      [50_000, 0],
    ] as const) {
      const { evidence, harm, low, high } = prevention(failed(held, told));
      expect([evidence, harm, low].every(Number.isFinite)).toBe(true);
      expect(low).toBeLessThan(high);
    }
    expect(prevention(failed(50_000, 500)).evidence).toBeGreaterThan(1e299);
    expect(prevention(failed(30_000, 30_000)).high).toBeLessThan(1.09);
  });
});

function round(value: number): string {
  return value.toFixed(2);
}

function rounded({ evidence, harm, low, high }: Prevention): object {
  return Object.fromEntries(
    Object.entries({ evidence, harm, low, high }).map(([name, value]) => [name, value.toPrecision(9)]),
  );
}
