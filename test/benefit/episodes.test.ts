import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { episodesOf } from '../../src/benefit/episodes.ts';
import { cureSteps } from '../../src/benefit/evidence/cure.ts';

const HOUR = 3_600_000;
const EPISODE = {
  id: 1,
  failedAt: HOUR,
  calls: 3,
  ms: 60_000,
  ended: 'passed',
  isHeld: false,
  holdPercent: 50,
} as const;
const costs = (...rows: Parameters<typeof episodesOf>[0]) => episodesOf(rows).map(({ cost }) => cost);

describe('episodesOf()', () => {
  test('takes what was left for as dear as it gets, and what goes on for nothing', () => {
    expect(costs(EPISODE)).toEqual([3]);
    expect(costs({ ...EPISODE, calls: 20, ended: 'cap' })).toEqual([20]);
    expect(costs({ ...EPISODE, calls: 0, ended: 'left' })).toEqual([20]);
    expect(
      costs({ ...EPISODE, ended: null }, { ...EPISODE, failedAt: null, calls: null, ms: null, ended: null }),
    ).toEqual([]);
  });

  test('what failed first and ended last comes last', () => {
    const long = { ...EPISODE, ms: 5 * HOUR, calls: 9 };
    expect(costs(long, { ...EPISODE, id: 2, failedAt: 2 * HOUR })).toEqual([3, 9]);
    expect(costs({ ...EPISODE, ended: 'left' }, { ...EPISODE, id: 2, failedAt: 20 * HOUR })).toEqual([3, 20]);
  });

  const rows = fc.array(
    fc.record({
      failedAt: fc.nat(1000),
      ms: fc.nat(1000),
      calls: fc.integer({ min: 1, max: 20 }),
      isHeld: fc.boolean(),
    }),
  );
  test('whenever one looks, what was known before stands: later ends only add to it', () =>
    fc.assert(
      fc.property(rows, fc.nat(2000), (ended, look) => {
        const all = ended.map((row, id) => ({ ...EPISODE, ...row, id }));
        const before = cureSteps(episodesOf(all.filter(({ failedAt, ms }) => failedAt + ms <= look)));
        expect(cureSteps(episodesOf(all)).slice(0, before.length)).toEqual(before);
      }),
    ));
});
