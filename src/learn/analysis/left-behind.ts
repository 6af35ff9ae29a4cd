import { rmSync } from 'node:fs';
import { endLeftClient } from '../../clients/client-process.ts';
import { analysisFiles } from '../../core/runs/run-files.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { abandonedRuns, endAbandonedRun } from '../../store/analysis-runs.ts';
import { writeDatabase } from '../../store/use-database.ts';
import { isGone } from '../../sys/process-identity.ts';

/** Longer than an analysis may take: one that began before is not waited for. */
const STALE_MS = 15 * 60_000;

/**
 * Ends what an analysis that was killed left behind: its client, its directory, its row in the ledger, in this order, so
 * that whoever is killed in between leaves the rest to the next.
 */
export async function endAbandoned(paths: StatePaths, now: Date): Promise<void> {
  const staleBefore = new Date(now.getTime() - STALE_MS).toISOString();
  for (const run of writeDatabase(paths, (db) => abandonedRuns({ staleBefore, isGone }, db))) {
    const files = analysisFiles(paths, run);
    await endLeftClient(run, files);
    removeIfPossible(files.directory);
    writeDatabase(paths, (db) => endAbandonedRun(run, now.toISOString(), db));
  }
}

/** What a client has made so that it cannot be removed is not to keep every later analysis from its work. */
function removeIfPossible(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // Then it stays, for the user's eyes only.
  }
}
