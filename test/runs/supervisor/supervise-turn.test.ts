import { describe, expect, test } from 'bun:test';
import type { Conclusion } from '../../../src/clients/client.ts';
import { NO_USAGE, type Outcome, type Stop } from '../../../src/runs/model/turn.ts';
import { endingOf, endingWithout } from '../../../src/runs/supervisor/supervise-turn.ts';
import type { Exit } from '../../../src/system/process-identity.ts';

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
  for (const [what, changes, why, outcome] of rows)
    test(`${what}: ${outcome}, with what it had said`, () => {
      const end = { conclusion: { ...conclusion, ...changes }, exit, stop: why, notes: ['n'], endedAtMs: 9 };
      const ending = endingOf(end, []);
      expect(ending).toMatchObject({ outcome, result: 'the text', notes: ['n'], exit, endedAtMs: 9 });
      // How the client died of what ended it is no error of its own.
      expect(ending.error).toBe(why === null ? (changes.error ?? null) : null);
    });

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
