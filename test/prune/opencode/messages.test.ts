import { describe, expect, test } from 'bun:test';
import { type Json, readRecord } from '../../../src/core/guards.ts';
import type { Decision } from '../../../src/prune/decision.ts';
import { applyTo, messagesFrom } from '../../../src/prune/opencode/messages.ts';
import { answer, call, failedCall, NOW_MS, prompt } from './host.ts';

const S = 'ses_1';

function decided(callId: string, part: Decision['part'] = 'output'): Decision {
  const placeholder = `[${part === 'output' ? 'Output' : 'Input'} removed to save context: a test]`;
  return { callId, rule: 'sweep', part, placeholder, savedChars: 1, anchor: null };
}

describe('messagesFrom()', () => {
  test('makes one message of each, with what it says and its calls', () => {
    const messages = [
      prompt(S, 'Look at it'),
      answer(S, [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'well' },
        call('c1', 'read', { filePath: 'a' }, 'text of a'),
        failedCall('c2', 'bash', { command: 'x' }, 'x is not there'),
      ]),
    ];
    expect(messagesFrom(messages)).toMatchObject([
      { by: 'user', chars: 10, atMs: NOW_MS, calls: [] },
      {
        by: 'model',
        chars: 6,
        calls: [
          {
            id: 'prt_c1',
            tool: 'read',
            input: { filePath: 'a' },
            state: 'done',
            output: 'text of a',
            isCleared: false,
          },
          { id: 'prt_c2', tool: 'bash', input: { command: 'x' }, state: 'failed', output: 'x is not there' },
        ],
      },
    ]);
  });

  const stateOf = (change: object) => {
    const part = call('c', 'bash', {}, 'out');
    const [message] = messagesFrom([answer(S, [{ ...part, ...change }])]);
    return message?.calls[0];
  };

  test('a call runs as long as it has no result', () => {
    for (const status of ['pending', 'running', 'of a later version'])
      expect(stateOf({ state: { status, input: {} } })).toMatchObject({ state: 'running', output: '' });
  });

  test('a call of which the model is shown something else than its text counts as one that runs', () => {
    const metadata = { interrupted: true, output: 'half' };
    expect(stateOf({ state: { status: 'error', input: {}, error: 'aborted', metadata } })?.state).toBe(
      'running',
    );
    expect(stateOf({ metadata: { providerExecuted: true } })?.state).toBe('running');
  });

  test('a call whose output OpenCode has cleared says so', () => {
    const state = { status: 'completed', input: {}, output: 'out', time: { compacted: 5 } };
    expect(stateOf({ state })?.isCleared).toBe(true);
  });

  test('a call goes by its part, since some providers begin anew with their ids in each answer', () => {
    const [first, second] = ['1', '2'].map((id) => ({ ...call('c', 'read', {}, id), id: `prt_${id}` }));
    if (first === undefined || second === undefined) throw new Error('no calls');
    const ids = (parts: Json[]) =>
      messagesFrom([answer(S, parts)]).map(({ calls }) => calls.map(({ id }) => id));
    expect(ids([first, second])).toEqual([['prt_1', 'prt_2']]);
    expect(ids([second])).toEqual([['prt_2']]);
  });

  test('nothing is sent of an answer that failed, but of one that the user ended', () => {
    const failed = (name: string) => answer(S, [call('c', 'read', {}, 'out')], { error: { name } });
    expect(messagesFrom([failed('APIError')])[0]?.calls).toEqual([]);
    expect(messagesFrom([failed('MessageAbortedError')])[0]?.calls).toHaveLength(1);
  });

  test('the message in which a session was summarised is known', () => {
    expect(messagesFrom([answer(S, [], { summary: true })])[0]?.isCompaction).toBe(true);
  });
});

describe('applyTo()', () => {
  test('replaces results and errors in copies, and leaves all else as it is', () => {
    const messages = [
      prompt(S, 'Look'),
      answer(S, [
        call('c1', 'read', { filePath: 'a' }, 'text'),
        call('c2', 'read', { filePath: 'b' }, 'text'),
      ]),
      answer(S, [failedCall('c3', 'bash', { command: 'x' }, 'failed')]),
      answer(S, [{ type: 'text', text: 'done' }]),
    ];
    const before = structuredClone(messages);
    const held = [...messages];
    applyTo(messages, [decided('prt_c1'), decided('prt_c3')]);
    expect(held).toEqual(before);
    expect([messages[0], messages[3]]).toEqual([held[0], held[3]] as never);
    expect(messages[0]).toBe(held[0] as never);
    const states = messages.flatMap(({ parts }) =>
      parts.flatMap(({ state }) => (state === undefined ? [] : [state])),
    );
    expect(states).toMatchObject([
      { status: 'completed', input: { filePath: 'a' }, output: decided('c1').placeholder, time: { end: 2 } },
      { output: 'text' },
      { status: 'error', error: decided('c3').placeholder },
    ]);
  });

  test('leaves the long values of an input out, and says so behind the output', () => {
    const messages = [
      answer(S, [call('c', 'write', { filePath: 'a', content: 'x'.repeat(500) }, 'Wrote it.')]),
    ];
    applyTo(messages, [decided('prt_c', 'input')]);
    expect(messages[0]?.parts[0]?.state).toMatchObject({
      input: { filePath: 'a' },
      output: `Wrote it.\n${decided('c', 'input').placeholder}`,
    });
    expect(JSON.stringify(messages)).not.toContain('xxx');
  });

  test('touches nothing of an answer that failed, which is not sent', () => {
    const messages = [
      answer(S, [call('c', 'read', {}, 'of a failed answer')], { error: { name: 'APIError' } }),
      answer(S, [call('c2', 'read', {}, 'second')]),
    ];
    applyTo(messages, [decided('prt_c'), decided('prt_c2')]);
    const outputs = messages.map(({ parts }) => readRecord(parts[0] ?? {}, 'state').output);
    expect(outputs).toEqual(['of a failed answer', decided('').placeholder]);
  });
});
