import type { RunsWorld } from './features.ts';
import { logRunFailure } from './runs-log.ts';

/**
 * The whole life of a supervisor: takes one turn of a run, starts its client or takes over one that runs, follows it to
 * its end and says so. Resolves when nothing is left to do. Never throws: what goes wrong is noted in logs/runs.log.
 */
export async function supervise(runId: string, turnNumber: number, world: RunsWorld): Promise<void> {
  try {
    throw new Error(`Cannot supervise turn ${turnNumber} yet`);
  } catch (error) {
    logRunFailure(runId, error, world.paths, world.now());
  }
}
