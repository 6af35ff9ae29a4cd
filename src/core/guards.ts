/** Guards for data from outside: `unknown` in, a typed value or undefined out. */

export type Json = Record<string, unknown>;

/** Whether the value is a JSON object. */
export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The string property, or undefined when it is missing or of another type. */
export function readString(record: Json, key: string): string | undefined {
  const value = record[key];
  return typeof value === 'string' ? value : undefined;
}

/** The value if it is a JSON object, else an empty one. */
export function asRecord(value: unknown): Json {
  return isRecord(value) ? value : {};
}

/** The object property, or an empty object when it is missing or of another type. */
export function readRecord(record: Json, key: string): Json {
  return asRecord(record[key]);
}

/** The texts of a list; none when it is no list. */
export function readTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** The objects of a list; none when it is no list. */
export function readRecords(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The properties that have a value. */
export function definedOnly<T>(record: Readonly<Record<string, T | undefined>>): Record<string, T> {
  const defined: Record<string, T> = {};
  for (const [key, value] of Object.entries(record)) if (value !== undefined) defined[key] = value;
  return defined;
}

/** What `look` returns, or `otherwise` when it throws: for what may be gone, or not be ours to see, at any moment. */
export function lookOr<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** Parses JSON; undefined instead of an exception. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Marks a branch that the types rule out. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`);
}

/** What was thrown, in words. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const DEPTH_MAX = 200;

/**
 * Parses the beginning of a JSON document that was cut off: complete members are kept, the one that the cut falls
 * into is kept when it is a string (shortened) and dropped otherwise. For payloads over the size limit, whose first
 * megabyte names session, event and tool. Undefined when nothing can be made of it.
 */
export function parseJsonPrefix(text: string): unknown {
  const end = scan(text, text.length);
  if (end === undefined) return undefined;
  const openString = end.inString ? `${withoutHalfEscape(text, end.lastEscape)}"` : undefined;
  const repaired = openString === undefined ? undefined : closed(openString, end);
  if (repaired !== undefined || end.lastComma < 0) return repaired;
  const atComma = scan(text, end.lastComma);
  return atComma && closed(text.slice(0, end.lastComma), atComma);
}

type Scan = { closers: string[]; inString: boolean; lastComma: number; lastEscape: number };

/** The state of the document at `end`: what is open there, and the last comma between two members. */
function scan(text: string, end: number): Scan | undefined {
  const state: Scan = { closers: [], inString: false, lastComma: -1, lastEscape: -1 };
  for (let index = 0; index < end; index++) {
    const character = text[index];
    if (state.inString) {
      if (character === '\\') state.lastEscape = index++;
      else if (character === '"') state.inString = false;
    } else if (character === '"') state.inString = true;
    else if (character === '{' || character === '[') state.closers.push(character === '{' ? '}' : ']');
    else if (character === '}' || character === ']') state.closers.pop();
    else if (character === ',') state.lastComma = index;
    if (state.closers.length > DEPTH_MAX) return undefined;
  }
  return state;
}

/** The cut may fall into `\\` and what it escapes, as in `\\u00`. */
function withoutHalfEscape(text: string, lastEscape: number): string {
  const isHalf = lastEscape >= 0 && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(lastEscape, lastEscape + 7));
  return isHalf ? text.slice(0, lastEscape) : text;
}

/** Undefined: the document was broken before the cut. */
function closed(text: string, { closers }: Scan): unknown {
  return parseJson(text + closers.toReversed().join(''));
}
