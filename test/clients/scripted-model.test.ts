import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { isRecord, type Json, parseJson } from '../../src/core/guards.ts';
import {
  answer,
  type ModelRequest,
  type ScriptedModel,
  say,
  startScriptedModel,
  startSubAgent,
  useTool,
} from '../../src/setup/scripted-model.ts';

const DELAY_MS = 30;
const BASH = { name: 'Bash', input_schema: { properties: { command: {} } } };
const AGENT_FIELDS = { description: {}, prompt: {}, subagent_type: {}, run_in_background: {} };
const seen: ModelRequest[] = [];
let model: ScriptedModel;

beforeAll(async () => {
  const script = {
    main: [
      answer(say('first'), useTool('Bash', { command: 'ls' })),
      answer(startSubAgent('executor', 'job', { run_in_background: false })),
      { kind: 'error', status: 529, type: 'overloaded_error', message: 'too busy' },
    ],
    slow: [{ ...answer(say('late')), delayMs: DELAY_MS }],
  } as const;
  model = await startScriptedModel({ script, onRequest: (request) => seen.push(request) });
});
afterAll(() => model.stop());

const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });
const assistant = { role: 'assistant', content: [{ type: 'text', text: 'said' }] };

async function ask(messages: readonly Json[], change: Json = {}) {
  const body = JSON.stringify({ model: 'm', tools: [BASH], messages, ...change });
  const response = await fetch(`${model.url}/v1/messages?beta=true`, { method: 'POST', body });
  const text = await response.text();
  const parsed = parseJson(text);
  return { status: response.status, text, message: isRecord(parsed) ? parsed : {} };
}

describe('startScriptedModel()', () => {
  test('answers the turn that follows the answers since the last token', async () => {
    const first = await ask([user('[[conv:main]] go')]);
    expect(first.message).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'first' },
        { type: 'tool_use', name: 'Bash', input: { command: 'ls' } },
      ],
    });
    const talk = [user('[[conv:slow]]'), assistant, user('[[conv:main]] go'), assistant, assistant];
    const again = await ask(talk);
    expect(again.status).toBe(529);
    const error = { type: 'overloaded_error', message: 'too busy' };
    expect(again.message).toEqual({ type: 'error', error });
  });

  test('starts a sub-agent with the tool and the input fields that the client has', async () => {
    const turn = [user('[[conv:main]] go'), assistant];
    const input = {
      description: 'Job job',
      prompt: '[[conv:job]] Do the job and report.',
      subagent_type: 'executor',
    };
    const agent = { name: 'Agent', input_schema: { properties: AGENT_FIELDS } };
    const { run_in_background: _, ...oldFields } = AGENT_FIELDS;
    const task = { name: 'Task', input_schema: { properties: oldFields } };
    expect((await ask(turn, { tools: [task, agent] })).message).toMatchObject({
      content: [{ name: 'Agent', input: { ...input, run_in_background: false } }],
    });
    const { message } = await ask(turn, { tools: [BASH, task] });
    expect(message).toMatchObject({ content: [{ name: 'Task' }] });
    expect(Array.isArray(message.content) && message.content[0].input).toEqual(input);
  });

  test('streams the same message as events when asked to', async () => {
    const { text } = await ask([user('[[conv:main]] go')], { stream: true });
    const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => parseJson(line ?? ''));
    expect(data.map((event) => isRecord(event) && event.type)).toEqual([
      'message_start',
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      'message_delta',
      'message_stop',
    ]);
    expect(data[2]).toMatchObject({ delta: { type: 'text_delta', text: 'first' } });
    expect(data[5]).toMatchObject({ delta: { type: 'input_json_delta', partial_json: '{"command":"ls"}' } });
    expect(data[7]).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  test('never gives two tool calls the same id', async () => {
    const texts = await Promise.all([1, 2].map(() => ask([user('[[conv:main]] go')])));
    const ids = texts.map(({ text }) => /toolu_\w+/.exec(text)?.[0]);
    expect(new Set(ids).size).toBe(2);
  });

  test('waits before it answers when the turn says so', async () => {
    const startedMs = performance.now();
    expect((await ask([user('[[conv:slow]]')])).message).toMatchObject({ content: [{ text: 'late' }] });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(DELAY_MS - 1);
  });

  test('takes a call without tools, without a token or without a body for an auxiliary one', async () => {
    const before = model.requests.length;
    await ask([user('[[conv:main]] go')], { tools: [] });
    await ask([user('hello')]);
    await fetch(`${model.url}/v1/messages`, { method: 'POST', body: 'no JSON' });
    expect(model.requests.slice(before).map(({ kind }) => kind)).toEqual(Array(3).fill('auxiliary'));
    expect(seen).toEqual([...model.requests]);
  });

  const others = [
    ['POST', '/v1/messages/count_tokens', 200],
    ['GET', '/', 200],
    ['HEAD', '/anything', 200],
    ['GET', '/v1/models', 404],
  ] as const;
  for (const [method, path, status] of others) {
    test(`answers ${method} ${path} with ${status}`, async () => {
      expect((await fetch(model.url + path, { method })).status).toBe(status);
      expect(model.requests.at(-1)).toEqual({ kind: 'other', method, path, status });
    });
  }

  test('answers a conversation that has run out of turns', async () => {
    const { message } = await ask([user('[[conv:unknown]]')]);
    expect(message).toMatchObject({ stop_reason: 'end_turn' });
  });
});
