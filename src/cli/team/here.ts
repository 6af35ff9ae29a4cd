import type { StatePaths } from '../../core/state-paths.ts';
import type { Server } from '../../database/postgres.ts';
import { type Membership, openTeamServer, readMembership } from '../../team/membership.ts';
import { takeSeat } from '../../team/sync.ts';
import { type CliContext, EXIT, fail, PROGRAM } from '../context.ts';

/** What the commands of a team share: the membership, and its server for the length of one command. */

/** The membership; ends the command without one. */
export function membershipHere(action: string, paths: StatePaths, context: CliContext): Membership {
  const membership = readMembership(paths);
  if (membership !== undefined) return membership;
  return fail(context, EXIT.failed, `${action}: you are in no team`, `Run "${PROGRAM} team join URL"`);
}

/** What a sync needs of the world. */
export function worldOf(paths: StatePaths, { env, now, connectServer }: CliContext) {
  return { paths, env, now: now(), connect: connectServer };
}

/** Works with the team's server. @throws Error that says why it cannot be reached, or why this login is not in the team. */
export async function onTeamServer<T>(
  membership: Membership,
  { env, connectServer }: CliContext,
  work: (team: number, server: Server) => Promise<T>,
): Promise<T> {
  const server = await openTeamServer(membership, env, connectServer);
  try {
    return await work((await takeSeat(membership, server)).team, server);
  } finally {
    await server.close();
  }
}
