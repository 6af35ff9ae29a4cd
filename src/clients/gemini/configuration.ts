import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { lookOr, readRecord, readString, readTexts } from '../../core/guards.ts';
import { type PermissionMode, type Permissions, parseRules } from '../../runs/model/permissions.ts';
import type { ClientConfiguration } from '../client.ts';
import { type ClientUser, type Route, RouteRefusal } from '../route.ts';
import { HANDED_ON } from '../server-entry.ts';
import { absoluteIn, configIn, homeOf, pathIn, textOf } from '../user-files.ts';

/** Names the home; without it, that is the user's. */
export const HOME_VARIABLE = 'GEMINI_CLI_HOME';
/** Says which kind of login is meant, where several could be. */
export const LOGIN_KIND = 'SELF_GENERATION_GEMINI_LOGIN';
const DIRECTORY = '.gemini';

/** In a `.env` of the client's directory, where its guide advises to keep them. */
const IN_DOTENV: ReadonlySet<string> = new Set([
  ...['GEMINI_API_KEY', 'GEMINI_MODEL', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  ...['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA', 'GOOGLE_APPLICATION_CREDENTIALS'],
  ...['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT'],
]);
/** Not all of `GEMINI_*`: GEMINI_SANDBOX moves the prompt to the arguments of a container. */
const OWN: readonly string[] = [
  ...['GEMINI_API_KEY', 'GEMINI_MODEL', 'GEMINI_FORCE_*', 'CODE_ASSIST_ENDPOINT', 'CLOUD_SHELL'],
  ...['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_GENAI_*', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
];
/** Kinds of login that use those of Google's cloud. */
const CLOUD: Readonly<Record<string, readonly string[]>> = {
  'vertex-ai': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
  'compute-default-credentials': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
};

/** What a project's settings or `.env` may say of where questions go. */
const LEADS_AWAY = /^(?:GOOGLE_(?:GEMINI|VERTEX)_BASE_URL|CODE_ASSIST_ENDPOINT|GOOGLE_GENAI_USE_\w+)$/;

/** The directory that the client takes for its own. */
export function geminiDirectory(user: Pick<ClientUser, 'env' | 'agentDir'>): string {
  return user.agentDir ?? `${pathIn(HOME_VARIABLE, user) ?? homeOf(user)}/${DIRECTORY}`;
}

/**
 * What Gemini CLI's settings and the `.env` beside them say of login, address and model, measured with 0.61.0. As a run
 * has a home of its own, each of `files` is also to be linked there, see `agent-login.ts`.
 */
function route(user: ClientUser): Route {
  const directory = geminiDirectory(user);
  const settings = configIn(`${directory}/settings.json`, user);
  if (isTrusted(directory, user)) refuseProject(user);
  const inHome = user.agentDir === null ? [`${homeOf(user)}/.env`] : [];
  const said = variablesIn(firstText([`${directory}/.env`, ...inHome], user)); // The client reads one, the nearer one.
  const known = { ...said, ...user.env };
  const asked = readString(readRecord(readRecord(settings, 'security'), 'auth'), 'selectedType');
  // Where it is, and cannot be read, is the client's to find out.
  const hasAccount = lookOr(() => user.read(`${directory}/oauth_creds.json`) !== undefined, true);
  const kind = asked || known[LOGIN_KIND] || kindOf(known, hasAccount);
  const missing = Object.entries(said).filter(([name]) => user.env[name] === undefined);
  return {
    model: known.GEMINI_MODEL ? null : (readString(readRecord(settings, 'model'), 'name') ?? null),
    settings: {},
    env: { ...Object.fromEntries(missing), ...(kind === undefined ? {} : { [LOGIN_KIND]: kind }) },
    passedOn: [...OWN, ...(CLOUD[kind ?? ''] ?? [])],
  };
}

/** The text of the first of these files that there is. */
function firstText(paths: readonly string[], { read }: ClientUser): string {
  for (const path of paths) {
    const text = textOf(path, read);
    if (text !== undefined) return text;
  }
  return '';
}

/** Whether the client has been told that it may believe the project; asked for nothing, it believes none. */
function isTrusted(directory: string, user: ClientUser): boolean {
  const { cwd } = user;
  if (cwd === null) return false;
  const rules = Object.entries(configIn(`${directory}/trustedFolders.json`, user));
  return rules.some(([path, rule]) => {
    const trusted = rule === 'TRUST_PARENT' ? path.replace(/\/[^/]*$/, '') : path;
    return rule !== 'DO_NOT_TRUST' && `${cwd}/`.startsWith(`${trusted}/`);
  });
}

function refuseProject(user: ClientUser): void {
  const place = `${user.cwd}/${DIRECTORY}`;
  const settings = configIn(`${place}/settings.json`, user);
  const auth = readRecord(readRecord(settings, 'security'), 'auth');
  const said = variablesIn(firstText([`${place}/.env`, `${user.cwd}/.env`], user));
  const [variable] = Object.keys(said).filter((name) => LEADS_AWAY.test(name));
  const leading = variable ?? ('selectedType' in auth ? 'security.auth.selectedType' : undefined);
  if (leading === undefined) return;
  throw new RouteRefusal(
    `Gemini CLI is not started: "${leading}" of the project "${user.cwd}" would send questions elsewhere than the ` +
      "user's own settings do, and only those are given to it",
  );
}

/** Which kind of login the client would choose by itself: asked for none, it refuses to start in a home without settings. */
function kindOf(env: Readonly<Record<string, string | undefined>>, hasAccount: boolean): string | undefined {
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return 'oauth-personal';
  if (env.GOOGLE_GENAI_USE_VERTEXAI === 'true') return 'vertex-ai';
  if (env.GEMINI_API_KEY) return 'gemini-api-key';
  return hasAccount ? 'oauth-personal' : undefined;
}

function variablesIn(text: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(parseEnv(text)).filter(([name]) => IN_DOTENV.has(name)));
}

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ plan: 'plan', default: 'default', auto_edit: 'edit', autoEdit: 'edit' },
};

const CHANGING = ['edit', 'exec', 'web_fetch', 'web_search'];

/** What the settings of Gemini CLI let it do, measured with 0.61.0. Everything at once it does by its command line alone. */
function permissions(user: ClientUser): Permissions {
  const directory = geminiDirectory(user);
  const settings = configIn(`${directory}/settings.json`, user);
  const folderTrust = readRecord(readRecord(settings, 'security'), 'folderTrust');
  const mode = readString(readRecord(settings, 'general'), 'defaultApprovalMode');
  const tools = readRecord(settings, 'tools');
  const isAsked = folderTrust.enabled !== false && !isTrusted(directory, user); // It asks there whatever the mode is.
  // What is not on the list of all the tools that there are; of commands, some on it are no more than those.
  const all = Array.isArray(tools.core) ? parseRules(rulesOf(tools.core)).map(({ tool }) => tool) : CHANGING;
  return {
    mode: isAsked ? 'default' : (MODES[mode ?? ''] ?? 'default'),
    allow: ['web_search', ...rulesOf(tools.allowed)], // The first is never asked about.
    deny: [...rulesOf(tools.exclude), ...CHANGING.filter((tool) => !all.includes(tool))],
  };
}

/** `run_shell_command(git)` speaks of what begins with that word. */
function rulesOf(names: unknown): string[] {
  return readTexts(names).map((text) => text.replace(/^(\w+)\((.+)\)$/s, '$1($2:*)'));
}

export const geminiConfiguration: ClientConfiguration = {
  route,
  permissions,
  login: {
    directories: ['.gemini', 'gemini', '.'],
    files: {
      'oauth_creds.json': 'is a login',
      'gemini-credentials.json': 'is a login',
      '.env': (text) => /^\s*(?:export\s+)?(?:GEMINI|GOOGLE)_API_KEY\s*=/m.test(text),
    },
    variables: ['GEMINI_*', 'GOOGLE_*', LOGIN_KIND],
    linked: {
      directory: DIRECTORY,
      source: geminiDirectory,
      files: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json', 'installation_id'],
      ofSession: ['tmp', 'history', 'projects.json'],
    },
  },
  caller: { marks: { GEMINI_CLI: '1' }, mcpName: 'gemini-cli-mcp-client' },
  server: {
    place: ({ env, home }) => {
      const directory = join(absoluteIn(HOME_VARIABLE, env) ?? home, DIRECTORY);
      return { directory, path: join(directory, 'settings.json') };
    },
    format: 'json',
    holder: 'mcpServers',
    // Filled in by the client from its own environment; empty when it has none. No key is written into the file.
    entry: ({ command, variables, handedOn }) => {
      const keys = handedOn.filter((name) => !HANDED_ON.includes(name) || /KEY|TOKEN/.test(name));
      const filledIn = Object.fromEntries(keys.map((name) => [name, `\${${name}:-}`]));
      return { command, args: ['mcp'], env: { ...filledIn, ...variables } };
    },
    holdsBack: true,
  },
};
