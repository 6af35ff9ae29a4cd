import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  AFTER_RESULT_MS,
  type ClockTimes,
  judgeTime,
  passTime,
} from '../../../src/runs/supervisor/turn-watch.ts';

const HOUR_MS = 3_600_000;

/** What happens between two looks: time passes, the machine sleeps, somebody sets the clock. */
const steps = fc.array(
  fc.record({
    passedMs: fc.integer({ min: 0, max: 2000 }),
    sleptMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8 * HOUR_MS })),
    setByMs: fc.oneof(fc.constant(0), fc.integer({ min: -HOUR_MS, max: HOUR_MS })),
  }),
  { maxLength: 200 },
);

type Step = { readonly passedMs: number; readonly sleptMs: number; readonly setByMs: number };

function later(at: ClockTimes, { passedMs, sleptMs, setByMs }: Step): ClockTimes {
  return { wallMs: at.wallMs + passedMs + sleptMs + setByMs, steadyMs: at.steadyMs + passedMs };
}

const START: ClockTimes = { wallMs: 1_700_000_000_000, steadyMs: 5000 };

describe('passTime()', () => {
  test('never counts more than what has passed, whatever the wall clock does and however long the machine sleeps', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let at = START;
        let time = { spentMs: 0, at };
        for (const step of all) {
          at = later(at, step);
          const before = time.spentMs;
          time = passTime(time, at);
          expect(time.spentMs).toBeGreaterThanOrEqual(before);
        }
        const passedMs = all.reduce((sum, step) => sum + step.passedMs, 0);
        expect(time.spentMs).toBeLessThanOrEqual(passedMs);
      }),
    );
  });

  test('loses no more than a step for each time that the clock is set back', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let at = START;
        let time = { spentMs: 0, at };
        let mayLoseMs = 0;
        for (const step of all) {
          at = later(at, step);
          time = passTime(time, at);
          if (step.setByMs < 0) mayLoseMs += step.passedMs;
        }
        const passedMs = all.reduce((sum, step) => sum + step.passedMs, 0);
        expect(time.spentMs).toBeGreaterThanOrEqual(passedMs - mayLoseMs);
      }),
    );
  });

  test('counts all of it when both clocks agree, also when nobody looked for long', () => {
    const time = passTime(
      { spentMs: 0, at: START },
      { wallMs: START.wallMs + HOUR_MS, steadyMs: START.steadyMs + HOUR_MS },
    );
    expect(time.spentMs).toBe(HOUR_MS);
  });
});

describe('judgeTime()', () => {
  const limits = { runMs: 1000, idleMs: 300, lingerMs: AFTER_RESULT_MS };
  const rows: readonly [string, typeof limits, Parameters<typeof judgeTime>[1], string][] = [
    ['a limit that is not reached', limits, { spentMs: 999, silentMs: 299, sinceResultMs: null }, 'go on'],
    ['the limit of time', limits, { spentMs: 1000, silentMs: 0, sinceResultMs: null }, 'timeout'],
    ['the limit of silence', limits, { spentMs: 500, silentMs: 300, sinceResultMs: null }, 'idle'],
    ['both', limits, { spentMs: 1000, silentMs: 300, sinceResultMs: null }, 'timeout'],
    [
      'no limits',
      { runMs: 0, idleMs: 0, lingerMs: 0 },
      { spentMs: HOUR_MS, silentMs: HOUR_MS, sinceResultMs: null },
      'go on',
    ],
    ['a result that came in time', limits, { spentMs: HOUR_MS, silentMs: 400, sinceResultMs: 1 }, 'go on'],
    [
      'a client that does not end after its result',
      limits,
      { spentMs: 1, silentMs: 1, sinceResultMs: AFTER_RESULT_MS },
      'lingers',
    ],
    [
      'one on another machine, whose changes take their time',
      { ...limits, lingerMs: 0 },
      { spentMs: 1, silentMs: 1, sinceResultMs: HOUR_MS },
      'go on',
    ],
  ];
  for (const [what, given, watched, verdict] of rows)
    test(`${what}: ${verdict}`, () => {
      const over = judgeTime(given, watched);
      expect(
        over?.kind === 'stop' && over.stop !== 'in the row' ? over.stop.reason : (over?.kind ?? 'go on'),
      ).toBe(verdict);
    });
});
