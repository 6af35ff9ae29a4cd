import type { StatePaths } from '../../core/state-paths.ts';
import { readRuns } from './rows.ts';

/** The ids of the sessions in which background runs work, whichever client's; none where there was never a run. */
export function sessionsOfRuns(paths: StatePaths): ReadonlySet<string> {
  const sql = 'SELECT session_id FROM runs WHERE session_id IS NOT NULL';
  const ids = readRuns(paths, (db) => db.all(sql).map((row) => String(row.session_id)));
  return new Set(ids);
}
