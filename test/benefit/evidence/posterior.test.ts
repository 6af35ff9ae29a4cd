import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { uselessProbability } from '../../../src/benefit/evidence/posterior.ts';
import { prevention } from '../../../src/benefit/evidence/prevention.ts';
import { failed } from './arms.ts';

const count = fc.integer({ min: 0, max: 40 });

describe('uselessProbability()', () => {
  test('is the share of the harm in both evidences, one half before anything is known', () => {
    expect(uselessProbability([])).toBe(0.5);
    expect(uselessProbability(failed(5, 40, 0))).toBe(0.5);
    const { evidence, harm } = prevention(failed(1, 4));
    expect(uselessProbability(failed(1, 4))).toBeCloseTo(harm / (evidence + harm), 9);
    expect(uselessProbability(failed(1, 4)).toFixed(2)).toBe('0.91');
  });

  test('falls with each failure that was held out, rises with each that was told', () => {
    fc.assert(
      fc.property(count, count, (held, told) => {
        const now = uselessProbability(failed(held, told));
        expect(uselessProbability(failed(held + 1, told))).toBeLessThan(now);
        expect(uselessProbability(failed(held, told + 1))).toBeGreaterThan(now);
      }),
    );
  });

  test('stays a probability for thousands of failures', () => {
    expect(uselessProbability(failed(50_000, 10))).toBe(0);
    expect(uselessProbability(failed(10, 50_000))).toBe(1);
    expect(uselessProbability(failed(90_000, 90_000))).toBeGreaterThanOrEqual(0);
  });
});
