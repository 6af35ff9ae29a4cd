import { existsSync, readdirSync } from 'node:fs';
import type { Client } from '../clients/client.ts';
import { CLIENTS } from '../clients/clients.ts';
import { lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { DatabaseState } from '../setup/inspect-store.ts';
import { locate } from '../setup/manifest.ts';
import { type CliContext, PROGRAM } from './context.ts';

/** What somebody does next who has nothing to look at yet, as a clause; null where something is recorded. */
export function nextStep(database: DatabaseState, paths: StatePaths, context: CliContext): string | null {
  const isEmpty =
    database.kind === 'absent' ||
    (database.kind === 'sound' && database.counts.lastEvent === null && database.counts.knownFixes === 0);
  if (!isEmpty) return null;
  // With the plugin of Claude Code nothing is installed here, and its hooks have been seen.
  const isInstalled = existsSync(paths.binary) || existsSync(paths.heartbeats);
  if (!isInstalled) return `"${PROGRAM} install" sets it up in the clients that are there`;
  if (hasSessions(context)) return `"${PROGRAM} import" learns from the sessions that are there already`;
  return 'start a session of Claude Code in a project: what fails there, and what solves it, is learned';
}

/** Whether any client has kept a session that could be read. */
function hasSessions({ env, platform }: CliContext): boolean {
  const place = locate(env, platform);
  const transcripts = place.kind === 'failed' ? '' : `${place.claudeDirectory}/projects`;
  if (lookOr(() => readdirSync(transcripts), []).length > 0) return true;
  const isKept = ({ sessions }: Client) => lookOr(() => sessions.all?.(env) ?? [], []).length > 0;
  return Object.values(CLIENTS).some(isKept);
}
