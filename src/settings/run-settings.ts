import { readTextFile } from '#runtime';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { asRecord, isRecord, type Json } from '../core/guards.ts';
import { isAbsolutePath, type StatePaths } from '../core/state-paths.ts';
import { HANDOVER_DEFAULTS, HANDOVER_MODES } from '../runs/model/handover-settings.ts';
import { grantProblem } from '../runs/model/permissions.ts';
import { THINKING_LEVELS, WORKTREE_MODES } from '../runs/model/run.ts';
import { entryProblem } from '../runs/model/tool-policy.ts';
import {
  boolean,
  isNumber,
  isSetting,
  isWord,
  names,
  oneOf,
  parseSettings,
  type Report,
  readSection,
  row,
  type Section,
  type Setting,
  type Type,
  typeOf,
} from './hook-settings.ts';

export const NO_SUCH_SETTING = 'no such setting; it has no effect';
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
function numberFrom(least: number, most: number): Type<number> {
  return typeOf(`a number from ${least} to ${most}`, (found) => isNumber(found, most) && found >= least);
}

const count = typeOf<number>(
  'a whole number from 1 to 100000',
  (found) => isNumber(found, 100_000) && Number.isInteger(found) && found >= 1,
);
const wholeNumber = typeOf<number>(
  'a whole number from 0 to 100000000',
  (found) => isNumber(found, 100_000_000) && Number.isInteger(found) && found >= 0,
);
const limit = orNull(
  typeOf<number>('a number above 0', (found) => isNumber(found, Number.MAX_SAFE_INTEGER) && found > 0),
);
const seconds = numberFrom(0, 30 * 86_400);
const minutes = numberFrom(0, 10 * 365 * 1440);
const worktree = oneOf(...WORKTREE_MODES);
const mode = oneOf('turn', 'inline', 'raw');
const onOff = oneOf('on', 'off');
const name = orNull(typeOf<string>('a name', isWord));
const client = orNull(oneOf(...CLIENT_NAMES));
const thinking = orNull(oneOf(...THINKING_LEVELS));
const path = orNull(
  typeOf<string>('an absolute path', (found) => typeof found === 'string' && isAbsolutePath(found)),
);
const command = orNull(
  typeOf<readonly string[]>(
    'a list of words, like ["notify-send", "Sub-agent"]',
    (found) => Array.isArray(found) && found.length > 0 && found.every(isWord),
  ),
);

const role = orNull(
  typeOf<string>(
    'a word like backend',
    (found) => typeof found === 'string' && /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u.test(found),
  ),
);

/** The id of an agent, in small letters. */
export const agentId: Type<string> = {
  expected: 'letters, digits, - and _',
  read: (found) => (typeof found === 'string' && AGENT_ID.test(found) ? found.toLowerCase() : undefined),
};

const agentIds = orNull<readonly string[]>({
  expected: 'a list of agent ids; "*" is any',
  read(found, report) {
    if (!Array.isArray(found)) return undefined;
    const ids = found.flatMap((id) => (id === '*' ? id : (agentId.read(id, report) ?? [])));
    return ids.length === found.length ? ids : undefined;
  },
});

/** A list of names; each that has a problem is reported, and left out unless it is kept. */
function checkedNames(
  expected: string,
  problemOf: (entry: string) => string | undefined,
  bad: 'kept' | 'left out',
): Type<readonly string[]> {
  const isUsed = (entry: string, index: number, report: Report) => {
    const problem = problemOf(entry);
    if (problem !== undefined) report(`[${index}]`, entry, problem);
    return problem === undefined || bad === 'kept';
  };
  return {
    expected,
    read: (found, report) =>
      names.read(found, report)?.filter((entry, index) => isUsed(entry, index, report)),
  };
}

const tools = checkedNames('a list of tools, like ["exec", "web_fetch"]', entryProblem, 'kept');
const grants = checkedNames(
  'a list of permissions, like ["edit", "exec(npm test:*)"]',
  grantProblem,
  'left out',
);
const files = checkedNames(
  'a list of files, like ["AGENTS.md"], and none that is for main agents',
  (file) => (isMainOnly(file) ? 'sub-agents are never given this file; it is left out' : undefined),
  'left out',
);

/** Whether the file, by its name, is one that sub-agents are never given. */
export function isMainOnly(path: string): boolean {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return MAIN_ONLY.includes(name.trim().toLowerCase());
}

/** Returns the part of a list or an object in a list of its own, which is empty when it is bad; that is reported. */
function partOf<T>({ expected, read }: Type<T>, found: unknown, report: Report): T[] {
  const taken = read(found, report);
  if (taken === undefined) report('', found, `expected ${expected}; it is left out`);
  return taken === undefined ? [] : [taken];
}

/** The good parts of a list, if it is one. */
function partsOf<T>(part: Type<T>, found: unknown, report: Report): T[] | undefined {
  if (!Array.isArray(found)) return undefined;
  return found.flatMap((one, index) => partOf(part, one, under(`[${index}]`, report)));
}

type Cost = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | null;
  readonly cacheWrite?: number | null;
};
type Model = { readonly id: string; readonly cost?: Cost };
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
  if (!isRecord(found)) return false;
  const { input, output, cacheRead = null, cacheWrite = null } = found;
  const isPrice = (value: unknown) => isNumber(value, USD_MAX) && value >= 0;
  return (
    [input, output].every(isPrice) && [cacheRead, cacheWrite].every((one) => one === null || isPrice(one))
  );
}

const provider: Type<Provider> = {
  expected: 'an object with a list "models"',
  read(found, report) {
    const models = isRecord(found) ? partsOf(model, found.models ?? [], under('.models', report)) : undefined;
    return models && { models };
  },
};

/** The providers' models; whatever else stands there about a provider is not ours. */
const providers: Type<Readonly<Record<string, Provider>>> = {
  expected: 'an object of providers with their models',
  read(found, report) {
    if (!isRecord(found)) return undefined;
    const taken = Object.entries(found).flatMap(([name, value]) =>
      partOf(provider, value, under(`.${name}`, report)).map((one) => [name, one] as const),
    );
    return Object.fromEntries(taken);
  },
};

const AGENT = {
  id: row(agentId, '', 'how it is called when it is spawned'),
  name: row(name, null, 'how it is listed'),
  role: row(
    role,
    null,
    'what it is in a team: frontend, backend, data, docs, or a word of your own; null: in none',
  ),
  description: row(name, null, 'what it is good at, for who plans the work of a team'),
  workspace: row(path, null, "where its AGENTS.md and TOOLS.md stand; null: the requester's directory"),
  agentDir: row(path, null, 'where its logins are'),
  subagents: {
    client: row(client, null, 'as of all sub-agents, as is what follows'),
    model: row(name, null),
    thinking: row(thinking, null),
    allowAgents: row(agentIds, null, 'as a requester: which other agents it may spawn'),
    tools: { deny: row(tools, []), allow: row(orNull(tools), null) },
    context: {
      mode: row(orNull(oneOf(...HANDOVER_MODES)), null, 'what of the conversation it is handed'),
      recentN: row(orNull(wholeNumber), null),
      includeSystem: row(orNull(boolean), null),
      maxChars: row(orNull(wholeNumber), null),
      pruned: row(orNull(boolean), null),
    },
  },
};

/** What a document says about the section. Reports what cannot be used, and each name that is no setting. */
export function takeSection(section: Section, document: unknown, report: Report): Json {
  const taken: Json = {};
  for (const [name, found] of Object.entries(asRecord(document))) {
    const row = Object.hasOwn(section, name) ? section[name] : undefined;
    if (row === undefined) report(name, found, NO_SUCH_SETTING);
    else if (isSetting(row)) taken[name] = takeSetting(row, found, under(name, report));
    else if (isRecord(found)) taken[name] = takeSection(row, found, under(`${name}.`, report));
    else report(name, found, 'expected an object; its settings have defaults');
  }
  return taken;
}

/** What can be used of a value; undefined, which is reported, means the default. */
export function takeSetting(row: Setting, found: unknown, report: Report): unknown {
  const value = row.read(found, report);
  if (value === undefined)
    report('', found, `expected ${row.expected}; ${JSON.stringify(row.default)} is used`);
  return value;
}

/** Reports problems below a place. */
function under(place: string, report: Report): Report {
  return (key, found, message) => report(place + key, found, message);
}

type ListedAgent = Json & { readonly id: string };

/** Of agents with the same id the first counts. */
const agents: Type<readonly ListedAgent[]> = {
  expected: 'a list of agents, like [{"id": "reviewer"}]',
  read(found, report) {
    const ids = new Set<string>();
    const agent: Type<ListedAgent> = {
      expected: 'an object with an "id" of its own, of letters, digits, - and _',
      read(one, reportInside) {
        const id = isRecord(one) ? agentId.read(one.id, reportInside) : undefined;
        if (id === undefined || ids.has(id)) return undefined;
        ids.add(id);
        return takeSection(AGENT, one, under('.', reportInside)) as ListedAgent;
      },
    };
    return partsOf(agent, found, report);
  },
};

const SUBAGENTS = {
  maxConcurrent: row(count, 8, 'how many sub-agents run at the same time'),
  maxQueued: row(numberFrom(0, 100_000), 100, 'how many of a project may wait'),
  archiveAfterMinutes: row(minutes, 60, 'when a run that ended and was announced is archived; 0: never'),
  runTimeoutSeconds: row(seconds, 0, 'how long a sub-agent may take; 0: no limit'),
  idleTimeoutSeconds: row(seconds, 0, 'how long a sub-agent may say nothing; 0: no limit'),
  client: row(client, null, "the program of sub-agents; null: the requester's"),
  model: row(name, null, 'the model of sub-agents; null: the client chooses'),
  thinking: row(thinking, null, 'how much sub-agents think; null: the client chooses'),
  allowAgents: row(agentIds, null, 'which agents may be spawned; null: only the own'),
  worktree: row(worktree, 'never', 'whether a sub-agent works in a git worktree of its own'),
  contextFiles: row(files, ['AGENTS.md', 'TOOLS.md'], 'files of the workspace that sub-agents are given'),
};

const TOOLS = {
  tools: {
    deny: row(tools, [], 'tools that sub-agents do not have; stronger than allow'),
    allow: row(orNull(tools), null, 'the only tools that sub-agents have; null: all that are not denied'),
  },
  allow: row(grants, [], 'what sub-agents may do where their requester would be asked: edit, all, or rules'),
  strict: row(
    boolean,
    true,
    'false only warns of a denied tool that a client cannot be kept from, and of names that mean nothing',
  ),
};

const ANNOUNCE = {
  mode: row(mode, 'turn', 'who words a result: one more turn, the first prompt asks for it, or nobody'),
  timeoutSeconds: row(numberFrom(1, 600), 60, 'how long that one more turn may take'),
  skipOnFailure: row(boolean, true, 'false announces a failed run also when the model would not'),
  wake: row(onOff, 'on', 'whether a result wakes the idle Claude Code session that asked for the run'),
  wakesMax: row(numberFrom(0, 1000), 5, 'how often, until its user types something'),
};

const CONTEXT = {
  mode: row(
    oneOf(...HANDOVER_MODES),
    HANDOVER_DEFAULTS.mode,
    'what of the conversation a plan is handed; stronger: PLAN_MODE_CONTEXT_MODE, as of what follows',
  ),
  recentN: row(wholeNumber, HANDOVER_DEFAULTS.recentN, 'how many messages, in whole turns, with "recent"'),
  includeSystem: row(
    boolean,
    HANDOVER_DEFAULTS.includeSystem,
    'also what the client itself has put into the conversation',
  ),
  maxChars: row(wholeNumber, HANDOVER_DEFAULTS.maxChars, 'how long it may be; 0: as much as can be taken'),
  pruned: row(boolean, HANDOVER_DEFAULTS.pruned, 'without results that pruning would not show any more'),
};

const limits = (who: string) => ({
  tokens: row(limit, null, `tokens that ${who} may take; null: no limit`),
  usd: row(limit, null, `USD that ${who} may cost; null: no limit`),
});

/** Of runs that only look. */
const profile = (
  who: string,
  { iterations, timeoutSeconds }: { readonly iterations: number; readonly timeoutSeconds: number },
) => ({
  maxIterations: row(orNull(count), iterations, `how often ${who} may call tools; null: no limit`),
  timeoutSeconds: row(seconds, timeoutSeconds, `how long ${who} may take; 0: no limit`),
  maxTokens: row(limit, null, `tokens that ${who} may take; null: no limit`),
  maxUsd: row(limit, null, `USD that ${who} may cost; null: no limit`),
  maxObservationChars: row(limit, 400_000, `characters that its tools may answer; null: no limit`),
});

/** The settings of background runs, one row each, under the names of the seed. */
export const RUN_SETTINGS = {
  agents: {
    defaults: { subagents: SUBAGENTS },
    list: row(agents, [], 'agents with an id, and a workspace, logins, a model or tools of their own'),
  },
  tools: { subagents: TOOLS },
  announce: ANNOUNCE,
  context: CONTEXT,
  notify: {
    command: row(
      command,
      null,
      'a program and its arguments, told of a result that nobody took; null: the terminal is',
    ),
  },
  budget: {
    run: limits('one run'),
    requester: limits('all runs of a project'),
    day: limits('all runs of a day'),
  },
  explore: profile('an explore agent', { iterations: 15, timeoutSeconds: 600 }),
  plan: {
    ...profile('a plan agent', { iterations: 20, timeoutSeconds: 1200 }),
    rounds: row(count, 10, 'how often a plan is refined before it is decided on'),
  },
  orchestrate: {
    attempts: row(count, 3, 'how often an agent of a team may try one phase of its work'),
    review: profile('a planner or reviewer of a team', { iterations: 30, timeoutSeconds: 900 }),
  },
  models: { providers: row(providers, {}, 'what models cost, in USD per million tokens') },
};

export type RunSettings = ReturnType<typeof readRunSettings>;
export type AgentSettings = RunSettings['agents'][number];
/** Null: no limit. */
export type BudgetLimit = RunSettings['budget']['run'];
/** USD per million tokens. */
export type ModelPrice = RunSettings['prices'][number];

/** A warning is given when this share of a limit is used. */
export const WARNING_SHARE = 0.8;

/** The settings of background runs; a missing or unreadable file means the defaults. */
export function loadRunSettings(paths: StatePaths): RunSettings {
  return readRunSettings(parseSettings(readTextFile(paths.config) ?? '{}'));
}

/** The settings of background runs in a document of any shape. */
export function readRunSettings(document: unknown) {
  const { agents, notify, models, tools: ofTools, ...values } = readSection(RUN_SETTINGS, document);
  const { tools, strict: isStrict, allow: permitted } = ofTools.subagents;
  return {
    ...agents.defaults.subagents,
    agents: agents.list.map(toAgent),
    tools: { ...tools, isStrict, permitted },
    ...values,
    notifyCommand: notify.command,
    prices: Object.entries(models.providers).flatMap(([name, { models }]) =>
      models.flatMap((model) => toPrices(name, model)),
    ),
  };
}

function toAgent(agent: ListedAgent) {
  const { subagents, ...own } = readSection(AGENT, agent);
  return { ...own, ...subagents };
}

/** Under both names that clients give to a model: with its provider, and without. */
function toPrices(provider: string, { id, cost }: Model) {
  if (cost === undefined) return [];
  const { input, output, cacheRead = null, cacheWrite = null } = cost;
  return [`${provider}/${id}`, id].map((model) => ({ model, input, output, cacheRead, cacheWrite }));
}
