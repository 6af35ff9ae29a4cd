import type { Environment, StatePaths } from '../core/state-paths.ts';
import { logHookFailure } from '../system/failure-log.ts';
import { type LoadServer, readMembership } from './membership.ts';
import { lastSync, syncTeam } from './sync.ts';

/** Sessions end in quick succession, and a server that is away is not asked at each of them. */
const PAUSE_MS = 60_000;
/** Another sync may have looked before this session was learned from: so long it is waited for. */
const ATTEMPTS_MAX = 20;
const ATTEMPT_MS = 1_000;

/**
 * Syncs in a process that nobody waits for, where this user shares something with a team. A minute after a failure it is not
 * tried. Never throws: that a server cannot be reached is for `team status`, all else stands in the hooks' log.
 */
export async function syncInBackground(
  paths: StatePaths,
  env: Environment,
  loadServer: LoadServer,
): Promise<void> {
  try {
    const membership = readMembership(paths);
    if (membership === undefined || membership.shared.length === 0) return;
    const last = lastSync(paths);
    const sinceLastMs = Date.now() - Date.parse(last?.at ?? '');
    if (last?.kind === 'failed' && sinceLastMs >= 0 && sinceLastMs < PAUSE_MS) return;
    const { connectServer } = await loadServer();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { kind } = await syncTeam(membership, { paths, env, now: new Date(), connect: connectServer });
      if (kind !== 'busy') return;
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_MS));
    }
  } catch (error) {
    logHookFailure('team sync', String(error), paths, new Date());
  }
}
