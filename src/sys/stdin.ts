import { stdinChunks } from '#runtime';
import { parseJson } from '../core/guards.ts';
import { parseJsonPrefix } from '../core/json-prefix.ts';

/** What came in on standard input. */
export type HookInput =
  | { readonly kind: 'json'; readonly value: unknown }
  /** Over the limit: what could be read from its beginning. */
  | { readonly kind: 'cut'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly bytes: number }
  | { readonly kind: 'empty' };

export type InputLimits = { readonly bytesMax: number; readonly timeoutMs: number };

const CLOSING_BRACE = 0x7d;
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Reads one JSON document. It is taken as soon as it is complete: the writer may keep the pipe open. Beyond
 * `bytesMax` the rest is read and thrown away, so that the writer does not meet a closed pipe.
 */
export async function readHookInput({ bytesMax, timeoutMs }: InputLimits): Promise<HookInput> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), timeoutMs);
  });
  const iterator = stdinChunks()[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await Promise.race([iterator.next(), timeout]);
      if (next === 'timeout' || next.done) break;
      if (bytes <= bytesMax) chunks.push(next.value);
      bytes += next.value.length;
      if (bytes <= bytesMax && endsWithBrace(next.value)) {
        const value = parseJson(decode(chunks));
        if (value !== undefined) return { kind: 'json', value };
      }
    }
  } catch {
    // A broken or closed input is one that has ended.
  } finally {
    clearTimeout(timer);
  }
  return interpret(chunks, bytes, bytesMax);
}

function interpret(chunks: readonly Uint8Array[], bytes: number, bytesMax: number): HookInput {
  if (bytes === 0) return { kind: 'empty' };
  const text = decode(chunks).slice(0, bytesMax);
  if (bytes > bytesMax) {
    const value = parseJsonPrefix(text);
    return value === undefined ? { kind: 'unreadable', bytes } : { kind: 'cut', value };
  }
  const value = parseJson(text);
  return value === undefined ? { kind: 'unreadable', bytes } : { kind: 'json', value };
}

function endsWithBrace(chunk: Uint8Array): boolean {
  let index = chunk.length - 1;
  while (index >= 0 && BLANKS.has(chunk[index] as number)) index--;
  return chunk[index] === CLOSING_BRACE;
}

function decode(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  const only = chunks.length === 1 ? chunks[0] : undefined;
  if (only !== undefined) return decoder.decode(only);
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
}
