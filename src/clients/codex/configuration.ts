import { join } from 'node:path';
import {
  asRecord,
  isRecord,
  type Json,
  lookOr,
  readRecord,
  readString,
  readTexts,
} from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Environment } from '../../core/state-paths.ts';
import { NETWORK, type PermissionMode, type Permissions } from '../../runs/model/permissions.ts';
import type { ClientConfiguration } from '../client.ts';
import { below, lastSaid, MODE_BYTES_MAX, SESSION_ID } from '../reading.ts';
import { type ClientUser, type Route, RouteRefusal } from '../route.ts';
import { absoluteIn, configIn, directoryIn, merged, picked } from '../user-files.ts';

/** Where questions go, and with which login; how they are answered is not the point. */
const CARRIED: readonly string[] = [
  ...['model_provider', 'openai_base_url', 'chatgpt_base_url', 'cli_auth_credentials_store'],
  ...['forced_login_method', 'forced_chatgpt_workspace_id'],
];
/** Where the client's own files are. */
export const CODEX_PLACES: readonly string[] = ['CODEX_HOME', 'CODEX_CA_CERTIFICATE', 'CODEX_SQLITE_HOME'];
/** With these the client works as its own vendor's. */
const OWN_LOGINS: readonly string[] = [
  ...['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'OPENAI_API_KEY', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT'],
];
/** Read by the client itself as well. */
const SYSTEM_FILE = '/etc/codex/config.toml';
const OWN_PROVIDER = 'openai';
const BEDROCK = 'amazon-bedrock';
const KEY = 'SELF_GENERATION_PROVIDER_KEY';
const HEADER = 'SELF_GENERATION_PROVIDER_HEADER_';

/** The directory that the client takes for its own. */
export function codexDirectory(user: Pick<ClientUser, 'env' | 'agentDir'>): string {
  return user.agentDir ?? directoryIn('CODEX_HOME', '.codex', user);
}

/** The whole configuration. */
function codexConfig(user: ClientUser): Json {
  const [system, own] = [SYSTEM_FILE, `${codexDirectory(user)}/config.toml`].map((path) =>
    configIn(path, user, Bun.TOML.parse),
  );
  return merged(system ?? {}, own ?? {});
}

/**
 * What Codex' `config.toml` says of the provider, measured with 0.169.0. It goes in as settings on the command line, which
 * everybody on the machine can read, so keys are taken out of it and given by variables. A project's file says nothing of
 * a provider: the client passes over that part of it, trusted or not.
 */
function route(user: ClientUser): Route {
  const path = `${codexDirectory(user)}/config.toml`;
  const config = codexConfig(user);
  // The client itself does not start with it.
  if ('profile' in config)
    throw new RouteRefusal(`Codex is not started: "profile" in "${path}" is of an earlier release`);
  const id = readString(config, 'model_provider') ?? OWN_PROVIDER;
  const known = readRecord(config, 'model_providers')[id];
  const { settings: provider, env } = withoutKeys(asRecord(known));
  const { env_key: keyName, requires_openai_auth: needsOwn, aws } = provider;
  const isSet = typeof keyName !== 'string' || ({ ...user.env, ...env }[keyName] ?? '').trim() !== '';
  // The client itself does not ask without it; its own provider's table it passes over.
  if (!isSet && id !== OWN_PROVIDER) {
    throw new RouteRefusal(
      `Codex is not started: its key is in "${keyName}", says "model_providers.${id}" in "${path}", and that variable is ` +
        'not set here. Set it; where it is set and a client has started the MCP server, run "self-generation install ' +
        '--mcp", so that clients hand it on, and begin a new session of the client',
    );
  }
  const settings = {
    cli_auth_credentials_store: 'auto', // The login may be in the keyring.
    ...picked(config, CARRIED),
    ...(isRecord(known) ? { model_providers: { [id]: provider } } : {}),
  };
  if (hasOpenKey(settings)) {
    throw new RouteRefusal(
      `Codex is not started: "model_providers.${id}" in "${path}" holds a key in its address or its options, which ` +
        'everybody on the machine could read; put it into a variable, with env_key or env_http_headers',
    );
  }
  const logins = id === OWN_PROVIDER || needsOwn === true ? OWN_LOGINS : [];
  const ofCloud = id === BEDROCK || aws !== undefined ? ['AWS_*'] : [];
  const passedOn = [...keyVariables(provider), ...logins, ...ofCloud];
  return { model: readString(config, 'model') ?? null, settings, env, passedOn };
}

/** The provider with each key replaced by the name of a variable, and those variables. */
function withoutKeys({ experimental_bearer_token: token, http_headers: headers, ...rest }: Json) {
  const env: Record<string, string> = {};
  const settings: Json = { ...rest };
  if (typeof token === 'string' && rest.env_key === undefined) {
    env[KEY] = token;
    settings.env_key = KEY;
  }
  const all = Object.entries(asRecord(headers));
  const values = all.filter(([, one]) => typeof one === 'string');
  const names = Object.fromEntries(values.map(([header], index) => [header, `${HEADER}${index}`]));
  for (const [header, value] of values) env[names[header] ?? ''] = String(value);
  if (values.length > 0) settings.env_http_headers = { ...names, ...readRecord(rest, 'env_http_headers') };
  return { settings, env };
}

/** Whether there is still a key in it, by its look or by its place: for such a one there is no way but the command line. */
function hasOpenKey(settings: Json): boolean {
  const providers = providersIn(settings);
  const parameters = providers.flatMap((provider) => Object.keys(readRecord(provider, 'query_params')));
  return (
    textsIn(settings).some((text) => redactSecrets(text) !== text || /:\/\/(?:[^/]*@|.*[?#])/.test(text)) ||
    parameters.some((name) => name !== 'api-version') ||
    providers.some((provider) => 'gateway_oauth' in provider)
  );
}

function providersIn(config: Json): Json[] {
  return Object.values(readRecord(config, 'model_providers')).filter(isRecord);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The variables from which a provider takes its keys, by the names that the user has chosen. */
function keyVariables(provider: Json): string[] {
  const named = [provider.env_key, ...Object.values(readRecord(provider, 'env_http_headers'))];
  return readTexts(named).filter((name) => /^\w+$/.test(name));
}

/** The arguments that carry a route over. */
export function routeArgs({ settings }: Route): string[] {
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${toml(value)}`]);
}

/** A value on one line; DEL is the one character that JSON allows as it is and TOML does not. */
export function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
  const entries = Object.entries(value).map(([key, one]) => `${toml(key)}=${toml(one)}`);
  return `{${entries.join(',')}}`;
}

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ 'read-only': 'default', 'workspace-write': 'edit', 'danger-full-access': 'all' },
};

/** The mode that a sandbox comes to, and when the client asks: `untrusted` asks about whatever is more than looking. */
function modeOf(sandbox: string | undefined, approval: unknown): PermissionMode | undefined {
  const mode = MODES[sandbox ?? ''];
  return approval === 'untrusted' && mode !== undefined ? 'default' : mode;
}

/** What Codex' `config.toml` lets it do, measured with 0.169.0: a project that is trusted may be written in. */
function permissions(user: ClientUser): Permissions {
  const config = codexConfig(user);
  const project = readRecord(readRecord(config, 'projects'), user.cwd ?? '');
  const standard = project.trust_level === 'trusted' ? 'workspace-write' : 'read-only';
  const hasNetwork = readRecord(config, 'sandbox_workspace_write').network_access === true;
  return {
    mode: modeOf(readString(config, 'sandbox_mode') ?? standard, config.approval_policy) ?? 'default',
    allow: [
      ...(config.web_search === 'disabled' ? [] : ['web_search']), // Which the client never asks about.
      ...(hasNetwork ? [NETWORK] : []),
    ],
    deny: [],
  };
}

/** Directories of days in which a rollout is looked for, the newest first. */
const DAYS_MAX = 30;

/** The mode in which this client's session was last seen, by its rollout; undefined: nobody says. */
function sessionMode(_session: string | null, env: Environment): PermissionMode | undefined {
  return lastSaid(rolloutPath(env), '"sandbox_policy":', MODE_BYTES_MAX, (line) => {
    if (line.type !== 'turn_context') return undefined;
    const turn = readRecord(line, 'payload');
    const sandbox = readRecord(turn, 'sandbox_policy');
    return modeOf(readString(sandbox, 'type') ?? readString(sandbox, 'mode'), turn.approval_policy);
  });
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` below the client's own directory. */
function rolloutPath(env: Environment): string | undefined {
  const thread = env.CODEX_THREAD_ID ?? '';
  if (!SESSION_ID.test(thread)) return undefined;
  return lookOr(() => {
    const root = `${codexDirectory({ env, agentDir: null })}/sessions`;
    const days = below(root).flatMap(below).flatMap(below).slice(0, DAYS_MAX);
    return days.flatMap(below).find((path) => path.endsWith(`-${thread}.jsonl`));
  }, undefined); // The client keeps none, or elsewhere.
}

export const codexConfiguration: ClientConfiguration = {
  route,
  permissions,
  login: {
    directories: ['.codex', 'codex', '.'],
    variable: 'CODEX_HOME',
    files: { 'auth.json': 'is a login' },
    variables: ['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'OPENAI_*', 'CODEX_HOME', 'CODEX_SQLITE_HOME'],
  },
  caller: {
    marks: { CODEX_THREAD_ID: 'any', CODEX_CI: 'any' },
    storedSessionVariable: 'CODEX_THREAD_ID',
    mcpName: 'codex-mcp-client',
    mode: sessionMode,
  },
  server: {
    place: ({ env, home }) => {
      const directory = absoluteIn('CODEX_HOME', env) ?? join(home, '.codex');
      return { directory, path: join(directory, 'config.toml') };
    },
    format: 'toml',
    holder: 'mcp_servers',
    entry: ({ command, variables, handedOn }) => ({
      command,
      args: ['mcp'],
      env_vars: handedOn,
      ...(variables && { env: variables }),
    }),
    holdsBack: true,
    keys: {
      files: [SYSTEM_FILE],
      namedIn: (text) => providersIn(Bun.TOML.parse(text) as Json).flatMap(keyVariables),
    },
  },
};
