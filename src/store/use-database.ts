import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { getDb } from './db.ts';
import { takeGiven } from './given-contexts.ts';
import { record } from './record.ts';

/** The database for the length of one command. Hooks have their own, shorter, deadlines. */

const BUSY_TIMEOUT_MS = 5000;

/** Reads; undefined when there is no database. Throws what SQLite throws. */
export function readDatabase<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  const db = getDb(paths, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
  if (db === undefined) return undefined;
  try {
    return work(db);
  } finally {
    db.sqlite.close();
  }
}

/**
 * Writes: creates the database or brings it up to date, takes in what waits in the spool, and hands it over. `work`
 * makes its own transactions. Throws with the reason when that is not possible.
 */
export function writeDatabase<T>(paths: StatePaths, work: (db: Db) => T): T {
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    record([], paths, db);
    takeGiven(paths, Date.now(), db);
    return work(db);
  } finally {
    db.sqlite.close();
  }
}
