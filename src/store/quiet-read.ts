import { fileStamp } from '#runtime';
import { IS_SNAPSHOT_CHEAP, openSqlite } from '#sqlite';
import type { StatePaths } from '../core/state-paths.ts';
import { type Db, describeDb } from './connection.ts';

/**
 * Reading without locks while nobody writes. The first connection to a database in WAL mode has to set up the shared
 * memory beside it, which costs a hook more than all of its queries. But while the log is empty, the database file
 * alone has everything, and it can be read as it stands, if it can be shown afterwards that nobody wrote meanwhile:
 *
 *   before   the log is empty, and the file was last changed long enough ago that a further change gets another time
 *   after    the log is still empty, and the file has the same size and time
 *
 * A writer fills the log first, changes the file next and empties the log last, so one of the two gives it away. Only
 * the time of a change can lie: file systems count it in ticks, so that two changes within one tick look like one.
 * That is why a file that was changed just now is read with locks (git calls such files "racily clean").
 */
export type QuietRead = {
  readonly db: Db;
  /** Whether nobody has written since; otherwise nothing that was read counts. */
  readonly isStillTrue: () => boolean;
};

/** Longer than a tick of any file system's clock that SQLite's WAL mode runs on. */
const TICK_MS_MAX = 20;

/** Opens the database for one quiet read; undefined when it is not quiet, not cheap here, or not there. */
export function openQuietly(paths: StatePaths, nowMs: number): QuietRead | undefined {
  if (!IS_SNAPSHOT_CHEAP) return undefined;
  const log = `${paths.database}-wal`;
  const before = fileStamp(paths.database);
  const isSettled = before.bytes > 0 && nowMs - before.modifiedMs > TICK_MS_MAX;
  // A journal is what a writer without log has left behind when it was killed: only SQLite can undo it.
  const isQuiet = fileStamp(log).bytes === 0 && fileStamp(`${paths.database}-journal`).bytes === 0;
  if (!isSettled || !isQuiet) return undefined;
  const sqlite = openSqlite(paths.database, { mode: 'snapshot', busyTimeoutMs: 0 });
  const isStillTrue = () => {
    const after = fileStamp(paths.database);
    const isSame = after.bytes === before.bytes && after.modifiedMs === before.modifiedMs;
    return isSame && fileStamp(log).bytes === 0;
  };
  return { db: describeDb(sqlite), isStillTrue };
}
