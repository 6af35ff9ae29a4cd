import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  isRecord,
  type Json,
  parseJson,
  readRecords,
  readString,
  unreachable,
} from '../../src/core/guards.ts';
import {
  type Content,
  eventsOf,
  geminiChunk,
  type ModelApi,
  refusalOf,
  type ToolCall,
} from './one-shot-dialects.ts';

/** What the model does with a request. `hang` accepts it and never answers; `empty` answers without any text. */
export type ModelAnswer =
  | { readonly kind: 'text'; readonly text: string }
  /** `inputTokens`: of how many it says that it has read them, in a dialect of `chat`. */
  | {
      readonly kind: 'calls';
      readonly calls: readonly ToolCall[];
      readonly text?: string;
      readonly inputTokens?: number;
    }
  | { readonly kind: 'refuse'; readonly status: number; readonly message: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'hang' };

/** What a client sent. `other` is no question to a model: a probe, a list of models. */
export type ModelRequest = {
  readonly api: ModelApi | 'other';
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
};

export type OneShotModel = {
  /** The base URL, loopback, a port of the system's choice. */
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly requests: readonly ModelRequest[];
  readonly stop: () => Promise<void>;
};

/** Chooses the answer to a request; `index` counts the questions to the model, from 0. */
export type Script = (request: ModelRequest, index: number) => ModelAnswer;

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const REQUESTS_MAX = 1000;
const PIECES = 3;
/** The account that subscribers' logins belong to. */
export const ACCOUNT = 'account-of-the-test';

/** A stand-in for the models of all four clients, streaming, on loopback only; it records what it was asked. */
export async function startOneShotModel(script: Script): Promise<OneShotModel> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    serve(incoming, response, { script, requests }).catch((error: unknown) => {
      if (!response.headersSent) sendJson(response, 500, { error: { message: String(error) } });
      response.destroy();
    });
  });
  // The Responses API is asked for by WebSocket first; the refusal sends the client to HTTP at once.
  server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n'));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error(`Cannot start the model: no port, address is ${JSON.stringify(address)}`);
  }
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${address.port}`, requests, stop };
}

type Serving = { readonly script: Script; readonly requests: ModelRequest[] };

async function serve(incoming: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const bytes = await readBody(incoming);
  const isPacked = incoming.headers['content-encoding'] === 'zstd';
  const body = parseJson((isPacked ? Buffer.from(Bun.zstdDecompressSync(bytes)) : bytes).toString('utf8'));
  const path = new URL(incoming.url ?? '/', 'http://127.0.0.1').pathname;
  const method = incoming.method ?? 'GET';
  const api = method === 'POST' ? apiOf(path) : 'other';
  const { headers } = incoming;
  const request: ModelRequest = { api, method, path, headers, body: isRecord(body) ? body : {} };
  const index = serving.requests.filter((earlier) => earlier.api !== 'other').length;
  if (serving.requests.length >= REQUESTS_MAX)
    throw new Error(`Cannot record more than ${REQUESTS_MAX} requests`);
  serving.requests.push(request);
  if (api === 'other') {
    sendOther(response, path);
    return;
  }
  const answer = serving.script(request, index);
  const isWhole = path.endsWith(':generateContent');
  switch (answer.kind) {
    case 'hang':
      return;
    case 'refuse':
      sendJson(response, answer.status, refusalOf(api, answer.status, answer.message));
      return;
    case 'text':
      if (isWhole) sendJson(response, 200, geminiChunk([{ text: answer.text }], 'STOP'));
      else stream(response, api, { texts: pieces(answer.text), calls: [] });
      return;
    case 'calls':
      stream(response, api, { ...answer, texts: answer.text === undefined ? [] : [answer.text] });
      return;
    case 'empty':
      stream(response, api, { texts: [], calls: [] });
      return;
    default:
      unreachable(answer);
  }
}

/** What is asked around the question: which models there are, whether the account may use them. */
function sendOther(response: ServerResponse, path: string): void {
  const account = {
    ...{ id: ACCOUNT, plan_type: 'plus', structure: 'personal' },
    ...{ workspace_backend_origin: 'https://chatgpt.com', account_routing_override: 'NO_CONSTRAINT' },
  };
  if (path.endsWith('/models')) sendJson(response, 200, { data: [], models: [] });
  else if (path.endsWith('/accounts/check'))
    sendJson(response, 200, { accounts: [account], account_ordering: [ACCOUNT] });
  else sendJson(response, path.endsWith('.json') ? 404 : 200, {});
}

function apiOf(path: string): ModelRequest['api'] {
  if (path.endsWith('/v1/messages')) return 'anthropic';
  if (path.endsWith('/responses')) return 'responses';
  if (/:(?:streamG|g)enerateContent$/.test(path)) return 'gemini';
  if (path.endsWith('/chat/completions')) return 'chat';
  return 'other';
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > BODY_BYTES_MAX) throw new Error(`Cannot read the request: more than ${BODY_BYTES_MAX} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** The text as it is streamed: cut at code points, each piece an event. */
function pieces(text: string): string[] {
  const points = [...text];
  const length = Math.ceil(points.length / PIECES) || 1;
  return Array.from({ length: PIECES }, (_, index) =>
    points.slice(index * length, (index + 1) * length).join(''),
  ).filter((piece) => piece !== '');
}

function stream(response: ServerResponse, api: ModelApi, content: Content): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of eventsOf(api, content)) response.write(event);
  response.end();
}

function sendJson(response: ServerResponse, status: number, value: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** The names of the tools that a request offers to the model; each API words them in its own way. */
export function toolNames({ api, body }: ModelRequest): string[] {
  const tools = readRecords(body.tools);
  switch (api) {
    case 'gemini':
      return tools.flatMap((tool) => [
        ...readRecords(tool.functionDeclarations).map(nameOf),
        ...Object.keys(tool).filter((key) => key !== 'functionDeclarations'),
      ]);
    case 'responses': {
      // Newer models are told of their tools in an item of the input.
      const items = readRecords(body.input).filter(({ type }) => type === 'additional_tools');
      const added = items.flatMap((item) => readRecords(item.tools));
      return [...tools, ...added].flatMap((tool) =>
        tool.type === 'namespace' ? readRecords(tool.tools).map(nameOf) : [nameOf(tool)],
      );
    }
    case 'chat':
      return tools.map((tool) => (isRecord(tool.function) ? nameOf(tool.function) : nameOf(tool)));
    case 'anthropic':
      return tools.map(nameOf);
    case 'other':
      return [];
    default:
      return unreachable(api);
  }
}

function nameOf(tool: Json): string {
  return readString(tool, 'name') ?? readString(tool, 'type') ?? JSON.stringify(tool);
}
