import { statSync } from 'node:fs';
import {
  isRecord,
  type Json,
  lookOr,
  parseJson,
  readRecord,
  readString,
  readTexts,
} from '../../core/guards.ts';
import { type Environment, isAbsolutePath } from '../../core/state-paths.ts';
import type { PermissionMode, Permissions } from '../../runs/model/permissions.ts';
import type { ClientConfiguration } from '../client.ts';
import { below, lastSaid, MODE_BYTES_MAX, SESSION_ID } from '../reading.ts';
import { type ClientUser, type Route, RouteRefusal } from '../route.ts';
import { configIn, directoryIn, homeOf, merged, pathIn, picked } from '../user-files.ts';
import { claudeServer } from './setup.ts';

/** Names, not `CLAUDE_CODE_*`: a client that runs inside another must not inherit that one's session. */
const OWN: readonly string[] = [
  ...['ANTHROPIC_*', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_API_KEY_HELPER_TTL_MS', 'CLAUDE_CODE_USE_*'],
  ...['CLAUDE_CODE_SKIP_BEDROCK_AUTH', 'CLAUDE_CODE_SKIP_VERTEX_AUTH', 'CLAUDE_CODE_SKIP_FOUNDRY_AUTH'],
  ...['CLAUDE_CODE_CLIENT_CERT', 'CLAUDE_CODE_CLIENT_KEY', 'CLAUDE_CODE_CLIENT_KEY_PASSPHRASE'],
];
/** What belongs to each cloud that resells models, by the variable that switches it on. */
const CLOUDS: Readonly<Record<string, readonly string[]>> = {
  CLAUDE_CODE_USE_BEDROCK: ['AWS_*'],
  CLAUDE_CODE_USE_MANTLE: ['AWS_*'],
  CLAUDE_CODE_USE_ANTHROPIC_AWS: ['AWS_*'],
  CLAUDE_CODE_USE_VERTEX: ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT', 'CLOUD_ML_REGION', 'VERTEX_REGION_*'],
  CLAUDE_CODE_USE_FOUNDRY: ['AZURE_*'],
};
/** Of the one system or the other; read by the client itself as well. */
const OF_ADMINISTRATOR: readonly string[] = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
];
/** What a project's settings may say of where questions go. */
const LEADS_AWAY = /^(?:ANTHROPIC_\w*(?:URL|KEY|TOKEN|RESOURCE)|CLAUDE_CODE_USE_\w+)$/;

/** The directory that the client takes for its own. */
export function claudeDirectory(user: Pick<ClientUser, 'env' | 'agentDir'>): string {
  return user.agentDir ?? directoryIn('CLAUDE_CONFIG_DIR', '.claude', user);
}

/**
 * Claude Code reads the user's settings itself. What is looked up here is which cloud they switch on, because of its
 * login, and whether the project's settings, which a child is not given, would have sent questions elsewhere.
 */
function route(user: ClientUser): Route {
  const { env } = user;
  const directory = claudeDirectory(user);
  const files = [`${directory}/settings.json`, ...OF_ADMINISTRATOR];
  const own = readRecord(files.map((path) => configIn(path, user)).reduce(merged, {}), 'env');
  if (isTrusted(user)) refuseProject(user);
  const isOff = (value: unknown) => typeof value !== 'string' || /^(?:|0|false|no|off)$/i.test(value.trim());
  const clouds = Object.entries(CLOUDS).filter(([name]) => !isOff(own[name] ?? env[name]));
  return { model: null, settings: {}, env: {}, passedOn: [...OWN, ...clouds.flatMap(([, names]) => names)] };
}

/** Whether the client has been told that it may believe the project. */
function isTrusted(user: ClientUser): boolean {
  const { agentDir, cwd } = user;
  if (cwd === null) return false;
  const directory = agentDir ?? pathIn('CLAUDE_CONFIG_DIR', user) ?? homeOf(user);
  const projects = readRecord(configIn(`${directory}/.claude.json`, user), 'projects');
  return directoriesAbove(cwd).some((path) => readRecord(projects, path).hasTrustDialogAccepted === true);
}

/** The directory itself, and each above it. */
function directoriesAbove(path: string | null): string[] {
  const names = path === null ? [] : path.split('/');
  return names.map((_name, index) => names.slice(0, names.length - index).join('/') || '/');
}

function refuseProject(user: ClientUser): void {
  for (const name of ['settings.local.json', 'settings.json']) {
    const path = `${user.cwd}/.claude/${name}`;
    if (path === `${homeOf(user)}/.claude/settings.json`) continue;
    const config = configIn(path, user);
    const names = Object.keys(readRecord(config, 'env')).filter((one) => LEADS_AWAY.test(one));
    const [leading] = [...names.map((one) => `env.${one}`), ...Object.keys(picked(config, ['apiKeyHelper']))];
    if (leading === undefined) continue;
    throw new RouteRefusal(
      `Claude Code is not started: "${leading}" in "${path}" would send questions elsewhere than the user's own ` +
        'settings do, and only those are given to it',
    );
  }
}

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ plan: 'plan', default: 'default', dontAsk: 'default', acceptEdits: 'edit', auto: 'auto' },
  bypassPermissions: 'all',
};

/** What the client knows by exactly this name; a rule of its for any other one allows nothing. */
const TOOLS = /^\s*(?:Bash|Edit|Glob|Grep|Read|WebFetch|WebSearch|Write)\s*(?:\(|$)/;

/**
 * What Claude Code's settings let a session do, measured with 2.1.328. What a project's settings forbid counts always, and
 * in all that is below; what they allow counts where the user has told the client that the project may be believed. What
 * would be asked about counts as forbidden: nobody can be asked.
 */
function permissions(user: ClientUser): Permissions {
  const own = configIn(`${claudeDirectory(user)}/settings.json`, user);
  const [project = [], ...above] = directoriesAbove(user.cwd).map((directory) =>
    ['settings.json', 'settings.local.json'].map((name) => configIn(`${directory}/.claude/${name}`, user)),
  );
  const ofAdministrator = OF_ADMINISTRATOR.map((path) => configIn(path, user));
  const believed = [own, ...(isTrusted(user) ? project : []), ...ofAdministrator];
  const named = believed.map((one) => readString(readRecord(one, 'permissions'), 'defaultMode') ?? '');
  const modes = named.flatMap((name) => MODES[name] ?? []);
  const all = [own, ...project, ...above.flat(), ...ofAdministrator];
  return {
    mode: modes.at(-1) ?? 'default',
    allow: believed.flatMap((one) => rulesIn(one, 'allow')).filter((rule) => TOOLS.test(rule)),
    deny: [...new Set(all.flatMap((one) => [...rulesIn(one, 'deny'), ...rulesIn(one, 'ask')]))],
  };
}

function rulesIn(settings: Json, name: 'allow' | 'deny' | 'ask'): string[] {
  return readTexts(readRecord(settings, 'permissions')[name]);
}

const MODEL = /^claude-[\w.@:/[\]-]{1,150}$/;
/** Of the end of a transcript; a model stands at each message of the assistant. */
const MODEL_BYTES_MAX = 1024 * 1024;

/** The model of a session: by the end of its transcript, else as the environment sets it. Null when nobody says. */
function sessionModel(session: string | null, env: Environment): string | null {
  const model = lastSaid(transcriptPath(session, env), '"model":"claude-', MODEL_BYTES_MAX, (line) => {
    const said = line.type === 'assistant' ? readString(readRecord(line, 'message'), 'model') : undefined;
    return said !== undefined && MODEL.test(said) ? said : undefined;
  });
  return model ?? (env.ANTHROPIC_MODEL || null);
}

/** The mode in which a session was last seen, by its transcript; undefined: nobody says. */
function sessionMode(session: string | null, env: Environment): PermissionMode | undefined {
  const said = lastSaid(transcriptPath(session, env), '"permissionMode":', MODE_BYTES_MAX, (line) =>
    readString(line, 'permissionMode'),
  );
  return MODES[said ?? ''];
}

/** By its id alone: the shell of the session may have gone elsewhere, and the client may know the directory by another name. */
function transcriptPath(session: string | null, env: Environment): string | undefined {
  if (session === null || !SESSION_ID.test(session)) return undefined;
  return lookOr(() => {
    const directory = claudeDirectory({ env, agentDir: null });
    const projects = isAbsolutePath(directory) ? below(`${directory}/projects`) : [];
    const times = projects.flatMap((project) => {
      const path = `${project}/${session}.jsonl`;
      const file = statSync(path, { throwIfNoEntry: false });
      return file === undefined ? [] : [{ path, timeMs: file.mtimeMs }];
    });
    return times.sort((one, other) => other.timeMs - one.timeMs)[0]?.path;
  }, undefined); // The client keeps none, or elsewhere.
}

/** Whether one of the client's files has one of these fields, or a key among the variables that it sets. */
function hasField(text: string, names: readonly string[]): boolean {
  const value = parseJson(text);
  if (!isRecord(value)) return false;
  const keys = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'];
  const has = (record: Json, wanted: readonly string[]) => wanted.some((name) => Object.hasOwn(record, name));
  return has(value, names) || has(readRecord(value, 'env'), keys);
}

export const claudeConfiguration: ClientConfiguration = {
  route,
  permissions,
  login: {
    directories: ['.claude', 'claude', '.'],
    variable: 'CLAUDE_CONFIG_DIR',
    files: {
      '.credentials.json': 'is a login',
      '.claude.json': (text) => hasField(text, ['oauthAccount', 'primaryApiKey']),
      'settings.json': (text) => hasField(text, ['apiKeyHelper']),
    },
    variables: ['ANTHROPIC_*', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_*', 'CLAUDE_CONFIG_DIR'],
  },
  caller: {
    marks: { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 'any' },
    // In its servers' environment too (measured with 2.1.328), where other clients may inherit it.
    sessionVariable: 'CLAUDE_CODE_SESSION_ID',
    storedSessionVariable: 'CLAUDE_CODE_SESSION_ID',
    mcpName: 'claude-code',
    model: sessionModel,
    mode: sessionMode,
  },
  server: claudeServer,
};
