import { expect, test } from 'bun:test';
import { NOTHING_SAID } from '../../../src/runs/model/turn.ts';
import { withAwayEnding } from '../../../src/runs/pool/away-ending.ts';

const good = { ...NOTHING_SAID, outcome: 'success', endedAtMs: 1, notes: ['own'] } as const;
const bad = { ...good, outcome: 'error', error: 'it broke' } as const;
const end = (outcome: 'success' | 'lost' | 'timeout', error: string | null = null) => ({
  ...{ outcome, error, exit: null, notes: ['there'] },
});

test('withAwayEnding() takes the outcome of the other machine, with its words', () => {
  expect(withAwayEnding(bad, end('timeout', 'timed out after 3 s'), false)).toMatchObject({
    ...{ outcome: 'timeout', error: 'timed out after 3 s', notes: ['own', 'there'] },
  });
  expect(withAwayEnding(good, end('lost', 'the machine is gone'), false)).toMatchObject({ outcome: 'lost' });
  expect(withAwayEnding(good, end('success'), false)).toMatchObject({ outcome: 'success', error: null });
});

test('withAwayEnding() does not make a success of what the client here was seen to fail at', () => {
  expect(withAwayEnding(bad, end('success'), false)).toMatchObject({ outcome: 'error', error: 'it broke' });
});

test('withAwayEnding() lets a stop from here count, and calls lost what nobody waited for', () => {
  const stopped = { ...good, outcome: 'stopped' } as const;
  expect(withAwayEnding(stopped, end('lost', 'gone'), true)).toMatchObject({
    outcome: 'stopped',
    error: null,
  });
  expect(withAwayEnding(stopped, undefined, true)).toEqual(stopped);
  expect(withAwayEnding(bad, undefined, false)).toMatchObject({ outcome: 'lost' });
  expect(withAwayEnding(good, undefined, false)).toEqual(good);
});
