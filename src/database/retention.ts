import { pathExists } from '#runtime';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';

/** What is removed when it is old: apart from what a sub-agent's start has to load. */

const MS_PER_DAY = 86_400_000;
const ROWS_PER_TABLE_MAX = 2000;

/** How each table forgets: its time column, for how many times the retention of events its rows are kept, its key. */
type Table = { name: string; time: string; factor: number; key?: string; only?: string };
/** What the user decided is his, and undo needs it. */
const UNDECIDED = "status NOT IN ('applied', 'dismissed')";
const TABLES: readonly Table[] = [
  { name: 'events', time: 'ts', factor: 1 },
  { name: 'spool_taken', time: 'ts', factor: 1, key: 'name' },
  { name: 'error_kb', time: 'COALESCE(last_used, ts)', factor: 4 },
  { name: 'analysis_cache', time: 'ts', factor: 4 },
  { name: 'feedback', time: 'ts', factor: 12 },
  { name: 'suggestions', time: 'last_ts', factor: 12, key: 'id', only: UNDECIDED },
  { name: 'analysis_runs', time: 'ts', factor: 4 },
  { name: 'given_contexts', time: 'ts', factor: 1 },
];

/**
 * Removes what is older than `retentionDays` (REQ-DC-004): at most `rowsMax` rows of each table in one transaction,
 * so that a hook can do it at the end of every session and never holds the lock for long. Fixes are kept four times
 * as long as events, counted from their last use; the user's decisions twelve times.
 */
export function pruneOldEvents(
  retentionDays: number,
  now: Date,
  db: Db,
  rowsMax = ROWS_PER_TABLE_MAX,
): { removed: number; isComplete: boolean } {
  return db.sqlite.transaction(() => {
    let removed = 0;
    let isComplete = true;
    for (const { name, time, factor, key = 'rowid', only = '1' } of TABLES) {
      const before = new Date(now.getTime() - retentionDays * factor * MS_PER_DAY).toISOString();
      const changes = db.sqlite.run(
        `DELETE FROM ${name} WHERE ${key} IN (SELECT ${key} FROM ${name} WHERE ${time} < ? AND ${only} LIMIT ?)`,
        before,
        rowsMax,
      ).changes;
      removed += changes;
      if (changes >= rowsMax) isComplete = false;
    }
    return { removed, isComplete };
  });
}

/** Removes copies of databases that were made before a migration, once they are older than events may be. */
export function pruneBackups(retentionDays: number, now: Date, paths: StatePaths): void {
  if (!pathExists(paths.backups)) return;
  const fs = process.getBuiltinModule('node:fs');
  const before = now.getTime() - retentionDays * MS_PER_DAY;
  for (const name of fs.readdirSync(paths.backups)) {
    const file = `${paths.backups}/${name}`;
    if (/^self-gen\.v\d+\./.test(name) && fs.statSync(file).mtimeMs < before)
      fs.rmSync(file, { force: true });
  }
}
