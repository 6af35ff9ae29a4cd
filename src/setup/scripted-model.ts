import { randomUUID } from 'node:crypto';
import {
  asRecord,
  isRecord,
  type Json,
  parseJson,
  readRecord,
  readRecords,
  readString,
} from '../core/guards.ts';

/** One piece of an answer. `sub-agent` is the client's tool that starts one: `Agent`, in old clients `Task`. */
type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly input: Json }
  | { readonly kind: 'sub-agent'; readonly input: Json };

/** What the model does when it is asked: it answers, or the service refuses. */
export type ModelTurn = { readonly delayMs?: number } & (
  | { readonly kind: 'answer'; readonly blocks: readonly Block[] }
  | { readonly kind: 'error'; readonly status: number; readonly type: string; readonly message: string }
);

/** The turns of each conversation, by the name that stands in the token `[[conv:NAME]]` of its prompt. */
export type Script = Readonly<Record<string, readonly ModelTurn[]>>;

/** What the client sent. `auxiliary`: a model call that belongs to no conversation of the script. */
export type ModelRequest =
  | { readonly kind: 'turn'; readonly conversation: string; readonly turn: number; readonly body: Json }
  | { readonly kind: 'auxiliary'; readonly body: Json }
  | { readonly kind: 'other'; readonly method: string; readonly path: string; readonly status: number };

type ScriptedModelOptions = {
  readonly script: Script;
  /** The answer to a request that belongs to no conversation; without it that is "ok". */
  readonly auxiliary?: (body: Json) => ModelTurn;
  /** The answer where the script has no turn: by all that the request says. Without it that is a text which says so. */
  readonly improvise?: (body: Json) => ModelTurn;
  /** Called when a request has come in completely, before it is answered. */
  readonly onRequest?: (request: ModelRequest) => void;
};

export type ScriptedModel = {
  /** The base URL for the client: loopback, a port of the system's choice. */
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly requests: readonly ModelRequest[];
  /** Ends open connections and frees the port. */
  readonly stop: () => Promise<void>;
};

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const REQUESTS_MAX = 10_000;
const TOKEN = /\[\[conv:([A-Za-z0-9_.-]+)\]\]/g;
const SUB_AGENT_TOOLS = ['Agent', 'Task'];

/** An answering turn of these blocks. */
export function answer(...blocks: readonly Block[]): ModelTurn {
  return { kind: 'answer', blocks };
}

/** Text of the model. */
export function say(text: string): Block {
  return { kind: 'text', text };
}

/** A call of one of the client's tools. */
export function useTool(name: string, input: Json): Block {
  return { kind: 'tool', name, input };
}

/** Starts a sub-agent of this type that plays the conversation of this name. */
export function startSubAgent(type: string, conversation: string, input: Json = {}): Block {
  const prompt = `[[conv:${conversation}]] Do the job and report.`;
  const job = { description: `Job ${conversation}`, prompt, subagent_type: type };
  return { kind: 'sub-agent', input: { ...job, ...input } };
}

/**
 * A stand-in for the Anthropic Messages API that answers by a script, on loopback only. It keeps no state between
 * requests: the conversation and its turn are read from the messages, so retries and parallel agents do no harm.
 */
export function startScriptedModel({
  script,
  auxiliary,
  improvise = () => answer(say('The script has no further turn.')),
  onRequest,
}: ScriptedModelOptions): ScriptedModel {
  const requests: ModelRequest[] = [];
  const record = (request: ModelRequest) => {
    if (requests.length >= REQUESTS_MAX)
      throw new Error(`Cannot record a request: there are ${REQUESTS_MAX} already`);
    requests.push(request);
    onRequest?.(request);
  };
  const turnOf = (request: ModelRequest): ModelTurn => {
    if (request.kind === 'auxiliary' && auxiliary !== undefined) return auxiliary(request.body);
    if (request.kind !== 'turn') return answer(say('ok'));
    const turns = Object.hasOwn(script, request.conversation) ? script[request.conversation] : undefined;
    return turns?.[request.turn] ?? improvise(request.body);
  };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0, // A turn may take long.
    maxRequestBodySize: BODY_BYTES_MAX,
    async fetch(incoming) {
      const text = await incoming.text();
      const { method } = incoming;
      const { pathname: path } = new URL(incoming.url);
      if (method !== 'POST' || path !== '/v1/messages') {
        const isKnown = method === 'HEAD' || path === '/' || path === '/v1/messages/count_tokens';
        record({ kind: 'other', method, path, status: isKnown ? 200 : 404 });
        if (!isKnown) return errorResponse(404, 'not_found_error', `No such path: ${path}`);
        return Response.json({ input_tokens: Math.ceil(text.length / 4) });
      }
      const parsed = parseJson(text);
      const body = asRecord(parsed);
      const request = recognise(body);
      record(request);
      const turn = turnOf(request);
      if (turn.delayMs !== undefined) await Bun.sleep(turn.delayMs);
      if (turn.kind === 'error') return errorResponse(turn.status, turn.type, turn.message);
      return messageResponse(body, turn.blocks);
    },
    error: (error) => errorResponse(500, 'api_error', String(error)),
  });
  return { url: `http://127.0.0.1:${server.port}`, requests, stop: () => server.stop(true) };
}

/**
 * The conversation is named by the last token in a user's text, the turn is the number of answers since. A request
 * that offers no tools comes from no agent: the client asks for a title or a summary, and may quote the prompt.
 */
function recognise(body: Json): ModelRequest {
  const messages = readRecords(body.messages);
  const namedIn = (message: Json) => [...userText(message).matchAll(TOKEN)].at(-1)?.[1];
  const at = messages.findLastIndex((message) => namedIn(message) !== undefined);
  const conversation = at < 0 ? undefined : namedIn(messages[at] ?? {});
  if (conversation === undefined || readRecords(body.tools).length === 0) return { kind: 'auxiliary', body };
  const turn = messages.slice(at).filter(({ role }) => role === 'assistant').length;
  return { kind: 'turn', conversation, turn, body };
}

function userText(message: Json): string {
  if (message.role !== 'user') return '';
  if (typeof message.content === 'string') return message.content;
  return readRecords(message.content)
    .map((block) => (block.type === 'text' ? (readString(block, 'text') ?? '') : ''))
    .join('\n');
}

/** The block as the API words it. Old clients refuse input fields that they do not know, so those are left out. */
function contentOf(block: Block, tools: readonly Json[]): Json {
  if (block.kind === 'text') return { type: 'text', text: block.text };
  const id = `toolu_${randomUUID().replaceAll('-', '')}`;
  if (block.kind === 'tool') return { type: 'tool_use', id, name: block.name, input: block.input };
  const tool = SUB_AGENT_TOOLS.map((name) => tools.find((one) => one.name === name)).find(isRecord) ?? {};
  const known = readRecord(readRecord(tool, 'input_schema'), 'properties');
  const input = Object.fromEntries(Object.entries(block.input).filter(([key]) => Object.hasOwn(known, key)));
  return { type: 'tool_use', id, name: readString(tool, 'name') ?? 'Task', input };
}

function messageResponse(body: Json, blocks: readonly Block[]): Response {
  const tools = readRecords(body.tools);
  const content = blocks.map((block) => contentOf(block, tools));
  const message = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model: readString(body, 'model') ?? 'scripted',
    content,
    stop_reason: content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
  };
  if (body.stream !== true) return Response.json(message);
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
  return new Response(streamOf(message).join(''), { headers });
}

/** The events of a streamed message: its head, then each block opened, filled and closed, then how it ended. */
function streamOf(message: Json & { readonly content: readonly Json[] }): string[] {
  const { content, stop_reason, ...head } = message;
  const events: Json[] = [{ type: 'message_start', message: { ...head, content: [], stop_reason: null } }];
  content.forEach((block, index) => {
    const isText = block.type === 'text';
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    const content_block = isText ? { ...block, text: '' } : { ...block, input: {} };
    events.push({ type: 'content_block_start', index, content_block });
    events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  });
  events.push({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: message.usage });
  events.push({ type: 'message_stop' });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function errorResponse(status: number, type: string, message: string): Response {
  return Response.json({ type: 'error', error: { type, message } }, { status });
}
