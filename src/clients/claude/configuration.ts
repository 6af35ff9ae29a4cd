import { type Json, readRecord, readString } from '../../core/guards.ts';
import type { PermissionMode, Permissions } from '../../runs/model/permissions.ts';
import {
  type ClientUser,
  configIn,
  homeOf,
  isOn,
  merged,
  pathIn,
  type Route,
  RouteRefusal,
  routed,
} from '../route.ts';

/**
 * Claude Code reads the user's settings itself. What is looked up here is which cloud they switch on, because of its
 * login, and whether the project's settings, which a child is not given, would have sent questions elsewhere.
 */
export const claudeRoute = routed(routeOf);

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
function claudeDirectory(user: ClientUser): string {
  return user.agentDir ?? pathIn('CLAUDE_CONFIG_DIR', user) ?? `${homeOf(user)}/.claude`;
}

function routeOf(user: ClientUser): Route {
  const { env } = user;
  const directory = claudeDirectory(user);
  const files = [`${directory}/settings.json`, ...OF_ADMINISTRATOR];
  const own = readRecord(files.map((path) => configIn(path, user)).reduce(merged, {}), 'env');
  if (isTrusted(user)) refuseProject(user);
  const clouds = Object.entries(CLOUDS).filter(([name]) => isOn(own[name] ?? env[name]));
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
    const leading = [
      ...names.map((one) => `env.${one}`),
      ...('apiKeyHelper' in config ? ['apiKeyHelper'] : []),
    ];
    if (leading.length === 0) continue;
    throw new RouteRefusal(
      `Claude Code is not started: "${leading[0]}" in "${path}" would send questions elsewhere than the user's own ` +
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

/** The mode by the client's own name for it. */
export function claudeMode(name: string | undefined): PermissionMode | undefined {
  return name === undefined ? undefined : MODES[name];
}

/**
 * What Claude Code's settings let a session do, measured with 2.1.328. What a project's settings forbid counts always, and
 * in all that is below; what they allow counts where the user has told the client that the project may be believed. What
 * would be asked about counts as forbidden: nobody can be asked.
 */
export function claudePermissions(user: ClientUser): Permissions {
  const own = configIn(`${claudeDirectory(user)}/settings.json`, user);
  const [project = [], ...above] = directoriesAbove(user.cwd).map((directory) =>
    ['settings.json', 'settings.local.json'].map((name) => configIn(`${directory}/.claude/${name}`, user)),
  );
  const ofAdministrator = OF_ADMINISTRATOR.map((path) => configIn(path, user));
  const believed = [own, ...(isTrusted(user) ? project : []), ...ofAdministrator];
  const modes = believed.flatMap(
    (one) => claudeMode(readString(readRecord(one, 'permissions'), 'defaultMode')) ?? [],
  );
  const all = [own, ...project, ...above.flat(), ...ofAdministrator];
  return {
    mode: modes.at(-1) ?? 'default',
    allow: believed.flatMap((one) => rulesIn(one, 'allow')).filter((rule) => TOOLS.test(rule)),
    deny: [...new Set(all.flatMap((one) => [...rulesIn(one, 'deny'), ...rulesIn(one, 'ask')]))],
  };
}

function rulesIn(settings: Json, name: 'allow' | 'deny' | 'ask'): string[] {
  const rules = readRecord(settings, 'permissions')[name];
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === 'string') : [];
}
