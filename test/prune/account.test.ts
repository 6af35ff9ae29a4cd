import { describe, expect, test } from 'bun:test';
import { accounted, newOf } from '../../src/prune/account.ts';
import type { Message } from '../../src/prune/call.ts';
import type { Decision } from '../../src/prune/decision.ts';
import type { Pruned } from '../../src/prune/store.ts';

const BEFORE: Pruned = {
  ...{ client: 'opencode', sessionId: 'ses_1', directory: '/home/dev/app', isOff: false, decisions: [] },
  ...{ requests: 0, sentChars: 0, savedChars: 0, readAgainChars: 0, updatedAt: '1970-01-01T00:00:00.000Z' },
};
const NOW = new Date('2026-11-23T10:00:00.000Z');

const said = (by: Message['by'], chars: number): Message => ({ by, chars, calls: [] });
const called = (id: string, output: string): Message => ({
  ...said('model', 0),
  calls: [{ id, tool: 'read', input: {}, state: 'done', output }],
});
const decision = (callId: string, savedChars: number): Decision => {
  return { callId, rule: 'sweep', part: 'output', placeholder: 'x', savedChars, anchor: null };
};
/** An input without anything in it. */
const EMPTY = 2;
const HISTORY = [
  said('user', 10),
  called('a', 'o'.repeat(1000)),
  called('b', 'o'.repeat(500)),
  called('c', 'o'.repeat(200)),
];

function after(
  decisions: readonly Decision[],
  { before = BEFORE, isCold = false, messages = HISTORY } = {},
): Pruned {
  return accounted(before, messages, decisions, { isCold, now: NOW });
}

describe('accounted()', () => {
  test('adds what a request says, and by how much it is shorter, to those before', () => {
    const first = after([]);
    expect(first).toMatchObject({
      requests: 1,
      sentChars: 1710 + 3 * EMPTY,
      savedChars: 0,
      updatedAt: NOW.toISOString(),
    });
    const second = after([decision('c', 150)], { before: first });
    expect(second).toMatchObject({ requests: 2, sentChars: 2 * first.sentChars - 150, savedChars: 150 });
    expect(second.decisions).toEqual([decision('c', 150)]);
  });

  test('what the newest answer called has never been sent: nothing is read again for it', () => {
    expect(after([decision('c', 150)]).readAgainChars).toBe(0);
  });

  test('what stands behind an earlier change is read again, up to the newest answer, as it is now', () => {
    expect(after([decision('b', 400)]).readAgainChars).toBe(100 + EMPTY);
    expect(after([decision('a', 900), decision('b', 400)]).readAgainChars).toBe(200 + 2 * EMPTY);
    const asked = [...HISTORY, said('user', 30)];
    expect(after([decision('b', 400)], { messages: asked }).readAgainChars).toBe(100 + EMPTY);
  });

  test('nothing is read again for what held before, or where nothing was cached', () => {
    const before = after([decision('a', 900)]);
    expect(after([decision('a', 900)], { before }).readAgainChars).toBe(before.readAgainChars);
    expect(after([decision('a', 900)], { isCold: true }).readAgainChars).toBe(0);
  });
});

test('newOf() gives the decisions that did not hold before', () => {
  const before = after([decision('a', 900)]);
  expect(newOf(before, [decision('a', 900), decision('c', 100)])).toEqual([decision('c', 100)]);
});
