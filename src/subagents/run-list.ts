import { isLive } from '../core/runs/run.ts';
import { queuePosition } from '../store/runs/lane.ts';
import { countRuns, listRuns, type RunFilter } from '../store/runs/runs.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import type { RunsWorld } from './features.ts';

/** The runs that this lets through, with their places in the queue, and how many there are of the requester's. */
export function readRunList(filter: RunFilter, { paths }: RunsWorld) {
  const found = readRuns(paths, (db) => ({
    ...countRuns(filter.requester, db),
    runs: listRuns(filter, db).map((listing) => ({
      listing,
      queuePosition: isLive(listing) ? queuePosition(listing.run.id, db) : undefined,
    })),
  }));
  return found ?? { active: 0, done: 0, runs: [] };
}
