import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { pairsEvidence, pairsNeeded } from '../../../src/benefit/evidence/pairs.ts';

const pairs = fc.integer({ min: 0, max: 30 });

describe('pairsEvidence()', () => {
  test('is 1 without pairs, and what the integral gives by hand', () => {
    expect(pairsEvidence(0, 0)).toBe(1);
    expect(pairsEvidence(1, 0)).toBe(1.5); // ∫ 2θ · 2 dθ from ½ to 1
    expect(pairsEvidence(0, 1)).toBe(0.5);
    expect(pairsEvidence(6, 0)).toBeCloseTo(127 / 7);
    expect(pairsEvidence(7, 0)).toBeCloseTo(255 / 8); // seven of seven are enough
  });

  test('is expected to stay as it is, whatever has been seen, where each differing pair is a fair coin', () => {
    fc.assert(
      fc.property(pairs, pairs, (more, fewer) => {
        const next = (pairsEvidence(more + 1, fewer) + pairsEvidence(more, fewer + 1)) / 2;
        expect(next).toBeCloseTo(pairsEvidence(more, fewer), 6);
      }),
    );
  });

  test('grows with each pair that speaks for it, falls with each against, and is a number for hundreds', () => {
    fc.assert(
      fc.property(pairs, pairs, (more, fewer) => {
        expect(pairsEvidence(more + 1, fewer)).toBeGreaterThan(pairsEvidence(more, fewer));
        expect(pairsEvidence(more, fewer + 1)).toBeLessThan(pairsEvidence(more, fewer));
      }),
    );
    expect(Number.isFinite(pairsEvidence(500, 400))).toBe(true);
  });
});

describe('pairsNeeded()', () => {
  test('is a handful where most would fail, and many where few would', () => {
    expect([0.9, 0.6, 0.3].map((effect) => pairsNeeded(0.9, effect))).toEqual([8, 12, 35]);
    expect([0.9, 0.6, 0.3].map((effect) => pairsNeeded(0.3, effect))).toEqual([23, 74, 425]);
    expect(pairsNeeded(0.3, 0)).toBeUndefined();
  });
});
