import { createHmac } from 'node:crypto';
import { rmSync } from 'node:fs';
import { z } from 'zod';
import { parseJson } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { Server } from '../database/postgres.ts';
import { readServerAddress, type ServerAddress } from '../database/server-address.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../system/atomic-file.ts';
import { readTextFile } from '../system/runtime-bun.ts';

/** Of which team this machine's user is a member, and how its server is reached. */

/** Where a team's things lie on this machine. */
export function teamPaths({ home, data }: StatePaths) {
  return {
    membership: `${home}/team.json`,
    /** The copy of what the team shares. It can be made anew from the server. */
    copy: `${data}/team.db`,
    /** Held while a sync runs. */
    lock: `${data}/team-sync.lock`,
    /** How the last sync went. */
    lastSync: `${data}/team-sync.json`,
  };
}

const MEMBERSHIP = z.object({
  /** Without a password. */
  url: z.string().min(1),
  team: z.string().min(1),
  /** 32 bytes in hexadecimal: the team's, which its server does not know. */
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** The login, as the server knows this member. */
  login: z.string().min(1),
  /** The repositories that this user shares: the remote's address in one spelling, and the projects here that were named. */
  shared: z.array(z.object({ remote: z.string().min(1), projects: z.array(z.string().min(1)) })),
});

export type Membership = z.infer<typeof MEMBERSHIP>;

/** The file with the membership cannot be read. */
export class DamagedMembership extends Error {}

/** The membership of this user; undefined without one. @throws Error when the file is damaged. */
export function readMembership(paths: StatePaths): Membership | undefined {
  const file = teamPaths(paths).membership;
  const text = readTextFile(file);
  if (text === undefined) return undefined;
  const read = MEMBERSHIP.safeParse(parseJson(text));
  if (read.success) return read.data;
  const advice = 'Join the team again with "self-generation team join"';
  throw new DamagedMembership(`Cannot read "${file}": it is damaged. ${advice}`);
}

/** Keeps it, for its owner alone. */
export function writeMembership(membership: Membership, paths: StatePaths): void {
  ensurePrivateDirectory(paths.home);
  writeFileAtomic(teamPaths(paths).membership, `${JSON.stringify(membership, null, 2)}\n`, { mode: 0o600 });
}

/** Forgets the team: what waits for an answer, and the copy of what it shares. */
export function removeMembership(paths: StatePaths): void {
  const { membership, copy, lastSync } = teamPaths(paths);
  for (const file of [membership, copy, `${copy}-wal`, `${copy}-shm`, lastSync])
    rmSync(file, { force: true });
}

/** By which a member sees that a key is the team's. */
export function keyCheck(key: string, team: string): string {
  return keyed(key, `team\n${team}`);
}

/** The name of a repository for the team, by the spelling of its remote: the same for every member, and no server can undo it. */
export function repositoryName(key: string, remote: string): string {
  return keyed(key, `repository\n${remote}`);
}

function keyed(key: string, text: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('hex');
}

/** Connects to a server. What that takes is no part of what every command loads. */
export type ConnectServer = (address: ServerAddress) => Promise<Server>;

/** Loads that. */
export type LoadServer = () => Promise<{ readonly connectServer: ConnectServer }>;

/** Connects to the team's server. @throws Error that says why not. */
export async function openTeamServer(
  { url }: Pick<Membership, 'url'>,
  env: Environment,
  connect: ConnectServer,
): Promise<Server> {
  const read = readServerAddress(url, env);
  if (read.kind === 'wrong') throw new Error(`Cannot use the team's address: ${read.reason}`);
  return await connect(read.address);
}
