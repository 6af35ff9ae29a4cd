import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientName } from '../core/client-name.ts';
import { lookOr } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { readRegularFile } from '../system/files.ts';
import type { LinkedLogin } from './client.ts';
import { clientNamed } from './clients.ts';
import { type ClientUser, isNamed } from './route.ts';

/**
 * With which login an agent works (R32–R35): by its id, from its own directory. Where that has none for the client, the
 * main agent's is used, and then the user's own: each client by itself, and the agent's always wins.
 */

const MAIN_AGENT = 'main';

export type AgentOfClient = { readonly agentId: string; readonly client: ClientName };

/**
 * The directory with the login that the agent has for the client, in the client's own layout: its own, else the main
 * agent's. Null: the user's. Without `agentDir` in the settings an agent's directory is `agents/<id>` of ours.
 */
export function agentDirFor(
  { agentId, client }: AgentOfClient,
  { agents }: { readonly agents: readonly { readonly id: string; readonly agentDir: string | null }[] },
  paths: StatePaths,
): string | null {
  const { directories, files } = clientNamed(client).login;
  const holdsLogin = (directory: string) =>
    Object.entries(files).some(([name, holds]) => {
      const file = join(directory, name);
      return holds === 'is a login' ? existsSync(file) : holds(lookOr(() => readFileSync(file, 'utf8'), ''));
    });
  for (const id of new Set([agentId, MAIN_AGENT])) {
    const own = agents.find((agent) => agent.id === id)?.agentDir ?? join(paths.home, 'agents', id);
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
  const { variables } = clientNamed(client).login;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isNamed(name, variables)));
}

/** The user of a run's client, as far as it says where the task goes. */
export function userOf(
  { client, agentDir, cwd }: LoginOf & { readonly cwd: string },
  env: Environment,
): ClientUser {
  return { env: loginEnvironment({ client, agentDir }, env), agentDir, cwd, read: readRegularFile };
}

type LoginUser = Pick<ClientUser, 'env' | 'agentDir'>;

/** Brings the login to the private directory of a turn, for a client that looks for it there. @throws Error from the system. */
export function bringLogin(client: ClientName, user: LoginUser, directory: string): void {
  linkFiles(client, user, directory, ({ files }) => files);
}

/**
 * Brings all that the user has configured to the directory with a run's session, where a client that has its sessions
 * and its configuration in one place is to be the user's own. @throws Error from the system.
 */
export function bringConfiguration(client: ClientName, user: LoginUser, directory: string): void {
  linkFiles(client, user, directory, ({ ofSession }, source) =>
    (existsSync(source) ? readdirSync(source) : []).filter((name) => !ofSession.includes(name)),
  );
}

/** As links: a copy would grow old, because each renewal of a login voids the one before. */
function linkFiles(
  client: ClientName,
  user: LoginUser,
  directory: string,
  namesOf: (linked: LinkedLogin, source: string) => readonly string[],
): void {
  const { linked } = clientNamed(client).login;
  if (linked === undefined) return;
  const [source, target] = [linked.source(user), join(directory, linked.directory)];
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const name of namesOf(linked, source)) {
    if (existsSync(join(source, name)) && !existsSync(join(target, name)))
      symlinkSync(join(source, name), join(target, name));
  }
}
