import type { Environment, StatePaths } from '../core/state-paths.ts';
import { logHookFailure } from '../system/failure-log.ts';
import { type LoadServer, readMembership } from './membership.ts';
import { lastSync, syncTeam } from './sync.ts';

/** Sessions end in quick succession, and a server that is away is not asked at each of them. */
const PAUSE_MS = 60_000;

/**
 * Syncs in a process that nobody waits for, where this user is in a team and the last sync is a minute old. Never throws: that
 * a server cannot be reached is for `team status`, all else stands in the hooks' log.
 */
export async function syncInBackground(
  paths: StatePaths,
  env: Environment,
  loadServer: LoadServer,
): Promise<void> {
  try {
    const membership = readMembership(paths);
    if (membership === undefined || membership.shared.length === 0) return;
    const now = new Date();
    const sinceLastMs = now.getTime() - Date.parse(lastSync(paths)?.at ?? '');
    if (sinceLastMs >= 0 && sinceLastMs < PAUSE_MS) return;
    const { connectServer } = await loadServer();
    await syncTeam(membership, { paths, env, now, connect: connectServer });
  } catch (error) {
    logHookFailure('team sync', String(error), paths, new Date());
  }
}
