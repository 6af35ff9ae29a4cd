import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { cure } from '../../../src/benefit/evidence/cure.ts';
import { teamEvidence } from '../../../src/benefit/evidence/members.ts';
import { prevention, tallied } from '../../../src/benefit/evidence/prevention.ts';

const EVENT = fc.record({ isHeld: fc.boolean(), p: fc.constantFrom(0.1, 0.5, 0.25) });
const EPISODE = fc.record({ isHeld: fc.boolean(), p: fc.constantFrom(0.1, 0.5), cost: fc.nat(30) });

const countsOf = (events: readonly { isHeld: boolean; p: number }[]) => ({
  tallies: tallied(events).map(({ p, held, told }) => ({ holdPercent: Math.round(p * 100), held, told })),
  cures: [],
});
const cureOf = (episodes: readonly { isHeld: boolean; p: number; cost: number }[]) => {
  const { evidence, harm } = cure(episodes);
  return {
    tallies: [],
    cures: [{ episodes: episodes.length, logEvidence: Math.log(evidence), logHarm: Math.log(harm) }],
  };
};

describe('teamEvidence()', () => {
  test('prevention of ten members is exactly that of one ledger with all of their failures', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(EVENT, { maxLength: 60 }), { minLength: 10, maxLength: 10 }),
        (members) => {
          expect(teamEvidence(members.map(countsOf)).prevention).toEqual(prevention(members.flat()));
        },
      ),
    );
  });

  test('the order of the members changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.array(EVENT, { maxLength: 30 }), { maxLength: 10 }), (members) => {
        expect(teamEvidence(members.toReversed().map(countsOf)).prevention).toEqual(
          teamEvidence(members.map(countsOf)).prevention,
        );
      }),
    );
  });

  test('cure is the product of the members’ evidences, and not that of one ledger', () => {
    const members = [
      [
        { isHeld: true, p: 0.5, cost: 9 },
        { isHeld: false, p: 0.5, cost: 1 },
        { isHeld: true, p: 0.5, cost: 12 },
      ],
      [
        { isHeld: false, p: 0.5, cost: 3 },
        { isHeld: true, p: 0.5, cost: 30 },
      ],
    ];
    const found = teamEvidence(members.map(cureOf)).cure;
    const product = members.map((one) => cure(one).evidence).reduce((all, one) => all * one, 1);
    expect(found).toMatchObject({ members: 2, episodes: 5 });
    expect(found.evidence).toBeCloseTo(product, 10);
    expect(found.evidence).not.toBeCloseTo(cure(members.flat()).evidence, 3);
  });

  test('a product of many goes neither over nor under', () => {
    fc.assert(
      fc.property(fc.array(fc.array(EPISODE, { maxLength: 20 }), { maxLength: 40 }), (members) => {
        const { evidence, harm } = teamEvidence(members.map(cureOf)).cure;
        expect(evidence >= 0 && !Number.isNaN(evidence) && harm >= 0 && !Number.isNaN(harm)).toBe(true);
      }),
    );
  });

  test('of nobody nothing is known', () => {
    expect(teamEvidence([])).toMatchObject({
      members: 0,
      prevention: { failures: 0, evidence: 1, harm: 1 },
      cure: { members: 0, episodes: 0, evidence: 1, harm: 1 },
    });
  });
});
