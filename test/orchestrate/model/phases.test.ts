import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { advancePhase, initAgentPhases, PHASE_PROFILES } from '../../../src/orchestrate/model/phases.ts';

const begun = (rest: object) => initAgentPhases([{ agent: 'ann', task: 'Do it.', ...rest }])[0];

describe('initAgentPhases()', () => {
  test.each([
    ...['frontend', 'backend', 'data', 'BackEnd'].map((role) => [role, [1, 2, 3, 4, 5]]),
    ['docs', [1, 3, 5]],
    ...['custom', 'reviewer', '', 'constructor'].map((role) => [role, [3]]),
  ] as [string, number[]][])('gives the role %j the phases %j', (role, phases) => {
    const expected = { phaseProfile: phases, currentPhase: phases[0], currentPhaseIdx: 0, completed: false };
    expect(begun({ role }) as object).toMatchObject({ ...expected, history: [] });
  });

  test.each([
    [{ start_phase: 3 }, [3, 4, 5]],
    [{ start_phase: 3, end_phase: 4 }, [3, 4]],
    [{ end_phase: 2 }, [1, 2]],
    [{ role: 'docs', start_phase: 2 }, [3, 5]],
    [{ role: 'docs', start_phase: 2, end_phase: 2 }, [3]],
    [{ role: 'custom', start_phase: 5 }, [3]],
  ] as [object, number[]][])('leaves the phases of %j', (rest, phases) => {
    expect(begun({ role: 'backend', ...rest })?.phaseProfile.map(Number)).toEqual(phases);
  });

  test('always leaves a phase of the profile, in order', () => {
    const phase = fc.option(fc.integer({ min: -2, max: 9 }), { nil: undefined });
    const role = fc.constantFrom(...Object.keys(PHASE_PROFILES));
    fc.assert(
      fc.property(role, phase, phase, (role, start_phase, end_phase) => {
        const left = begun({ role, start_phase, end_phase })?.phaseProfile ?? [];
        expect(left.length).toBeGreaterThan(0);
        expect((PHASE_PROFILES[role] ?? []).filter((one) => left.includes(one))).toEqual([...left]);
      }),
    );
  });
});

test('advancePhase() stays unless it passed, and completes behind the last phase', () => {
  let work = begun({ role: 'docs' });
  if (work === undefined) throw new Error('There is none');
  expect(advancePhase(work, false)).toBe(work);
  const seen = [work.currentPhase];
  while (!work.completed) {
    work = advancePhase(work, true);
    seen.push(work.currentPhase);
  }
  expect(seen).toEqual([1, 3, 5, 5]);
  expect(advancePhase(work, true)).toBe(work);
});
