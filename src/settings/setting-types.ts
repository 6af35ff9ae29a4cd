import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, type Json } from '../core/guards.ts';
import { isAbsolutePath } from '../core/state-paths.ts';
import { grantProblem } from '../runs/model/permissions.ts';
import { THINKING_LEVELS, WORKTREE_MODES } from '../runs/model/run.ts';
import { entryProblem } from '../runs/model/tool-policy.ts';
import { isNumber, isWord, names, oneOf, type Report, type Type, typeOf } from './setting.ts';
import { under } from './take-section.ts';

/** What the settings of background runs may be. */

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
/** Files that only a main agent is given (R51): no setting hands them to a sub-agent. */
const MAIN_ONLY = ['soul.md', 'identity.md', 'user.md', 'heartbeat.md', 'bootstrap.md'];
const USD_MAX = 1_000_000;

/** The same type, or null. */
export function orNull<T>({ expected, read }: Type<T>): Type<T | null> {
  return {
    expected: `null, or ${expected}`,
    read: (found, report) => (found === null ? null : read(found, report)),
  };
}

/** A number between these, both included. */
export function numberFrom(least: number, most: number): Type<number> {
  return typeOf(`a number from ${least} to ${most}`, (found) => isNumber(found, most) && found >= least);
}

export const count = typeOf<number>(
  'a whole number from 1 to 100000',
  (found) => isNumber(found, 100_000) && Number.isInteger(found) && found >= 1,
);
export const limit = orNull(
  typeOf<number>('a number above 0', (found) => isNumber(found, Number.MAX_SAFE_INTEGER) && found > 0),
);
export const word = orNull(typeOf<string>('a name', isWord));
export const client = orNull(oneOf(...CLIENT_NAMES));
export const thinking = orNull(oneOf(...THINKING_LEVELS));
export const path = orNull(
  typeOf<string>('an absolute path', (found) => typeof found === 'string' && isAbsolutePath(found)),
);

export const seconds = numberFrom(0, 30 * 86_400);
export const minutes = numberFrom(0, 10 * 365 * 1440);
export const worktree = oneOf(...WORKTREE_MODES);
export const onOff = oneOf('on', 'off');
export const commandWords = orNull(
  typeOf<readonly string[]>(
    'a list of words, like ["notify-send", "Sub-agent"]',
    (found) => Array.isArray(found) && found.length > 0 && found.every(isWord),
  ),
);
export const announceMode = oneOf('turn', 'inline', 'raw');

export const agentId: Type<string> = {
  expected: 'letters, digits, - and _',
  read: (found) => (typeof found === 'string' && AGENT_ID.test(found) ? found.toLowerCase() : undefined),
};

export const agentIds: Type<readonly string[] | null> = orNull({
  expected: 'a list of agent ids; "*" is any',
  read(found, report) {
    const ids = Array.isArray(found)
      ? found.map((id) => (id === '*' ? id : agentId.read(id, report)))
      : [undefined];
    return ids.includes(undefined) ? undefined : (ids as string[]);
  },
});

/** A list of tools, kept as it stands: each entry that means nothing is reported by itself. */
export const tools: Type<readonly string[]> = {
  expected: 'a list of tools, like ["exec", "web_fetch"]',
  read(found, report) {
    const entries = names.read(found, report);
    entries?.filter(isSound(entryProblem, report));
    return entries;
  },
};

/** What sub-agents may do; an entry that is no permission allows nothing. */
export const grants: Type<readonly string[]> = {
  expected: 'a list of permissions, like ["edit", "exec(npm test:*)"]',
  read: (found, report) => names.read(found, report)?.filter(isSound(grantProblem, report)),
};

/** Names of files, without those that are for a main agent only. */
export const files: Type<readonly string[]> = {
  expected: 'a list of files, like ["AGENTS.md"], and none that is for main agents',
  read: (found, report) => names.read(found, report)?.filter(isSound(fileProblem, report)),
};

function isSound(problemOf: (entry: string) => string | undefined, report: Report) {
  return (entry: string, index: number) => {
    const problem = problemOf(entry);
    if (problem !== undefined) report(`[${index}]`, entry, problem);
    return problem === undefined;
  };
}

function fileProblem(path: string): string | undefined {
  return isMainOnly(path) ? 'sub-agents are never given this file; it is left out' : undefined;
}

/** Whether the file, by its name, is one that sub-agents are never given. */
export function isMainOnly(path: string): boolean {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return MAIN_ONLY.includes(name.trim().toLowerCase());
}

/** The good parts of a list, if it is one; each bad part is left out and reported by itself. */
export function listOf<T>(part: Type<T>, found: unknown, report: Report): T[] | undefined {
  if (!Array.isArray(found)) return undefined;
  return found.flatMap((one, index) => partOf(part, one, under(`[${index}]`, report)));
}

function partOf<T>({ expected, read }: Type<T>, found: unknown, report: Report): T[] {
  const taken = read(found, report);
  if (taken !== undefined) return [taken];
  report('', found, `expected ${expected}; it is left out`);
  return [];
}

type CacheCost = Partial<Record<'cacheRead' | 'cacheWrite', number | null>>;
type Cost = Readonly<Record<'input' | 'output', number> & CacheCost>;
export type Model = { readonly id: string; readonly cost?: Cost };
type Provider = { readonly models: readonly Model[] };

const model: Type<Model> = {
  expected: 'an object with an "id"',
  read(found, report) {
    if (!isRecord(found) || !isWord(found.id)) return undefined;
    if (found.cost === undefined || isCost(found.cost)) return found as Model;
    const cost = '{"input": …, "output": …} in USD per million tokens, "cacheRead" and "cacheWrite" if known';
    report('.cost', found.cost, `expected ${cost}; the model has no price`);
    return { id: found.id };
  },
};

function isCost(found: unknown): boolean {
  const isPrice = (value: unknown) => isNumber(value, USD_MAX) && value >= 0;
  const isKnown = ({ cacheRead, cacheWrite }: Json) =>
    [cacheRead, cacheWrite].every((value) => (value ?? null) === null || isPrice(value));
  return isRecord(found) && isPrice(found.input) && isPrice(found.output) && isKnown(found);
}

const provider: Type<Provider> = {
  expected: 'an object with a list "models"',
  read(found, report) {
    const models = isRecord(found) ? listOf(model, found.models ?? [], under('.models', report)) : undefined;
    return models && { models };
  },
};

/** The providers' models. What else is said about a provider is left to who said it. */
export const providers: Type<Readonly<Record<string, Provider>>> = {
  expected: 'an object of providers with their models',
  read(found, report) {
    if (!isRecord(found)) return undefined;
    const taken = Object.entries(found).flatMap(([name, value]) =>
      partOf(provider, value, under(`.${name}`, report)).map((one) => [name, one] as const),
    );
    return Object.fromEntries(taken);
  },
};
