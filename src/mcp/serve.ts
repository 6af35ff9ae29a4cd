import { Transform } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { isRecord, parseJson } from '../core/guards.ts';
import { LongJson } from '../core/long-json.ts';
import type { Environment } from '../core/state-paths.ts';
import { reconcileRegularly } from '../runs/reconcile.ts';
import { runsWorld, thisProcess } from '../runs/world.ts';
import { becomeLongLived } from '../system/process-identity.ts';
import { complain, newServer } from './server.ts';

/** The MCP server on standard input and output; `hasRuns`: with background runs, not with known errors alone. Resolves when the input has ended and what was begun is done; never ends the process. */
export async function serveMcp(hasRuns: boolean): Promise<void> {
  const here = thisProcess();
  const world = runsWorld({ ...here, env: withoutEmpty(here.env) });
  if (world === undefined) {
    complain('serve MCP', 'HOME is not set to an absolute path; set it and run again');
    process.exitCode = 1;
    return;
  }
  becomeLongLived();
  const gone = new AbortController();
  const calls = new Set<Promise<unknown>>();
  const server = newServer(world, { gone: gone.signal, calls, hasRuns });
  const lines = boundedLines((line) => process.stdout.write(line));
  const ended = connectionEnded(lines);
  await server.connect(new StdioServerTransport(process.stdin.pipe(lines), process.stdout));
  const stopReconciling = hasRuns ? reconcileRegularly(world) : undefined;
  await ended;
  stopReconciling?.();
  gone.abort();
  await Promise.allSettled(calls);
  await new Promise(setImmediate); // Lets the last answers be written.
  await server.close();
}

/** Without the variables that a client left empty or as an unexpanded `${NAME:-}`. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== '' && !/^\$\{\w+:-\}$/.test(value ?? '')),
  );
}

/** The client has closed its end, or is dead: for both, its end of the pipes is closed. */
function connectionEnded(lines: Transform): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['close', 'error']) process.stdin.once(event, () => lines.end());
    lines.once('end', resolve);
    process.stdout.on('error', () => resolve());
  });
}

/** Far above the longest task as JSON, and below what the protocol's own reader takes before it gives up for good. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;

const LINE_FEED = 0x0a;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** Passes on valid messages; answers others with an error, on which the SDK's reader would fall silent. Memory is bounded. */
function boundedLines(answer: (line: string) => void): Transform {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let long: LongJson | undefined;
  const take = (piece: Uint8Array) => {
    length += piece.length;
    if (long === undefined && length > LINE_BYTES_MAX) {
      long = new LongJson();
      for (const earlier of pieces.splice(0)) long.push(earlier);
    }
    if (long === undefined) pieces.push(piece);
    else long.push(piece);
  };
  const end = (lines: Transform) => {
    const line = Buffer.concat(pieces);
    const problem = long === undefined ? problemOf(line) : tooLong(length, long);
    pieces = [];
    length = 0;
    long = undefined;
    if (problem === undefined) lines.push(Buffer.concat([line, Buffer.from([LINE_FEED])]));
    else answer(`${JSON.stringify(problem)}\n`);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
        take(chunk.subarray(start, at));
        end(this);
        start = at + 1;
      }
      if (start < chunk.length) take(chunk.subarray(start));
      done();
    },
    flush(done) {
      if (length > 0) end(this);
      done();
    },
  });
}

function problemOf(line: Buffer): object | undefined {
  const text = line.toString();
  if (text.trim() === '') return undefined; // An empty line.
  const value = parseJson(text);
  if (value === undefined) return refusal(PARSE_ERROR, 'the line is not JSON', null);
  if (JSONRPCMessageSchema.safeParse(value).success) return undefined;
  return refusal(INVALID_REQUEST, 'the line is no message of JSON-RPC', idOf(value));
}

function tooLong(bytes: number, long: LongJson): object {
  const id = idOf(parseJson(new TextDecoder().decode(long.take()))); // Wherever it stands in the line.
  return refusal(INVALID_REQUEST, `the line is too long: ${bytes} bytes, the most is ${LINE_BYTES_MAX}`, id);
}

function idOf(message: unknown): string | number | null {
  const id = isRecord(message) ? message.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function refusal(code: number, message: string, id: string | number | null): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
