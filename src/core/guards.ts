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

/** The object property, or an empty object when it is missing or of another type. */
export function readRecord(record: Json, key: string): Json {
  const value = record[key];
  return isRecord(value) ? value : {};
}

/** The texts of a list; none when it is no list. */
export function readTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** The properties that have a value. */
export function definedOnly<T>(record: Readonly<Record<string, T | undefined>>): Record<string, T> {
  const defined: Record<string, T> = {};
  for (const [key, value] of Object.entries(record)) if (value !== undefined) defined[key] = value;
  return defined;
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
