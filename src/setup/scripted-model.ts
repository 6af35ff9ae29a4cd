import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isRecord, type Json, parseJson, readRecord, readString, unreachable } from '../core/guards.ts';

/** One piece of an answer. `sub-agent` is the client's tool that starts one: `Agent`, in old clients `Task`. */
export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly input: Json }
  | { readonly kind: 'sub-agent'; readonly input: Json };

/** What the model does when it is asked: it answers, or the service refuses. */
export type Turn =
  | { readonly kind: 'answer'; readonly blocks: readonly Block[]; readonly delayMs?: number }
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly type: string;
      readonly message: string;
      readonly delayMs?: number;
    };

/** The turns of each conversation, by the name that stands in the token `[[conv:NAME]]` of its prompt. */
export type Script = Readonly<Record<string, readonly Turn[]>>;

/** What the client sent. `auxiliary`: a model call that belongs to no conversation of the script. */
export type ModelRequest =
  | { readonly kind: 'turn'; readonly conversation: string; readonly turn: number; readonly body: Json }
  | { readonly kind: 'auxiliary'; readonly body: Json }
  | { readonly kind: 'other'; readonly method: string; readonly path: string; readonly status: number };

export type ScriptedModelOptions = {
  readonly script: Script;
  /** The answer to a request that belongs to no conversation; without it that is "ok". */
  readonly auxiliary?: (body: Json) => Turn;
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
export function answer(...blocks: readonly Block[]): Turn {
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
  return {
    kind: 'sub-agent',
    input: { description: `Job ${conversation}`, prompt, subagent_type: type, ...input },
  };
}

/**
 * A stand-in for the Anthropic Messages API that answers by a script, on loopback only. It keeps no state between
 * requests: the conversation and its turn are read from the messages, so retries and parallel agents do no harm.
 */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    serve(incoming, response, { ...options, requests }).catch((error: unknown) => {
      if (!response.headersSent) sendError(response, 500, 'api_error', String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error(`Cannot start the scripted model: no port, address is ${JSON.stringify(address)}`);
  }
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${address.port}`, requests, stop };
}

type Serving = ScriptedModelOptions & { readonly requests: ModelRequest[] };

async function serve(incoming: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const text = await readBody(incoming);
  const method = incoming.method ?? 'GET';
  const path = new URL(incoming.url ?? '/', 'http://127.0.0.1').pathname;
  const record = (request: ModelRequest) => {
    if (serving.requests.length >= REQUESTS_MAX) {
      throw new Error(`Cannot record a request: there are ${REQUESTS_MAX} already`);
    }
    serving.requests.push(request);
    serving.onRequest?.(request);
  };
  if (method !== 'POST' || path !== '/v1/messages') {
    const status = otherStatus(method, path);
    record({ kind: 'other', method, path, status });
    if (status === 404) sendError(response, 404, 'not_found_error', `No such path: ${path}`);
    else sendJson(response, 200, { input_tokens: Math.ceil(text.length / 4) });
    return;
  }
  const parsed = parseJson(text);
  const body = isRecord(parsed) ? parsed : {};
  const request = recognise(body);
  record(request);
  const turn = turnOf(serving, request);
  if (turn.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, turn.delayMs));
  switch (turn.kind) {
    case 'error':
      sendError(response, turn.status, turn.type, turn.message);
      break;
    case 'answer':
      sendMessage(response, body, turn.blocks);
      break;
    default:
      unreachable(turn);
  }
}

function otherStatus(method: string, path: string): number {
  const isKnown = method === 'HEAD' || path === '/' || path === '/v1/messages/count_tokens';
  return isKnown ? 200 : 404;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > BODY_BYTES_MAX) throw new Error(`Cannot read the request: more than ${BODY_BYTES_MAX} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * The conversation is named by the last token in a user's text, the turn is the number of answers since. A request
 * that offers no tools comes from no agent: the client asks for a title or a summary, and may quote the prompt.
 */
function recognise(body: Json): ModelRequest {
  const messages = records(body.messages);
  let conversation: string | undefined;
  let turn = 0;
  if (records(body.tools).length > 0) {
    for (const message of messages) {
      if (message.role === 'assistant') turn++;
      for (const [, name] of userText(message).matchAll(TOKEN)) {
        conversation = name;
        turn = 0;
      }
    }
  }
  return conversation === undefined
    ? { kind: 'auxiliary', body }
    : { kind: 'turn', conversation, turn, body };
}

function userText(message: Json): string {
  if (message.role !== 'user') return '';
  if (typeof message.content === 'string') return message.content;
  return records(message.content)
    .map((block) => (block.type === 'text' ? (readString(block, 'text') ?? '') : ''))
    .join('\n');
}

function records(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function turnOf({ script, auxiliary }: ScriptedModelOptions, request: ModelRequest): Turn {
  if (request.kind === 'auxiliary' && auxiliary !== undefined) return auxiliary(request.body);
  if (request.kind !== 'turn') return answer(say('ok'));
  const turns = Object.hasOwn(script, request.conversation) ? script[request.conversation] : undefined;
  return turns?.[request.turn] ?? answer(say('The script has no further turn.'));
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

function sendMessage(response: ServerResponse, body: Json, blocks: readonly Block[]): void {
  const tools = records(body.tools);
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
  if (body.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.end(streamOf(message).join(''));
  } else {
    sendJson(response, 200, message);
  }
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

function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  sendJson(response, status, { type: 'error', error: { type, message } });
}

function sendJson(response: ServerResponse, status: number, value: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
