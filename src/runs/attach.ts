import { existsSync } from 'node:fs';
import { bringConfiguration, userOf } from '../clients/agent-login.ts';
import { loginVariable } from '../clients/client.ts';
import { clientNamed } from '../clients/clients.ts';
import type { Environment } from '../core/state-paths.ts';
import { findProgram } from '../system/run-command.ts';
import { type Run, turnFiles } from './model/run.ts';
import { activeTurn } from './requester.ts';
import { postponeArchive, withRuns } from './store/rows.ts';
import type { RunsWorld } from './world.ts';

/** How to start the client on a terminal in the session of a run. */
export type Attachment = {
  readonly words: readonly [string, ...string[]];
  readonly path: string;
  readonly cwd: string;
  /** The user's environment, with what leads to the session. */
  readonly env: Environment;
  /** The variables that are added to the user's, and those that are left out. */
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
};

/** Archiving is postponed by this, because a person may be working in the session. */
const KEPT_MS = 86_400_000;

/** How a person goes on with a run's session in the client itself; no `start` while the run is active. @throws Error */
export function attachTo(run: Run, purpose: 'start' | 'print', world: RunsWorld) {
  const { env, platform, paths, now } = world;
  const client = clientNamed(run.client);
  const path = findProgram(client.name, env, platform);
  const reason = refusalOf(run, purpose, world);
  if (reason !== undefined || run.sessionId === null || path === undefined)
    return {
      kind: 'refused',
      reason: reason ?? `${client.name} is not on the PATH: install it first`,
    } as const;
  const { kept } = turnFiles(paths, run.id, 1);
  const user = userOf(run, env);
  const { args, env: own } = client.attach({ id: run.sessionId, kept });
  const set = { ...loginVariable(client, run.agentDir), ...own };
  bringConfiguration(run.client, user, kept);
  withRuns(paths, (db) => postponeArchive(run.id, now().getTime() + KEPT_MS, db));
  const unset = Object.keys(env).filter((name) => user.env[name] === undefined && env[name] !== undefined);
  const words = [client.name, ...args] as const;
  const attachment: Attachment = { words, path, cwd: run.cwd, env: { ...user.env, ...set }, set, unset };
  return { kind: 'ready', attachment } as const;
}

function refusalOf(run: Run, purpose: 'start' | 'print', { paths }: RunsWorld): string | undefined {
  const call = (verb: string) => `"self-generation subagents ${verb} ${run.number}"`;
  const isArchived = run.archivedAtMs !== null;
  if (isArchived) return `it is archived, and its session put away: ${call('retry')} runs its task again`;
  const active = activeTurn(run, paths);
  if (active !== undefined && purpose === 'start') {
    const next = `${call('wait')} waits for its end, "attach ${run.number} --print" shows the command`;
    return `it is ${active.state}, and a session has one writer: ${next}`;
  }
  if (run.sessionId === null && active !== undefined) return 'it has no session yet: try again in a moment';
  if (run.sessionId === null) return `it has no session: ${call('retry')} runs its task again`;
  if (existsSync(run.cwd)) return undefined;
  return `its directory "${run.cwd}", by which its client finds the session, is gone: ${call('send')} makes a worktree again`;
}
