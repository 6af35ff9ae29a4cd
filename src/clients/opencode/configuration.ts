import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  asRecord,
  isRecord,
  type Json,
  readRecord,
  readRecords,
  readString,
  readTexts,
} from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import type { Permissions } from '../../runs/model/permissions.ts';
import type { ClientConfiguration } from '../client.ts';
import { type ClientUser, type Route, RouteRefusal } from '../route.ts';
import { absoluteIn, configIn, directoryIn, homeOf, merged, pathIn, picked } from '../user-files.ts';

/** Of a configuration, what says where questions go. */
const CARRIED: readonly string[] = ['provider', 'disabled_providers', 'enabled_providers'];

/** Logins and lists of models, of all providers. */
export const OPENCODE_PLACES: readonly string[] = [
  ...['OPENCODE_AUTH_CONTENT', 'OPENCODE_MODELS_*', 'OPENCODE_DISABLE_MODELS_FETCH'],
];

/** Which variables a provider needs, where that is more than `<ID>_API_KEY`. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'amazon-bedrock': ['AWS_*'],
  anthropic: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
  azure: ['AZURE_*'],
  'azure-cognitive-services': ['AZURE_*'],
  'github-copilot': ['GITHUB_TOKEN'],
  'github-models': ['GITHUB_TOKEN'],
  google: ['GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
  'google-vertex': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
  'google-vertex-anthropic': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
  moonshotai: ['MOONSHOT_API_KEY'],
  openai: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT'],
};
/** The variables by which the client takes a provider for set up, and one provider for each. */
const FOUND_BY: Readonly<Record<string, string>> = {
  ...{ ANTHROPIC_API_KEY: 'anthropic', AWS_ACCESS_KEY_ID: 'amazon-bedrock', AWS_PROFILE: 'amazon-bedrock' },
  ...{ AWS_BEARER_TOKEN_BEDROCK: 'amazon-bedrock', AZURE_API_KEY: 'azure', CEREBRAS_API_KEY: 'cerebras' },
  ...{ DEEPSEEK_API_KEY: 'deepseek', GEMINI_API_KEY: 'google', GOOGLE_GENERATIVE_AI_API_KEY: 'google' },
  ...{ GITHUB_TOKEN: 'github-models', GOOGLE_CLOUD_PROJECT: 'google-vertex', GROQ_API_KEY: 'groq' },
  ...{ MISTRAL_API_KEY: 'mistral', MOONSHOT_API_KEY: 'moonshotai', OPENAI_API_KEY: 'openai' },
  ...{ OPENCODE_API_KEY: 'opencode', OPENROUTER_API_KEY: 'openrouter', XAI_API_KEY: 'xai' },
};

/**
 * What OpenCode's configuration says of providers and models, measured with 1.18.33: of all its files but a project's,
 * which the client reads without asking anybody. It goes in by a variable, so keys may stand in it.
 */
function route(user: ClientUser, asked: string | null): Route {
  const config = opencodeConfig(user);
  const model = asked ?? configuredModel(config) ?? recentModel(user);
  const providers = readRecord(config, 'provider');
  const ids = model === null ? chosenByClient(Object.keys(providers), user.env) : [providerOf(model)];
  const settings = {
    ...picked(config, CARRIED),
    // No other provider is to be asked for anything.
    ...(model === null ? {} : { enabled_providers: ids, provider: picked(providers, ids) }),
  };
  return {
    model: asked === null ? model : null,
    settings,
    env: model !== null && isDescribed(model, providers) ? { OPENCODE_DISABLE_MODELS_FETCH: '1' } : {},
    passedOn: [
      ...ids.flatMap((id) => variablesOf(id, readRecord(providers, id))),
      ...variablesIn(JSON.stringify(settings)),
    ],
  };
}

/** The whole configuration, the later file being the stronger. */
function opencodeConfig(user: ClientUser): Json {
  const home = homeOf(user);
  const main = `${directoryIn('XDG_CONFIG_HOME', '.config', user)}/opencode`;
  const own = pathIn('OPENCODE_CONFIG', user);
  const directory = pathIn('OPENCODE_CONFIG_DIR', user);
  const both = (place: string) => [`${place}/opencode.json`, `${place}/opencode.jsonc`];
  const paths = [
    ...[`${main}/config.json`, ...both(main), own ?? []].flat(),
    ...[...both(`${home}/.opencode`), ...(directory === undefined ? [] : both(directory))],
  ];
  const inFiles = paths.map((path) =>
    withAbsoluteFiles(configIn(path, user), path.slice(0, path.lastIndexOf('/')), home),
  );
  const content = user.env.OPENCODE_CONFIG_CONTENT;
  const given = content ? [configIn('OPENCODE_CONFIG_CONTENT', { read: () => content })] : [];
  return [...inFiles, ...given].reduce(merged, {});
}

/** `{file:…}` stands for a file beside the configuration, or in a home directory that the child does not see as such. */
function withAbsoluteFiles<T>(value: T, directory: string, home: string): T {
  const inPlace = (_whole: string, path: string) => `{file:${absolute(path.trim(), directory, home)}}`;
  return JSON.parse(JSON.stringify(value), (_key, one: unknown) =>
    typeof one === 'string' ? one.replace(/\{file:([^}]+)\}/g, inPlace) : one,
  );
}

function absolute(path: string, directory: string, home: string): string {
  if (path.startsWith('~/')) return `${home}${path.slice(1)}`;
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) ? path : `${directory}/${path}`;
}

/** Asked by itself, the client uses one agent, and that one's model first. */
function configuredModel(config: Json): string | null {
  const agent = readString(config, 'default_agent') ?? 'build';
  const own = ['agent', 'mode'].map((key) => readString(readRecord(readRecord(config, key), agent), 'model'));
  return own[0] ?? own[1] ?? readString(config, 'model') ?? null;
}

/** The model that the user has chosen last, which the client takes where none is configured. */
function recentModel(user: ClientUser): string | null {
  const path = `${directoryIn('XDG_STATE_HOME', '.local/state', user)}/opencode/model.json`;
  const [last = {}] = readRecords(configIn(path, user).recent);
  const [provider, model] = [readString(last, 'providerID'), readString(last, 'modelID')];
  return provider === undefined || model === undefined ? null : `${provider}/${model}`;
}

function providerOf(model: string): string {
  return model.split('/', 1)[0] ?? model;
}

/** Whether the configuration itself says what there is to know of a model: then no list of models has to be asked for. */
function isDescribed(model: string, providers: Json): boolean {
  const provider = readRecord(providers, providerOf(model));
  return 'npm' in provider && model.slice(model.indexOf('/') + 1) in readRecord(provider, 'models');
}

/** Of which providers the client takes one by itself: of those that are configured, else of those with a key. */
function chosenByClient(configured: readonly string[], env: Environment): readonly string[] {
  if (configured.length > 0) return configured;
  const found = new Set(Object.entries(FOUND_BY).flatMap(([name, id]) => (env[name] ? [id] : [])));
  if (found.size <= 1) return [...found];
  throw new RouteRefusal(
    `OpenCode is not started: there are keys for ${[...found].sort().join(', ')}, and no "model" in its opencode.json ` +
      'says which of them is meant',
  );
}

function variablesOf(id: string, provider: Json): string[] {
  const known = VARIABLES[id] ?? [`${id.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY`];
  return [...known, ...readTexts(provider.env).filter((name) => /^\w+$/.test(name))];
}

const TOOLS = ['edit', 'bash', 'webfetch', 'websearch'] as const;
/** Allowed to every run, so that only what is kept back of them has to be told. */
const READING = ['read', 'grep', 'glob', 'list'] as const;

/**
 * What OpenCode's configuration lets it do, measured with 1.18.33: without a word of it, everything. Its rules come to
 * ours: what is allowed, and of what all is allowed, what is not. Those of the agent that the client takes by itself are
 * the stronger ones.
 */
function permissions(user: ClientUser): Permissions {
  const config = opencodeConfig(user);
  const agent = readRecord(readRecord(config, 'agent'), readString(config, 'default_agent') ?? 'build');
  const said = saidOfTools(config, agent);
  if (Object.values(said).every((value) => value === 'allow')) return { mode: 'all', allow: [], deny: [] };
  const rulesFor = (tool: string) => rulesOf(tool, said[tool] ?? said['*'] ?? 'allow');
  const rules = TOOLS.flatMap(rulesFor);
  return {
    mode: 'default',
    allow: rules.flatMap(({ text, action }) => (action === 'allow' ? [text] : [])),
    deny: [...rules, ...READING.flatMap(rulesFor)].flatMap(({ text, action, isBare }) =>
      action === 'allow' || (isBare && action === 'ask') ? [] : [text],
    ),
  };
}

/** What configurations say of tools, the later being the stronger: an action for each, or for patterns of its calls. */
export function saidOfTools(...configs: readonly Json[]): Json {
  const byTool = (all: unknown) => (isRecord(all) ? all : all === undefined ? {} : { '*': all });
  return configs.flatMap((one) => [switchedOff(one), byTool(one.permission)]).reduce(merged, {});
}

/** An older way to say it; one permission is for all tools that write. */
function switchedOff({ tools }: Json): Json {
  const off = Object.entries(asRecord(tools)).filter(([, isOn]) => !isOn);
  const names = off.map(([name]) => (/^(?:write|patch|multiedit)$/.test(name) ? 'edit' : name));
  return Object.fromEntries(names.map((name) => [name, 'deny']));
}

/** The last rule that fits decides, so that none before one for every call means anything. */
function rulesOf(tool: string, value: unknown) {
  const all = isRecord(value) ? Object.entries(value) : [['*', value] as const];
  const last = all.findLastIndex(([pattern]) => pattern === '*');
  return all.slice(Math.max(0, last)).map(([pattern, action]) => {
    const isBare = pattern === '*';
    return { text: isBare ? tool : `${tool}(${pattern})`, action, isBare };
  });
}

/** The variables that the client is to put into its configuration, whose text this is; none of our own. */
function variablesIn(text: string): string[] {
  const names = [...text.matchAll(/\{env:(\w+)\}/g)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !name.startsWith('SELF_GENERATION_'));
}

export const opencodeConfiguration: ClientConfiguration = {
  route,
  permissions,
  login: {
    directories: ['.local/share', '.'],
    variable: 'XDG_DATA_HOME', // The client's own directory is one in it.
    files: { 'opencode/auth.json': 'is a login' },
    variables: ['OPENCODE_AUTH_CONTENT', 'OPENCODE_API_KEY'],
  },
  caller: { marks: { OPENCODE: '1' }, mcpName: 'opencode' },
  server: {
    place: ({ env, home }) => {
      const directory = join(absoluteIn('XDG_CONFIG_HOME', env) ?? join(home, '.config'), 'opencode');
      const withComments = join(directory, 'opencode.jsonc');
      return { directory, path: existsSync(withComments) ? withComments : join(directory, 'opencode.json') };
    },
    format: 'json',
    holder: 'mcp',
    fresh: { $schema: 'https://opencode.ai/config.json' },
    entry: ({ command, variables }) => ({
      type: 'local',
      command: [command, 'mcp'],
      ...(variables && { environment: variables }),
    }),
    keys: { namedIn: variablesIn },
  },
};
