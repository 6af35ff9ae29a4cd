import { isRecord, type Json } from '../core/guards.ts';
import { boolean, readSection, setting, type Type } from './setting.ts';
import * as is from './setting-types.ts';
import { takeSection, under } from './take-section.ts';

const AGENT = {
  id: setting(is.agentId, '', 'how it is called when it is spawned'),
  name: setting(is.word, null, 'how it is listed'),
  workspace: setting(
    is.path,
    null,
    "where its AGENTS.md and TOOLS.md stand; null: the requester's directory",
  ),
  agentDir: setting(is.path, null, 'where its logins are'),
  subagents: {
    client: setting(is.client, null, 'as of all sub-agents, as is what follows'),
    model: setting(is.word, null),
    thinking: setting(is.thinking, null),
    allowAgents: setting(is.agentIds, null, 'as a requester: which other agents it may spawn'),
    tools: { deny: setting(is.tools, []), allow: setting(is.orNull(is.tools), null) },
  },
};

type ListedAgent = Json & { readonly id: string };

/** Of agents with the same id the first counts. */
const agents: Type<readonly ListedAgent[]> = {
  expected: 'a list of agents, like [{"id": "reviewer"}]',
  read(found, report) {
    const ids = new Set<unknown>();
    const agent: Type<ListedAgent> = {
      expected: 'an object with an "id" of its own, of letters, digits, - and _',
      read(one, reportInside) {
        const id = isRecord(one) ? is.agentId.read(one.id, reportInside) : undefined;
        if (id === undefined || ids.has(id)) return undefined;
        ids.add(id);
        return takeSection(AGENT, one, under('.', reportInside)) as ListedAgent;
      },
    };
    return is.listOf(agent, found, report);
  },
};

const SUBAGENTS = {
  maxConcurrent: setting(is.count, 8, 'how many sub-agents run at the same time'),
  maxQueued: setting(is.numberFrom(0, 100_000), 100, 'how many of a project may wait'),
  archiveAfterMinutes: setting(
    is.minutes,
    60,
    'when a run that ended and was announced is archived; 0: never',
  ),
  runTimeoutSeconds: setting(is.seconds, 0, 'how long a sub-agent may take; 0: no limit'),
  idleTimeoutSeconds: setting(is.seconds, 0, 'how long a sub-agent may say nothing; 0: no limit'),
  client: setting(is.client, null, "the program of sub-agents; null: the requester's"),
  model: setting(is.word, null, 'the model of sub-agents; null: the client chooses'),
  thinking: setting(is.thinking, null, 'how much sub-agents think; null: the client chooses'),
  allowAgents: setting(is.agentIds, null, 'which agents may be spawned; null: only the own'),
  worktree: setting(is.worktree, 'never', 'whether a sub-agent works in a git worktree of its own'),
  contextFiles: setting(
    is.files,
    ['AGENTS.md', 'TOOLS.md'],
    'files of the workspace that sub-agents are given',
  ),
};

const TOOLS = {
  tools: {
    deny: setting(is.tools, [], 'tools that sub-agents do not have; stronger than allow'),
    allow: setting(is.orNull(is.tools), null, 'the only tools that they have; null: all that are not denied'),
  },
  allow: setting(is.grants, [], 'what they may do where their requester would be asked: edit, all, or rules'),
  strict: setting(
    boolean,
    true,
    'false only warns of a denied tool that a client cannot be kept from, and of names that mean nothing',
  ),
};

const ANNOUNCE = {
  mode: setting(
    is.announceMode,
    'turn',
    'who words a result: one more turn, the first prompt asks it, or nobody',
  ),
  timeoutSeconds: setting(is.numberFrom(1, 600), 60, 'how long that one more turn may take'),
  skipOnFailure: setting(boolean, true, 'false announces a failed run also when the model would not'),
  wake: setting(is.onOff, 'on', 'whether a result wakes the idle Claude Code session that asked for the run'),
  wakesMax: setting(is.numberFrom(0, 1000), 5, 'how often, until its user types something'),
};

const limits = (who: string) => ({
  tokens: setting(is.limit, null, `tokens that ${who} may take; null: no limit`),
  usd: setting(is.limit, null, `USD that ${who} may cost; null: no limit`),
});

/** The settings of background runs, one row each, under the names of the seed. Hooks do not load this. */
export const RUN_SETTINGS = {
  agents: {
    defaults: { subagents: SUBAGENTS },
    list: setting(agents, [], 'agents with an id, and a workspace, logins, a model or tools of their own'),
  },
  tools: { subagents: TOOLS },
  announce: ANNOUNCE,
  notify: {
    command: setting(
      is.commandWords,
      null,
      'a program and its arguments, told of a result that nobody took; null: the terminal is',
    ),
  },
  budget: {
    run: limits('one run'),
    requester: limits('all runs of a project'),
    day: limits('all runs of a day'),
  },
  models: { providers: setting(is.providers, {}, 'what models cost, in USD per million tokens') },
};

export type RunSettings = ReturnType<typeof readRunSettings>;
export type AgentSettings = RunSettings['agents'][number];
/** Null: no limit. */
export type BudgetLimit = RunSettings['budget']['run'];
/** USD per million tokens. */
export type ModelPrice = RunSettings['prices'][number];

/** At this share of a limit it is said that it comes near. */
export const WARNING_SHARE = 0.8;

/** The settings of background runs in a document of any shape. */
export function readRunSettings(document: unknown) {
  const { agents, announce, notify, budget, models, ...values } = readSection(RUN_SETTINGS, document);
  const { tools, strict: isStrict, allow: permitted } = values.tools.subagents;
  return {
    ...agents.defaults.subagents,
    agents: agents.list.map(toAgent),
    tools: { ...tools, isStrict, permitted },
    announce,
    notifyCommand: notify.command,
    budget,
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
function toPrices(provider: string, { id, cost }: is.Model) {
  if (cost === undefined) return [];
  const { input, output, cacheRead = null, cacheWrite = null } = cost;
  return [`${provider}/${id}`, id].map((model) => ({ model, input, output, cacheRead, cacheWrite }));
}
