import { type ConfigProblem, readPath, writePath } from '../config.ts';
import { isRecord, type Json } from '../guards.ts';
import { RUN_FIELDS, readRunField } from './run-settings-fields.ts';
import type { AgentSettings, BudgetLimit, ModelPrice, RunSettings } from './settings.ts';

/** The settings of background runs in a document of any shape; each bad part of it in words. */
export function readRunSettings(value: unknown): { settings: RunSettings; problems: string[] } {
  const { document, problems } = takeRunSettings(value);
  return {
    settings: toSettings(document as unknown as RunDocument),
    problems: problems.map(({ key, message }) => `${key}: ${message}`),
  };
}

/** What is in force at each field, as it would stand in `config.json`. */
export function takeRunSettings(value: unknown): { document: Json; problems: ConfigProblem[] } {
  const source = isRecord(value) ? value : {};
  const document: Json = {};
  const problems: ConfigProblem[] = [];
  for (const field of RUN_FIELDS) {
    const taken = readRunField(field, readPath(source, field.key));
    writePath(document, field.key, taken.value);
    problems.push(...taken.problems);
  }
  return { document, problems };
}

/** The part of `config.json` that is about background runs, every field in its place. */
type RunDocument = {
  readonly agents: {
    readonly defaults: {
      readonly subagents: Omit<RunSettings, 'agents' | 'tools' | 'announce' | 'budget' | 'prices'>;
    };
    readonly list: readonly AgentDocument[];
  };
  readonly tools: {
    readonly subagents: {
      readonly tools: { readonly deny: readonly string[]; readonly allow: readonly string[] | null };
      readonly strict: boolean;
      readonly allow: readonly string[];
    };
  };
  readonly announce: RunSettings['announce'];
  readonly budget: Readonly<Record<'run' | 'requester' | 'day', BudgetLimit>>;
  readonly models: { readonly providers: Readonly<Record<string, ProviderDocument>> };
};

type AgentDocument = Pick<AgentSettings, 'id'> &
  Partial<Pick<AgentSettings, 'name' | 'workspace' | 'agentDir'>> & {
    readonly subagents?: Partial<Pick<AgentSettings, 'client' | 'model' | 'thinking' | 'allowAgents'>> & {
      readonly tools?: Partial<AgentSettings['tools']>;
    };
  };

type ProviderDocument = {
  readonly models: readonly {
    readonly id: string;
    readonly cost?: Omit<ModelPrice, 'model' | 'cacheRead' | 'cacheWrite'> & Partial<ModelPrice>;
  }[];
};

function toSettings({ agents, tools, announce, budget, models }: RunDocument): RunSettings {
  const defaults = agents.defaults.subagents;
  return {
    ...defaults,
    allowAgents: withLowerCase(defaults.allowAgents),
    agents: agents.list.map(toAgent),
    tools: {
      ...tools.subagents.tools,
      isStrict: tools.subagents.strict,
      permitted: tools.subagents.allow,
    },
    announce,
    budget,
    prices: Object.entries(models.providers).flatMap(([name, provider]) => toPrices(name, provider)),
  };
}

function toAgent({ id, name, workspace, agentDir, subagents = {} }: AgentDocument): AgentSettings {
  return {
    id,
    name: name ?? null,
    client: subagents.client ?? null,
    model: subagents.model ?? null,
    thinking: subagents.thinking ?? null,
    workspace: workspace ?? null,
    agentDir: agentDir ?? null,
    allowAgents: withLowerCase(subagents.allowAgents ?? null),
    tools: { deny: subagents.tools?.deny ?? [], allow: subagents.tools?.allow ?? null },
  };
}

function withLowerCase(ids: readonly string[] | null): readonly string[] | null {
  return ids === null ? null : ids.map((id) => id.toLowerCase());
}

/** Under both names that clients give to a model: with its provider, and without. */
function toPrices(provider: string, { models }: ProviderDocument): ModelPrice[] {
  return models.flatMap(({ id, cost }) => {
    if (cost === undefined) return [];
    const { input, output, cacheRead = null, cacheWrite = null } = cost;
    return [`${provider}/${id}`, id].map((model) => ({ model, input, output, cacheRead, cacheWrite }));
  });
}
