import { describe, expect, test } from 'bun:test';
import type { Decision } from '../../src/prune/decision.ts';
import { RULES, sweptCall } from '../../src/prune/decision.ts';
import { answer, call, decided, edit, PROJECT, PROMPT, pruned, read, session, text } from './history.ts';

const idsOf = (decisions: readonly Decision[]) => decisions.map(({ callId }) => callId);
/** Answers whose calls no rule has anything to say about. */
const fillers = (count: number, from = 100) =>
  Array.from({ length: count }, (_, index) =>
    answer(call(`${from + index}`, { input: { n: from + index }, output: '' })),
  );

describe('what breaks the cached prefix', () => {
  // Some 3,000 characters are read again to save 1,000: ten requests at a tenth of their price pay for some 1,000.
  const messages = session(read('1', 'old'), edit('2'), read('3', 'new'));

  test('waits until its rent has paid for what is read again', () => {
    const waitingAfter = (count: number) => decided([...messages, ...fillers(count)]).waiting.length;
    expect(waitingAfter(0)).toBe(2);
    expect(waitingAfter(5)).toBe(2);
    expect(waitingAfter(60)).toBe(0);
    expect(idsOf(decided([...messages, ...fillers(60)]).decisions)).toEqual(['1', '2']);
  });

  test('is taken from where it pays on, which may be behind others', () => {
    const far = session(
      edit('1', 'b.ts'),
      call('big', { output: text('big', 300_000) }),
      read('2', 'new', 'b.ts'),
    );
    const { decisions, waiting } = decided([...far, ...renamed(messages), ...fillers(60)]);
    expect(idsOf(waiting)).toEqual(['1']);
    expect(idsOf(decisions)).toEqual(['r1', 'r2']);
  });

  test('costs nothing for what is not sent any more', () => {
    const big = (id: string) => call(id, { output: text('big', 300_000) });
    const twice = [
      PROMPT,
      answer(big('b1')),
      ...messages.slice(1, 2),
      answer(big('b2')),
      ...messages.slice(2),
    ];
    expect(idsOf(decided([...twice, ...fillers(60)]).decisions)).toEqual(['1', 'b2', '2']);
  });

  test('never is where cached input costs nothing', () => {
    expect(decided([...messages, ...fillers(500)], { settings: { cachedPriceRatio: 0 } }).decisions).toEqual(
      [],
    );
  });

  test('is free where nothing is cached', () => {
    expect(decided(messages, { settings: { cachedPriceRatio: 1 } }).waiting).toEqual([]);
  });

  test('is free when the last request is so long ago that the cache is empty', () => {
    const timed = messages.map((message, index) => ({ ...message, atMs: index * 1000 }));
    const lastMs = (timed.at(-1)?.atMs ?? 0) + 10 * 60_000;
    expect(decided(timed, { nowMs: lastMs }).decisions).toEqual([]);
    expect(idsOf(decided(timed, { nowMs: lastMs + 1 }).decisions)).toEqual(['1', '2']);
    const later = [...timed, ...fillers(1).map((message) => ({ ...message, atMs: lastMs + 1 }))];
    expect(idsOf(decided(later, { nowMs: lastMs + 2 }).decisions)).toEqual(['1', '2']);
  });

  test('is free when the session was compacted', () => {
    const compaction = { ...PROMPT, isCompaction: true };
    expect(idsOf(decided([...messages, compaction]).decisions)).toEqual(['1', '2']);
  });

  test('is none where it never was sent', () => {
    const at = [PROMPT, answer(edit('1'), read('2', 'new'))];
    expect(idsOf(decided(at).decisions)).toEqual(['1']);
    expect(idsOf(decided([...at, ...fillers(1)]).decisions)).toEqual(['1']);
  });
});

describe('what was decided earlier', () => {
  const messages = session(call('1'), call('2'), read('3', 'old'), read('4', 'new'));
  const [earlier] = decided(messages).decisions;

  test('holds on, word for word, whatever the settings say now', () => {
    const kept = {
      ...(earlier as Decision),
      placeholder: '[Output removed to save context: in older words.]',
    };
    const settings = { protectedTools: ['*'], protectedTurns: 9 };
    expect(decided(messages, { earlier: [kept], settings }).decisions).toEqual([kept]);
  });

  test('is skipped when what it refers to, or itself, is no longer shown', () => {
    const from = (history: typeof messages) => decided(history, { earlier: [earlier as Decision] }).decisions;
    expect(from(messages.slice(2))).toEqual([]);
    expect(from(messages.slice(0, 2))).toEqual([]);
    const changed = messages.map((message, index) =>
      index === 1 ? answer({ ...call('1'), isCleared: true }) : message,
    );
    expect(from(changed)).toEqual([]);
    expect(from(messages)).toHaveLength(1);
  });

  test('is what the user has swept, to which nothing new refers', () => {
    const swept = sweptCall(call('1')) as Decision;
    expect(RULES).toContain(swept.rule);
    const { decisions } = decided(messages, { earlier: [swept] });
    expect(decisions).toEqual([swept]);
    const more = [...messages, answer(call('5'))];
    expect(idsOf(decided(more, { earlier: [swept] }).decisions)).toEqual(['1', '5']);
    // Where that is shown no more either, it stays.
    const both = [swept, sweptCall(call('2')) as Decision];
    expect(idsOf(decided(more, { earlier: both }).decisions)).toEqual(['1', '2']);
  });

  test('a duplicate that was told before its original was swept is no original of later ones', () => {
    const swept = sweptCall(call('1')) as Decision;
    const more = [...messages, answer(call('5'))];
    expect(idsOf(decided(more, { earlier: [swept, earlier as Decision] }).decisions)).toEqual(['1', '2']);
  });
});

test('decisions stand in the order of their calls', () => {
  const messages = session(read('1', 'old'), call('2'), call('3'), edit('4'), read('5', 'new'));
  expect(idsOf(decided(messages, { settings: { cachedPriceRatio: 1 } }).decisions)).toEqual(['1', '3', '4']);
});

test('an empty history has nothing to be decided on', () => {
  expect(decided([])).toEqual({ decisions: [], waiting: [] });
});

test('what gave way says what it was, and how it is had again', () => {
  const failed = { ...edit('5', 'b.ts'), state: 'failed', output: 'oldString not found' } as const;
  const messages = session(read('1', 'old'), edit('2'), read('3', 'new'), read('4', 'new'), failed);
  const settings = { cachedPriceRatio: 1, errorSteps: 0 };
  const { decisions } = decided(messages, { settings });
  const shown = pruned(messages, decisions).flatMap(({ calls }) => calls);
  expect(shown.map(({ input, output }) => [Object.keys(input).join(), output])).toEqual([
    [
      'filePath',
      '[Output removed to save context: a.ts was read in full later, see below. If you need it again, read the file now.]',
    ],
    [
      'filePath',
      'Edit applied successfully.\n[Input removed to save context: the call succeeded, and a.ts was read in full later, see below. To change the file, give every value in full.]',
    ],
    ['filePath', messages[3]?.calls[0]?.output ?? ''],
    [
      'filePath',
      '[Output removed to save context: word for word the output of the earlier call of read (a.ts) with this input, which stands above. If you need it here, repeat the call now.]',
    ],
    [
      'filePath',
      `oldString not found\n[Input removed to save context: the call failed, and its long values are left out: oldString (400 characters, from "old ${'.'.repeat(56)}"), newString (400 characters, from "new ${'.'.repeat(56)}"). To call it again, give every value in full.]`,
    ],
  ]);
  expect(PROJECT).toBe('/home/dev/project');
});

/** The same with other ids. */
function renamed(messages: ReturnType<typeof session>) {
  return messages.map((message) => ({
    ...message,
    calls: message.calls.map((one) => ({ ...one, id: `r${one.id}` })),
  }));
}
