import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { claudeSessions } from '../../src/clients/claude/session.ts';
import { type SessionEntry, turnsOf } from '../../src/core/conversation.ts';
import { messagesOf } from '../../src/prune/messages.ts';

const NO_PICTURES = { pictures: [] };
const prompt = (text: string, ts?: string): SessionEntry => ({ kind: 'prompt', text, ts, ...NO_PICTURES });
const answer = (text: string): SessionEntry => ({ kind: 'answer', text });
const call = (id: string, input = '{"a":1}'): SessionEntry => ({ kind: 'call', id, tool: 'Bash', input });
const result = (id: string, text = 'out', more = {}): SessionEntry => ({
  ...{ kind: 'result', id, text, isError: false, ...NO_PICTURES },
  ...more,
});
const shapes = (...entries: SessionEntry[]) =>
  messagesOf([entries]).map(
    ({ by, calls }) => `${by} ${calls.map(({ id, state }) => `${id}:${state}`).join()}`,
  );

describe('messagesOf()', () => {
  test('has an answer for what stands between results', () => {
    const entries = [
      prompt('do'),
      answer('I'),
      call('1'),
      call('2'),
      result('2'),
      result('1'),
      answer('then'),
      call('3'),
    ];
    expect(shapes(...entries)).toEqual(['user ', 'model 1:done,2:done', 'model 3:running']);
  });

  test('has an answer for each that its client tells apart, wherever the results stand', () => {
    const of = (name: string, entry: SessionEntry) => ({ ...entry, answer: name });
    const parallel = [of('m1', call('1')), result('1'), of('m1', call('2')), result('2')];
    const next = [of('m2', answer('so')), of('m3', call('3')), result('3'), call('4')];
    expect(shapes(...parallel, ...next)).toEqual([
      ...['model 1:done,2:done', 'model ', 'model 3:done', 'model 4:running'],
    ]);
  });

  test('has an answer for each prompt’s, though nothing was called', () => {
    const entries = [prompt('one'), answer('a'), answer('b'), prompt('two'), answer('c')];
    expect(shapes(...entries)).toEqual(['user ', 'model ', 'user ', 'model ']);
  });

  test('counts what is said, and what the client has put in with what it follows', () => {
    const system: SessionEntry = { kind: 'system', text: '12345' };
    const [first, second] = messagesOf([[system, prompt('123'), system, answer('1234'), system]]).slice(1);
    expect([first?.chars, second?.chars]).toEqual([8, 9]);
  });

  test('knows when a message was begun', () => {
    const [first, second] = messagesOf([[prompt('a', '2026-01-23T10:30:45.123Z'), prompt('b', 'sometime')]]);
    expect(first?.atMs).toBe(Date.UTC(2026, 0, 23, 10, 30, 45, 123));
    expect(second && 'atMs' in second).toBe(false);
  });

  test('marks a compaction, behind which no result belongs to a call before it', () => {
    const compaction: SessionEntry = { kind: 'compaction', summary: 'so far' };
    const messages = messagesOf([[prompt('a'), call('1'), compaction, result('1'), call('2')]]);
    expect(messages.map(({ isCompaction }) => isCompaction ?? false)).toEqual([false, false, true, false]);
    expect(messages[2]).toMatchObject({ by: 'user', chars: 6 });
    expect(messages[1]?.calls[0]?.state).toBe('running');
  });

  test('says what failed, without commands that ran to an end of their own', () => {
    const failed = { isError: true };
    const ended = { isError: true, end: { code: 1, printed: '' } };
    expect(shapes(call('1'), call('2'), result('1', 'no', failed), result('2', 'no', ended))).toEqual([
      'model 1:failed,2:done',
    ]);
  });

  test('takes an input that is no object as one text', () => {
    const [message] = messagesOf([[call('1', '*** Begin Patch'), call('2', '["x"]'), call('3', '{"a":{}}')]]);
    expect(message?.calls.map(({ input }) => input)).toEqual([
      { input: '*** Begin Patch' },
      { input: '["x"]' },
      { a: {} },
    ]);
  });

  test('sees what the client shows no more, and takes a result of nothing for nothing', () => {
    const [message] = messagesOf([
      [call('1'), result('1', '[Old tool result content cleared]'), result('9')],
    ]);
    expect(message?.calls).toEqual([
      expect.objectContaining({ isCleared: true, output: '[Old tool result content cleared]' }),
    ]);
  });

  test('reads what a client has recorded', () => {
    const directory = join(import.meta.dir, '../fixtures/sessions/claude');
    const files = [...new Bun.Glob('**/*.jsonl').scanSync({ cwd: directory, absolute: true })];
    const messages = files.flatMap((path) =>
      messagesOf(turnsOf(claudeSessions.read({ id: '', path, modifiedMs: 0 }, {}))),
    );
    expect(
      messages.flatMap(({ calls }) => calls).filter(({ state }) => state === 'done').length,
    ).toBeGreaterThan(2);
  });
});
