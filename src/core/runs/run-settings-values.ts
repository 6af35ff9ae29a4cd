import { CLIENT_NAMES } from '../client-name.ts';
import type { Thinking } from './run.ts';
import { entryProblem } from './tool-policy.ts';

/** What a value of the settings of background runs may be, and the words for it. */

/** `inside` is empty, or leads into the field: `[0].subagents.model`. */
export type Report = (inside: string, found: unknown, message: string) => void;

export type RunField = {
  readonly key: string;
  readonly default: unknown;
  readonly expected: string;
  readonly description: string;
  /** Takes what stands there, or the parts of it that can be taken; says of the rest what is wrong with it. */
  readonly read: (found: unknown, report: Report) => unknown;
};

export const THINKING_LEVELS: readonly Thinking[] = [
  ...(['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const),
];

export const COUNT_MAX = 100_000;
const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

export const isNumber = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value <= most;
export const isCount = (value: unknown) =>
  isNumber(value, COUNT_MAX) && Number.isInteger(value) && value >= 1;
export const isBoolean = (value: unknown) => typeof value === 'boolean';
export const isWord = (value: unknown) => typeof value === 'string' && value.trim() !== '';
export const isNames = (value: unknown) => Array.isArray(value) && value.every(isWord);
export const isAgentId = (value: unknown) => typeof value === 'string' && AGENT_ID.test(value);
export const isAgentIds = (value: unknown) =>
  Array.isArray(value) && value.every((id) => id === '*' || isAgentId(id));
export const orNull = (accepts: (value: unknown) => boolean) => (value: unknown) =>
  value === null || accepts(value);
export const oneOf = (words: readonly string[]) => (value: unknown) =>
  typeof value === 'string' && words.includes(value);

const inWords = (words: readonly string[]) => words.map((word) => `"${word}"`).join(', ');
export const isClient = oneOf(CLIENT_NAMES);
export const isThinking = oneOf(THINKING_LEVELS);
export const BOOLEAN = 'true or false';
export const NAMES = 'a list of non-empty names';
export const CLIENT = `null, or one of ${inWords(CLIENT_NAMES)}`;
export const THINKING = `null, or one of ${inWords(THINKING_LEVELS)}`;
export const AGENT_IDS = 'null, or a list of agent ids; "*" is any';

type FieldWords = { readonly expected: string; readonly description?: string };

/** A field that is taken as a whole or not at all. */
export function field(
  key: string,
  standard: unknown,
  accepts: (value: unknown) => boolean,
  { expected, description = '' }: FieldWords,
): RunField {
  const read: RunField['read'] = (found, report) => {
    if (accepts(found)) return found;
    report('', found, `expected ${expected}; ${JSON.stringify(standard)} is used`);
    return structuredClone(standard);
  };
  return { key, default: standard, expected, description, read };
}

/** A list of tools, kept as it stands: each entry that means nothing is reported by itself. */
export function toolsField(
  key: string,
  standard: unknown,
  accepts: (value: unknown) => boolean,
  words: FieldWords,
): RunField {
  const list = field(key, standard, accepts, words);
  const read: RunField['read'] = (found, report) => {
    const taken = list.read(found, report);
    for (const [index, entry] of Array.isArray(taken) ? taken.entries() : []) {
      const problem = entryProblem(entry);
      if (problem !== undefined) report(`[${index}]`, entry, problem);
    }
    return taken;
  };
  return { ...list, read };
}
