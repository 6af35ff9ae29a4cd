import { expect, test } from 'bun:test';
import { NOTHING_SAID } from '../../../src/runs/model/turn.ts';
import { withAwayEnd } from '../../../src/runs/pool/away-end.ts';

const good = { ...NOTHING_SAID, outcome: 'success', endedAtMs: 1, notes: ['own'] } as const;
const bad = { ...good, outcome: 'error', error: 'it broke' } as const;
const end = (outcome: 'success' | 'lost' | 'timeout', error: string | null = null) => ({
  ...{ outcome, error, exit: null, notes: ['there'] },
});

test('withAwayEnd() takes the outcome of the other machine, with its words', () => {
  expect(withAwayEnd(bad, end('timeout', 'timed out after 3 s'), false)).toMatchObject({
    ...{ outcome: 'timeout', error: 'timed out after 3 s', notes: ['own', 'there'] },
  });
  expect(withAwayEnd(good, end('lost', 'the machine is gone'), false)).toMatchObject({ outcome: 'lost' });
  expect(withAwayEnd(good, end('success'), false)).toMatchObject({ outcome: 'success', error: null });
});

test('withAwayEnd() does not make a success of what the client here was seen to fail at', () => {
  expect(withAwayEnd(bad, end('success'), false)).toMatchObject({ outcome: 'error', error: 'it broke' });
});

test('withAwayEnd() lets a stop from here count, and calls lost what nobody waited for', () => {
  const stopped = { ...good, outcome: 'stopped' } as const;
  expect(withAwayEnd(stopped, end('lost', 'gone'), true)).toMatchObject({ outcome: 'stopped', error: null });
  expect(withAwayEnd(stopped, undefined, true)).toEqual(stopped);
  expect(withAwayEnd(bad, undefined, false)).toMatchObject({ outcome: 'lost' });
  expect(withAwayEnd(good, undefined, false)).toEqual(good);
});
