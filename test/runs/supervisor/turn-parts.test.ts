import { describe, expect, test } from 'bun:test';
import type { Conclusion } from '../../../src/clients/client.ts';
import type { Outcome, Stop } from '../../../src/runs/model/turn.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import {
  type BudgetShare,
  endingOf,
  endingWithout,
  judgeBudget,
  usdLeft,
} from '../../../src/runs/supervisor/turn-ending.ts';
import type { Exit } from '../../../src/system/process-identity.ts';

const NO_LIMIT = { tokens: null, usd: null };
const usage = (tokens: number, costUsd: number | null = null) => ({
  ...NO_USAGE,
  inputTokens: tokens,
  costUsd,
});
const share = (
  limit: Partial<BudgetShare['limit']>,
  others: Partial<BudgetShare['others']> = {},
): BudgetShare => ({
  name: 'run',
  limit: { ...NO_LIMIT, ...limit },
  others: { tokens: 0, usd: 0, ...others },
});

describe('judgeBudget()', () => {
  const rows: readonly [string, readonly BudgetShare[], ReturnType<typeof usage>, string][] = [
    ['no limit', [share({})], usage(1e9, 1e6), 'within'],
    ['less than the limit', [share({ tokens: 100 })], usage(79), 'within'],
    ['most of the limit', [share({ tokens: 100 })], usage(80), 'near'],
    ['the limit itself', [share({ tokens: 100 })], usage(100), 'exceeded'],
    ['what others have taken', [share({ tokens: 100 }, { tokens: 90 })], usage(10), 'exceeded'],
    ['money', [share({ usd: 1 }, { usd: 0.5 })], usage(0, 0.5), 'exceeded'],
    ['money that nobody knows', [share({ usd: 1 })], usage(1e9), 'within'],
    ['one limit of several', [share({ usd: 1 }), share({ tokens: 10 })], usage(10, 0.1), 'exceeded'],
  ];
  for (const [what, shares, taken, kind] of rows) {
    test(`${what}: ${kind}`, () => expect(judgeBudget(shares, taken).kind).toBe(kind as 'within'));
  }

  test('says what was exceeded, by how much, and for whom', () => {
    const verdict = judgeBudget([{ ...share({ usd: 1.5 }, { usd: 1 }), name: 'day' }], usage(0, 0.61));
    expect(verdict).toEqual({ kind: 'exceeded', words: 'budget exceeded: $1.61 of $1.50 for the day' });
  });
});

describe('usdLeft()', () => {
  test('is the least that any limit leaves, never less than nothing, and null without a limit', () => {
    expect(usdLeft([share({ tokens: 5 })], NO_USAGE)).toBeNull();
    expect(usdLeft([share({ usd: 3 }, { usd: 1 }), share({ usd: 1.5 })], usage(0, 0.5))).toBe(1);
    expect(usdLeft([share({ usd: 1 }, { usd: 2 })], NO_USAGE)).toBe(0);
  });
});

describe('endingOf()', () => {
  const conclusion: Conclusion = {
    outcome: 'success',
    text: 'the text',
    error: null,
    isModelRefused: false,
    sessionId: null,
    usage: NO_USAGE,
  };
  const stop = (reason: Stop['reason']): Stop => ({ reason, by: 'somebody', atMs: 5 });
  const exit: Exit = { code: 0, signal: null };
  const rows: readonly [string, Partial<Conclusion>, Stop | null, Outcome][] = [
    ['a good end', {}, null, 'success'],
    ['a bad end', { outcome: 'error', error: 'bad' }, null, 'error'],
    ['an end that nobody knows', { outcome: 'unknown', error: 'who knows' }, null, 'lost'],
    ['a stop, however well it ended', {}, stop('requested'), 'stopped'],
    ['the end of the supervisor', {}, stop('shutdown'), 'stopped'],
    ['the limit of time', { outcome: 'error', error: 'killed' }, stop('timeout'), 'timeout'],
    ['the limit of silence', { outcome: 'error', error: 'killed' }, stop('idle'), 'timeout'],
    ['the budget', { outcome: 'error', error: 'killed' }, stop('budget'), 'error'],
  ];
  for (const [what, changes, why, outcome] of rows) {
    test(`${what}: ${outcome}, with what it had said`, () => {
      const end = { conclusion: { ...conclusion, ...changes }, exit, stop: why, notes: ['n'], endedAtMs: 9 };
      const ending = endingOf(end, []);
      expect(ending).toMatchObject({ outcome, result: 'the text', notes: ['n'], exit, endedAtMs: 9 });
      // How the client died of what ended it is no error of its own.
      expect(ending.error).toBe(why === null ? (changes.error ?? null) : null);
    });
  }

  test('reckons the cost where the client names none', () => {
    const taken = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0, model: 'm' };
    const end = { conclusion: { ...conclusion, usage: taken }, exit, stop: null, notes: [], endedAtMs: 1 };
    const prices = [{ model: 'm', input: 3, output: 1, cacheRead: null, cacheWrite: null }];
    expect(endingOf(end, prices).usage).toMatchObject({ costUsd: 3, costSource: 'priced' });
  });
});

describe('endingWithout()', () => {
  test('is what it is said to be, unless it was stopped', () => {
    const what = { outcome: 'error', error: 'no program', endedAtMs: 1 } as const;
    expect(endingWithout({ stop: null, usage: NO_USAGE }, what)).toMatchObject({
      outcome: 'error',
      error: 'no program',
      result: null,
    });
    const stopped = { stop: { reason: 'requested', by: 'x', atMs: 1 }, usage: NO_USAGE } as const;
    expect(endingWithout(stopped, what)).toMatchObject({ outcome: 'stopped', error: null });
  });
});
