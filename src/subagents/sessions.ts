import { existsSync } from 'node:fs';
import type { Requester } from '../core/runs/run.ts';
import { enterListener, serversOf } from '../store/runs/listeners.ts';
import { readRuns, withRuns } from '../store/runs/runs-db.ts';
import { identityNow, isGone } from '../sys/process-identity.ts';
import type { RunsWorld } from './features.ts';

/** Which sessions of clients live, by the servers of our tools that they have. */

/** Writes down that this process serves the session. Returns false if there is no database yet, and so no run. */
export function enterServer({ key, session, client }: Requester, { paths, now }: RunsWorld): boolean {
  if (session === null || !existsSync(paths.runsDatabase)) return false;
  const listener = {
    kind: 'server',
    session,
    requester: key,
    client,
    process: identityNow(process.pid),
  } as const;
  withRuns(paths, (db) => enterListener(listener, now().getTime(), db));
  return true;
}

/** The sessions whose place this one takes: of its client, no other one lives in the project. */
export function endedSessions({ key, session, client }: Requester, { paths }: RunsWorld): string[] {
  if (client === null) return [];
  const servers = readRuns(paths, (db) => serversOf(key, client, db)) ?? [];
  const others = servers.filter((one) => one.session !== session);
  return others.every((one) => isGone(one.process)) ? others.map((one) => one.session) : [];
}
