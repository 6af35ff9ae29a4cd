import type { StatePaths } from '../../core/state-paths.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { identityIn, identityNow, identityText, isGone } from '../../system/process-identity.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import { readRuns } from '../store/rows.ts';
import { getRun } from '../store/runs.ts';

/** A worker's process, as those of its runs see it. */

/** Where the workers of this machine keep what is theirs. */
export function poolHome({ home }: StatePaths): string {
  return `${home}/pool`;
}

function markOf(worker: string, paths: StatePaths): string {
  if (!/^[0-9a-f-]{36}$/.test(worker)) throw new Error(`"${worker}" is no id of a worker`);
  return `${poolHome(paths)}/${worker}.process`;
}

/** Says that this process is the worker. */
export function markWorker(worker: string, paths: StatePaths): void {
  writeFileAtomic(markOf(worker, paths), identityText(identityNow(process.pid)), { mode: 0o600 });
}

/** Tells, each time that it is asked, whether the worker for which this run is done has ended. Other runs have none. */
export function workerWatch(runId: string, paths: StatePaths): () => boolean {
  const run = readRuns(paths, (db) => getRun(runId, db)?.run);
  if (run?.pool?.kind !== 'served') return () => false;
  const mark = markOf(run.pool.worker, paths);
  return () => {
    const worker = identityIn(readTextFile(mark) ?? '');
    return worker === null || isGone(worker);
  };
}
