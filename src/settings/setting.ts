import { isRecord, type Json } from '../core/guards.ts';

/**
 * What a setting may be, in words and in code. Not zod: a hook that delivers the results of runs would take 1.5 ms
 * longer to load it, and it cannot keep the good parts of a list while it reports the bad ones.
 */
export type Type<T> = {
  readonly expected: string;
  /** Returns what can be used of a value, and reports each bad part of it; undefined when nothing can be used. */
  readonly read: (found: unknown, report: Report) => T | undefined;
};

/** Reports a problem. `key` is the place inside of the value that is read: empty, or like `[0].id`. */
export type Report = (key: string, found: unknown, message: string) => void;

export type Setting<T = unknown> = Type<T> & { readonly default: T; readonly description: string };

/** Settings as they stand in `config.json`: one row each, in sections. */
export type Section = { readonly [name: string]: Setting | Section };

/** The values of a section's settings. */
export type Values<S> = S extends Setting<infer T> ? T : { readonly [Name in keyof S]: Values<S[Name]> };

/** A row of the settings. */
export function row<T>(type: Type<T>, standard: NoInfer<T>, description = ''): Setting<T> {
  return { ...type, default: standard, description };
}

/** Whether it is a row, and no section of them. */
export function isSetting(row: Setting | Section): row is Setting {
  return 'description' in row;
}

/** Every value of the section: the default where the document, of any shape, has no good one. */
export function readSection<S extends Section>(section: S, document: unknown): Values<S> {
  const source = isRecord(document) ? document : {};
  const values: Json = {};
  for (const [name, row] of Object.entries<Setting | Section>(section)) {
    const found = Object.hasOwn(source, name) ? source[name] : undefined;
    const value = isSetting(row) ? row.read(found, () => {}) : readSection(row, found);
    if (value !== undefined) values[name] = value;
    else values[name] = Array.isArray(row.default) ? row.default.slice() : row.default;
  }
  return values as Values<S>;
}

/** The type of the values that pass the check. */
export function typeOf<T>(expected: string, accepts: (found: unknown) => boolean): Type<T> {
  return { expected, read: (found) => (accepts(found) ? (found as T) : undefined) };
}

/** Whether it is a text with something in it. */
export function isWord(found: unknown): found is string {
  return typeof found === 'string' && found.trim() !== '';
}

/** Whether it is a number that is no larger. */
export function isNumber(found: unknown, most: number): found is number {
  return typeof found === 'number' && found <= most;
}

export const boolean = typeOf<boolean>('true or false', (found) => typeof found === 'boolean');

export const names = typeOf<readonly string[]>(
  'a list of non-empty names',
  (found) => Array.isArray(found) && found.every(isWord),
);

/** A number above 0. */
export function positive(most: number): Type<number> {
  return typeOf(`a number above 0, at most ${most}`, (found) => isNumber(found, most) && found > 0);
}

/** One of these words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Type<Word> {
  const quoted = words.map((word) => `"${word}"`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return typeOf(expected, (found) => words.includes(found as Word));
}
