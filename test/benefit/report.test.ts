import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { outlooksOnTrial, proofOf, type Situation } from '../../src/benefit/report.ts';
import type { LedgerRow } from '../../src/database/ledger.ts';

const SITUATION: Situation = {
  holdOut: 'trial',
  answered: new Set(),
  rate: { startPerWeek: 4, failurePerWeek: 4, weeksSeen: 4 },
};
const START = Date.parse('2026-09-01T09:00:00.000Z');

function row(id: number, changes: Partial<LedgerRow> = {}): LedgerRow {
  return {
    ...{
      id,
      root: `s${id}`,
      client: null,
      model: null,
      build: null,
      group: 'g',
      place: '/home/dev/app',
      key: 'k',
    },
    ...{ version: 'v', kind: 'rule', text: 'use `pnpm test`', channel: 'start', ts: START + id, agent: null },
    ...{
      holdPercent: 50,
      isHeld: false,
      chain: 0,
      seal: null,
      failedAt: null,
      failedCall: null,
      calls: null,
    },
    ...{
      ms: null,
      chars: null,
      ended: null,
      adviceFailed: null,
      formWorked: null,
      leaked: null,
      settledAt: null,
    },
    ...changes,
  };
}

const failedRow = (id: number, isHeld: boolean, changes: Partial<LedgerRow> = {}) =>
  row(id, { isHeld, failedAt: START + 1000 * id, calls: isHeld ? 5 : 1, ended: 'passed', ...changes });
const rowsOf = (held: number, told: number, changes: Partial<LedgerRow> = {}) =>
  Array.from({ length: held + told }, (_, at) =>
    failedRow(at, at % 2 === 0 ? at / 2 < held : (at - 1) / 2 >= told, changes),
  );

describe('proofOf()', () => {
  test('knows nothing without rows', () => {
    const { since, start, failure, some, price } = proofOf([], SITUATION);
    expect([since, start.verdict, failure.verdict, some.verdict]).toEqual([
      null,
      'unknown',
      'unknown',
      'unknown',
    ]);
    expect(price).toEqual({ heldFailures: 0, letThrough: 0, toldChars: 0 });
  });

  test('begins where a coin is thrown: what was told before counts for nothing', () => {
    const rows = [row(1, { holdPercent: 0 }), row(2), row(3)];
    const { since, sessions, start } = proofOf(rows, SITUATION);
    expect([since, sessions]).toEqual([new Date(START + 2).toISOString(), 2]);
    expect(start).toMatchObject({ told: 2, always: 1 });
  });

  test('says that telling helps, or harms, where almost all that failed was held out, or told', () => {
    const of = (count: number, isHeld: boolean) =>
      Array.from({ length: count }, (_, at) => failedRow(at, isHeld));
    const helps = proofOf([...of(20, true)], SITUATION);
    expect(helps.start).toMatchObject({ verdict: 'helps', held: 20, told: 0 });
    expect(helps.some).toMatchObject({ verdict: 'helps', lessons: 1 });
    expect(helps.price).toMatchObject({ heldFailures: 20, letThrough: 20, toldChars: 0 });
    expect(proofOf(of(20, false), SITUATION).start.verdict).toBe('harms');
    expect(proofOf(of(2, true), SITUATION).start.verdict).toBe('open');
  });

  test('remembers what was known once, when what comes later speaks against it', () => {
    const rows = Array.from({ length: 60 }, (_, at) => failedRow(at, at < 12));
    const { verdict, peak, found } = proofOf(rows, SITUATION).start;
    expect(verdict).not.toBe('helps');
    expect(peak).toBeGreaterThan(20);
    expect(peak).toBeGreaterThan(found.evidence);
    const first = proofOf(rows.slice(0, 12), SITUATION).start;
    expect(first.peak).toBeCloseTo(first.found.evidence, 6);
  });

  test('says that hints mend sooner, by what is done until the check passes', () => {
    const rows = Array.from({ length: 60 }, (_, at) => failedRow(at, at % 2 === 0, { channel: 'failure' }));
    const { failure, start } = proofOf(rows, SITUATION);
    expect(failure).toMatchObject({
      verdict: 'helps',
      found: { medianHeld: 5, medianTold: 1, episodes: 60 },
    });
    expect(start.verdict).toBe('unknown');
    const going = rows.map((one) => ({ ...one, ended: null }));
    expect(proofOf(going, SITUATION).failure.found.episodes).toBe(0);
  });

  test('only counts what was never to be held out', () => {
    const rows = Array.from({ length: 30 }, (_, at) => failedRow(at, false, { holdPercent: 0 }));
    const { start, kinds } = proofOf(rows, SITUATION);
    expect(start).toMatchObject({ verdict: 'unknown', told: 0, held: 0, always: 30 });
    expect(kinds).toMatchObject([
      { kind: 'rule', channel: 'start', always: 30, evidence: 1, logEvidence: 0 },
    ]);
  });

  test('does not depend on the order of the rows', () => {
    const rows = [...rowsOf(12, 5), ...rowsOf(8, 9, { channel: 'failure' })].map((one, id) => ({
      ...one,
      id,
    }));
    const wanted = proofOf(rows, SITUATION);
    fc.assert(
      fc.property(fc.shuffledSubarray(rows, { minLength: rows.length }), (shuffled) => {
        const found = proofOf(shuffled, SITUATION);
        // Sums of logarithms differ in their last digits.
        expect(found.failure).toEqual(wanted.failure);
        expect(found.start.found.evidence).toBeCloseTo(wanted.start.found.evidence, 9);
      }),
    );
  });

  test('estimates what holding out let through by what failed where it was told, never below 0', () => {
    const price = (held: number, told: number, holdPercent: number) =>
      proofOf(rowsOf(held, told, { holdPercent }), SITUATION).price;
    expect(price(24, 10, 50)).toMatchObject({ heldFailures: 24, letThrough: 14 });
    expect(price(3, 18, 10)).toMatchObject({ heldFailures: 3, letThrough: 1 });
    expect(price(1, 10, 50)).toMatchObject({ letThrough: 0 });
  });

  test('expects an answer sooner the more fails, and never where nothing is held out', () => {
    expect(proofOf(rowsOf(1, 1), { ...SITUATION, holdOut: 'off' }).start.outlook).toEqual({ kind: 'never' });
    const weeks = (startPerWeek: number) =>
      proofOf([], { ...SITUATION, rate: { startPerWeek, failurePerWeek: 4, weeksSeen: 4 } }).start.outlook;
    expect(weeks(15)).toMatchObject({ kind: 'weeks', median: expect.any(Number) });
    expect(weeks(0.1)).toEqual({ kind: 'never' });
    const typical = outlooksOnTrial({ startPerWeek: 0, failurePerWeek: 0, weeksSeen: 0 });
    expect(typical.start).toMatchObject({ kind: 'weeks', median: 13 });
  });

  test('has no text, path or key in it', () => {
    const text = JSON.stringify(
      proofOf(
        rowsOf(5, 5, { text: 'TEXT', key: 'KEY', place: 'PLACE', group: 'GROUP', root: 'ROOT' }),
        SITUATION,
      ),
    );
    for (const word of ['TEXT', 'KEY', 'PLACE', 'GROUP', 'ROOT']) expect(text).not.toContain(word);
  });
});
