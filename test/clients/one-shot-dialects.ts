import { randomUUID } from 'node:crypto';
import { type Json, unreachable } from '../../src/core/guards.ts';

/** The dialects that the four clients speak to their models. */
export type ModelApi = 'anthropic' | 'responses' | 'gemini' | 'chat';

/**
 * A call of a tool, whether the client offered it or not. Some tools of the Responses API take a text, and those of a
 * server have its namespace beside their name.
 */
export type ToolCall = { readonly name: string; readonly input: Json | string; readonly namespace?: string };

/** What is said of every answer. */
const USAGE = { input: 100, output: 20 };

export type Content = {
  readonly texts: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly inputTokens?: number;
};

/** The events of a streamed answer, as they go over the wire. */
export function eventsOf(api: ModelApi, content: Content): string[] {
  switch (api) {
    case 'anthropic':
      return anthropicEvents(content).map(named);
    case 'responses':
      return responsesEvents(content).map(named);
    case 'gemini':
      return geminiEvents(content).map((event) => `data: ${escapeSeparators(JSON.stringify(event))}\r\n\r\n`);
    case 'chat':
      return [...chatEvents(content).map((event) => JSON.stringify(event)), '[DONE]'].map(
        (data) => `data: ${data}\n\n`,
      );
    default:
      return unreachable(api);
  }
}

/** The client's expression for an event stops at these two, so its service has to escape them. */
function escapeSeparators(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function named(event: Json): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function anthropicEvents({ texts, calls }: Content): Json[] {
  const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const usage = { input_tokens: USAGE.input, output_tokens: 1, ...cache };
  const id = `msg_${randomUUID()}`;
  const head = { id, type: 'message', role: 'assistant', model: 'scripted', content: [] };
  const block = (index: number, content_block: Json, deltas: readonly Json[]): Json[] => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const text = texts.map((piece) => ({ type: 'text_delta', text: piece }));
  const first = texts.length > 0 ? [block(0, { type: 'text', text: '' }, text)] : [];
  const others = calls.map(({ name, input }, index) => {
    const use = { type: 'tool_use', id: `toolu_${randomUUID()}`, name, input: {} };
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(input) };
    return block(first.length + index, use, [delta]);
  });
  const delta = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null };
  return [
    { type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } },
    ...[...first, ...others].flat(),
    { type: 'message_delta', delta, usage: { ...usage, output_tokens: USAGE.output } },
    { type: 'message_stop' },
  ];
}

const DELTA = 'response.output_text.delta';

function responsesEvents({ texts, calls }: Content): Json[] {
  const text = texts.join('');
  const content = [{ type: 'output_text', text, annotations: [] }];
  const item_id = 'msg_scripted';
  const message = { type: 'message', id: item_id, role: 'assistant', status: 'completed', content };
  const items: Json[] = [
    ...(texts.length > 0 ? [message] : []),
    ...calls.map(({ name, input, namespace }, index) => ({
      ...(typeof input === 'string'
        ? { type: 'custom_tool_call', input }
        : { type: 'function_call', arguments: JSON.stringify(input) }),
      ...{ id: `fc_scripted_${index}`, call_id: `call_scripted_${index}`, name },
      ...(namespace === undefined ? {} : { namespace }),
      status: 'completed',
    })),
  ];
  const usage = {
    ...{ input_tokens: USAGE.input, input_tokens_details: { cached_tokens: 0 } },
    ...{ output_tokens: USAGE.output, output_tokens_details: { reasoning_tokens: 0 } },
    total_tokens: USAGE.input + USAGE.output,
  };
  const response = { id: 'resp_scripted', object: 'response', output: [] };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
      ...(item.type === 'message'
        ? texts.map((delta) => ({ type: DELTA, item_id, output_index, content_index: 0, delta }))
        : []),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output: items, usage } },
  ];
}

function geminiEvents({ texts, calls }: Content): Json[] {
  const parts: Json[] = [
    ...texts.map((text) => ({ text })),
    ...calls.map(({ name, input }) => ({ functionCall: { name, args: input } })),
  ];
  return [...parts.map((part) => geminiChunk([part])), geminiChunk([], 'STOP')];
}

/** A piece of Gemini's answer, or all of it. */
export function geminiChunk(parts: readonly Json[], finishReason?: string): Json {
  const { input, output } = USAGE;
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
  const candidate = { index: 0, content: { role: 'model', parts } };
  const piece = { candidates: [candidate], modelVersion: 'scripted' };
  if (finishReason === undefined) return piece;
  return { ...piece, candidates: [{ ...candidate, finishReason }], usageMetadata };
}

function chatEvents({ texts, calls, inputTokens }: Content): Json[] {
  const head = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 1, model: 'scripted' };
  const chunk = (delta: Json, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const tool_calls = calls.map(({ name, input }, index) => {
    const called = { name, arguments: JSON.stringify(input) };
    return { index, id: `call_scripted_${index}`, type: 'function', function: called };
  });
  const { input, output } = { ...USAGE, ...(inputTokens !== undefined && { input: inputTokens }) };
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...texts.map((content) => chunk({ content })),
    ...(calls.length > 0 ? [chunk({ tool_calls })] : []),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    { ...head, choices: [], usage },
  ];
}

/** The body with which a service refuses. */
export function refusalOf(api: ModelApi, status: number, message: string): Json {
  switch (api) {
    case 'anthropic':
      return { type: 'error', error: { type: 'invalid_request_error', message } };
    case 'gemini':
      return { error: { code: status, message, status: 'INVALID_ARGUMENT' } };
    case 'responses':
    case 'chat':
      return { error: { message, type: 'invalid_request_error', code: null, param: null } };
    default:
      return unreachable(api);
  }
}
