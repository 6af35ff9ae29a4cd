import { collectGarbage, stdinChunks } from '#runtime';
import { parseJson, parseJsonPrefix } from '../core/guards.ts';

/** What came in on standard input. */
export type HookInput =
  | { readonly kind: 'json'; readonly value: unknown }
  /** Over the limit: what could be read from its beginning. */
  | { readonly kind: 'cut'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly bytes: number }
  | { readonly kind: 'empty' };

export type InputLimits = { readonly bytesMax: number; readonly timeoutMs: number };

/** Of a hook: the client writes it at once. */
export const HOOK_INPUT: InputLimits = { bytesMax: 1024 * 1024, timeoutMs: 500 };

const CLOSING_BRACE = 0x7d;
const BLANK_MAX = 0x20;
/** Chunks that were thrown away and may still stand in memory. */
const DISCARDED_KEPT_MAX = 32;

/**
 * Reads one JSON document. It is taken as soon as it is complete: the writer may keep the pipe open. Beyond
 * `bytesMax` the rest is read and thrown away, so that the writer does not meet a closed pipe.
 */
export function readHookInput({ bytesMax, timeoutMs }: InputLimits): Promise<HookInput> {
  const received: Received = { chunks: [], bytes: 0 };
  return new Promise((resolve) => {
    const end = (input: HookInput) => {
      clearTimeout(timer);
      resolve(input);
    };
    // What has come in while this process was busy is taken first.
    const timer = setTimeout(() => setImmediate(() => end(interpret(received, bytesMax))), timeoutMs);
    receive(received, bytesMax).then(
      (value) => end(value === undefined ? interpret(received, bytesMax) : { kind: 'json', value }),
      () => end(interpret(received, bytesMax)), // A broken input is one that has ended.
    );
  });
}

type Received = { readonly chunks: Uint8Array[]; bytes: number };

/** Resolves with the document as soon as it is complete, with undefined when the input ends before. */
async function receive(received: Received, bytesMax: number): Promise<unknown> {
  // Not `for await`: leaving that loop early would close the stream, which costs more than reading it did.
  let discarded = 0;
  const chunks = stdinChunks()[Symbol.asyncIterator]();
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    const chunk = next.value;
    if (received.bytes <= bytesMax) received.chunks.push(chunk);
    received.bytes += chunk.length;
    if (received.bytes > bytesMax && ++discarded % DISCARDED_KEPT_MAX === 0) collectGarbage();
    if (received.bytes > bytesMax || !endsWithBrace(chunk)) continue;
    const value = parseJson(decode(received.chunks));
    if (value !== undefined) return value;
  }
  return undefined;
}

function interpret({ chunks, bytes }: Received, bytesMax: number): HookInput {
  if (bytes === 0) return { kind: 'empty' };
  const text = decode(chunks).slice(0, bytesMax);
  const isCut = bytes > bytesMax;
  const value = isCut ? parseJsonPrefix(text) : parseJson(text);
  return value === undefined ? { kind: 'unreadable', bytes } : { kind: isCut ? 'cut' : 'json', value };
}

function endsWithBrace(chunk: Uint8Array): boolean {
  let index = chunk.length - 1;
  while (index >= 0 && (chunk[index] ?? 0) <= BLANK_MAX) index--;
  return chunk[index] === CLOSING_BRACE;
}

function decode(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  const only = chunks.length === 1 ? chunks[0] : undefined;
  if (only !== undefined) return decoder.decode(only);
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
}
