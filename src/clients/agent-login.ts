import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientName } from '../core/client-name.ts';
import { isRecord, parseJson, readRecord } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { readRegularFile } from '../system/files.ts';
import { isNamed } from './environment.ts';
import { GEMINI_LOGIN, geminiDirectory } from './gemini/configuration.ts';
import type { ClientUser } from './route.ts';

/**
 * With which login an agent works (R32–R35): by its id, from its own directory. Where that has none for the client, the
 * main agent's is used, and then the user's own: each client by itself, and the agent's always wins.
 */

const MAIN_AGENT = 'main';

type Place = {
  /** Below the agent's directory, which may be laid out as a home directory is. */
  readonly directories: readonly string[];
  /** Whether a login stands in such a directory. */
  readonly holdsLogin: (directory: string) => boolean;
  /** Logins of the caller's environment, which the client would take instead of the agent's. */
  readonly variables: readonly string[];
};

const PLACES: Readonly<Record<ClientName, Place>> = {
  claude: {
    directories: ['.claude', 'claude', '.'],
    holdsLogin: (directory) =>
      has(directory, '.credentials.json') ||
      hasField(directory, '.claude.json', ['oauthAccount', 'primaryApiKey']) ||
      hasField(directory, 'settings.json', ['apiKeyHelper']),
    variables: ['ANTHROPIC_*', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_*', 'CLAUDE_CONFIG_DIR'],
  },
  codex: {
    directories: ['.codex', 'codex', '.'],
    holdsLogin: (directory) => has(directory, 'auth.json'),
    variables: ['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'OPENAI_*', 'CODEX_HOME', 'CODEX_SQLITE_HOME'],
  },
  gemini: {
    directories: ['.gemini', 'gemini', '.'],
    holdsLogin: (directory) =>
      has(directory, 'oauth_creds.json') ||
      has(directory, 'gemini-credentials.json') ||
      /^\s*(?:export\s+)?(?:GEMINI|GOOGLE)_API_KEY\s*=/m.test(textOf(join(directory, GEMINI_LOGIN.dotenv))),
    variables: ['GEMINI_*', 'GOOGLE_*', GEMINI_LOGIN.kindVariable],
  },
  opencode: {
    // As its `XDG_DATA_HOME`.
    directories: ['.local/share', '.'],
    holdsLogin: (directory) => has(directory, 'opencode/auth.json'),
    variables: ['OPENCODE_AUTH_CONTENT', 'OPENCODE_API_KEY'],
  },
};

export type AgentOfClient = { readonly agentId: string; readonly client: ClientName };

/**
 * The directory with the login that the agent has for the client, in the client's own layout: its own, else the main
 * agent's. Null: the user's. Without `agentDir` in the settings an agent's directory is `agents/<id>` of ours.
 */
export function agentDirFor(
  { agentId, client }: AgentOfClient,
  settings: RunSettings,
  paths: StatePaths,
): string | null {
  const { directories, holdsLogin } = PLACES[client];
  for (const id of new Set([agentId, MAIN_AGENT])) {
    const own = settings.agents.find((agent) => agent.id === id)?.agentDir ?? join(paths.home, 'agents', id);
    for (const directory of directories) {
      const place = join(own, directory);
      if (holdsLogin(place)) return place;
    }
  }
  return null;
}

export type LoginOf = {
  readonly client: ClientName;
  /** As agentDirFor() gave it. */
  readonly agentDir: string | null;
};

/** The environment to start the client with: without the caller's logins when the agent has one of its own. */
export function loginEnvironment({ client, agentDir }: LoginOf, env: Environment): Environment {
  if (agentDir === null) return env;
  const { variables } = PLACES[client];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isNamed(name, variables)));
}

/** The user of a run's client, as far as it says where the task goes. */
export function userOf(
  { client, agentDir, cwd }: LoginOf & { readonly cwd: string },
  env: Environment,
): ClientUser {
  return { env: loginEnvironment({ client, agentDir }, env), agentDir, cwd, read: readRegularFile };
}

/** Brings the login to the private directory of a turn, for the client that looks for it there. @throws Error from the system. */
export function bringLogin(
  client: ClientName,
  user: Pick<ClientUser, 'env' | 'agentDir'>,
  directory: string,
): void {
  if (client !== 'gemini') return;
  linkFiles(geminiDirectory(user), join(directory, GEMINI_LOGIN.directory), GEMINI_LOGIN.files);
}

/** What a session is found by, or grows with it: it stays the run's own. */
const OF_SESSION = ['tmp', 'history', 'projects.json'];

/**
 * Brings all that the user has configured to the directory with a run's session, where the one client that has its
 * sessions and its configuration in one place is to be the user's own. @throws Error from the system.
 */
export function bringConfiguration(
  client: ClientName,
  user: Pick<ClientUser, 'env' | 'agentDir'>,
  directory: string,
): void {
  if (client !== 'gemini') return;
  const source = geminiDirectory(user);
  const names = existsSync(source) ? readdirSync(source) : [];
  const brought = names.filter((name) => !OF_SESSION.includes(name));
  linkFiles(source, join(directory, GEMINI_LOGIN.directory), brought);
}

/** As links: a copy would grow old, because each renewal of a login voids the one before. */
function linkFiles(source: string, target: string, names: readonly string[]): void {
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const name of names) {
    if (!has(source, name) || has(target, name)) continue;
    symlinkSync(join(source, name), join(target, name));
  }
}

function has(directory: string, file: string): boolean {
  return existsSync(join(directory, file));
}

function hasField(directory: string, file: string, names: readonly string[]): boolean {
  const value = parseJson(textOf(join(directory, file)));
  if (!isRecord(value)) return false;
  const env = Object.keys(readRecord(value, 'env'));
  return (
    names.some((name) => Object.hasOwn(value, name)) ||
    env.some((name) => /^ANTHROPIC_(?:API_KEY|AUTH_TOKEN)$/.test(name))
  );
}

/** The text of a file; empty when there is none. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
