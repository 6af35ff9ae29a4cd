import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { isRecord, type Json, parseJson } from '../core/guards.ts';

/**
 * What a client's own record says of a session, read from its end. A field counts in its own place of a line that is whole:
 * what somebody said has a backslash before every quotation mark, but what a tool was called with may have any fields.
 */

/** Read at a time, from the end. */
const BLOCK_BYTES = 256 * 1024;
/** A mode stands at each prompt, which may be long ago. */
export const MODE_BYTES_MAX = 256 * 1024 * 1024;
export const SESSION_ID = /^[\w-]{1,100}$/;

/** What is in a directory, the newest first where names are dates. */
export function below(directory: string): string[] {
  const names = readdirSync(directory).sort().reverse();
  return names.map((name) => `${directory}/${name}`);
}

/** What the last line says that says it. Nothing counts before one with the words that is not whole: it may say it. */
export function lastSaid<T>(
  path: string | undefined,
  words: string,
  bytesMax: number,
  read: (line: Json) => T | undefined,
): T | undefined {
  if (path === undefined) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    for (const text of linesFromEnd(file, bytesMax)) {
      if (!text.includes(words)) continue;
      const line = parseJson(text);
      if (!isRecord(line)) return undefined;
      const found = read(line);
      if (found !== undefined) return found;
    }
  } catch {
    // It has no record, or it is elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return undefined;
}

/** The lines at the end of a file, the last one first, and no more of it read than is asked for. */
function* linesFromEnd(file: number, bytesMax: number): Generator<string> {
  const { size } = fstatSync(file);
  const first = Math.max(0, size - bytesMax);
  let pieces: string[] = []; // Of the line that begins further ahead, the last one first.
  for (let end = size; end > first; end -= BLOCK_BYTES) {
    const bytes = Buffer.alloc(Math.min(BLOCK_BYTES, end - first));
    const length = readSync(file, bytes, 0, bytes.length, end - bytes.length);
    const [beginning = '', ...lines] = bytes.toString('latin1', 0, length).split('\n');
    for (const line of lines.reverse()) {
      yield [line, ...pieces.reverse()].join('');
      pieces = [];
    }
    pieces.push(beginning);
  }
  if (first === 0) yield pieces.reverse().join('');
}
