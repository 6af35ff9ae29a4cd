import { parseJson5, readTextFile } from '#runtime';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { asRecord, type Json, parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';

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
  const source = asRecord(document);
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

const modelName = typeOf<string>('the name of a model', isWord);

/** The settings that hooks read, one row each: type, default and meaning. */
export const HOOK_SETTINGS = {
  enabled: row(boolean, true, 'master switch: false makes every hook do nothing'),
  language: row(oneOf('ko', 'en'), 'ko', 'language of the texts that agents are given'),
  collectPromptText: row(boolean, true, 'false stores [REDACTED] instead of what you typed'),
  retentionDays: row(positive(36500), 90, 'how long events are kept'),
  subagentContext: {
    agents: row(names, [], 'agent types, beside the built-in code agents, that are given context'),
    excludeAgents: row(names, [], 'agent types that are never given context'),
  },
  lessons: {
    model: row(
      oneOf('off', 'suggest', 'daily'),
      'off',
      'lessons that a model writes once a day: none, for you to judge, or told at once where their commands ran',
    ),
  },
  proof: {
    holdOut: row(
      oneOf('off', 'low', 'trial'),
      'off',
      'how much is left untold by a coin, to see whether telling helps: nothing, a tenth, or half until that is known',
    ),
  },
  analysisOnSessionEnd: row(boolean, false, 'true analyses the log after every session, within the budget'),
  analysisCli: row(oneOf(...CLIENT_NAMES), 'claude', 'the program that asks the model'),
  analysisModel: row(modelName, 'sonnet', 'its model; the default is for claude, others choose their own'),
  analysisDays: row(positive(365), 7, 'how many days of the log are analysed'),
  analysisDailyBudgetUsd: row(positive(1000), 1, 'what all analyses of 24 hours may cost together, in USD'),
  analysisMinIntervalMinutes: row(positive(10_080), 60, 'how long a project waits for the next analysis'),
  analysisCacheMaxAgeHours: row(positive(8760), 24, 'how old an analysis may be to be announced'),
};

/** The user's settings, `config.json`, as far as hooks read them. */
export type Config = Values<typeof HOOK_SETTINGS>;

/** The settings of a document of any shape: what cannot be used has its default. */
export function readConfig(document: unknown): Config {
  return readSection(HOOK_SETTINGS, document);
}

/** The user's settings; a missing or unreadable file means the defaults (REQ-INF-102). */
export function loadConfig(paths: StatePaths): Config {
  return readConfig(parseSettings(readTextFile(paths.config) ?? '{}'));
}

/** A settings file: JSON, or JSON5 with comments and names without quotes. Undefined when it is neither; never throws. */
export function parseSettings(text: string): unknown {
  return parseJson(text) ?? parseJson5(text);
}

/** Off only when the settings say `enabled: false` (RA-407). */
export function isEnabled(config: Config): boolean {
  return config.enabled !== false;
}
