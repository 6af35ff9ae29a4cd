import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { closing, DOCTOR, saying } from './database-file.ts';
import { getDb } from './db.ts';
import { takeGiven } from './given-contexts.ts';
import { record } from './record.ts';

/** The database for the length of one command. Hooks have their own, shorter, deadlines. */

const BUSY_TIMEOUT_MS = 5000;

/** Reads; undefined when there is no database. @throws Error that says what to do when it cannot be read. */
export function readDatabase<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  return saying('read', paths.database, () => {
    const db = getDb(paths, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    return db && closing(db.sqlite, () => work(db));
  });
}

/**
 * Writes: creates the database or brings it up to date, takes in what waits in the spool, and hands it over. `work`
 * makes its own transactions. @throws Error that says what to do when it cannot be written.
 */
export function writeDatabase<T>(paths: StatePaths, work: (db: Db) => T): T {
  return saying('write', paths.database, () => {
    const db = getDb(paths, { mode: 'write', busyTimeoutMs: BUSY_TIMEOUT_MS });
    return closing(db.sqlite, () => {
      record([], paths, db);
      takeGiven(paths, Date.now(), db);
      return work(db);
    });
  });
}

/**
 * Makes a consistent copy, whoever writes to the database meanwhile. @throws Error that says what to do when it cannot be
 * read.
 */
export function copyDatabase(paths: StatePaths, target: string): void {
  const copied = readDatabase(paths, ({ sqlite }) => sqlite.run('VACUUM INTO ?', target));
  if (copied === undefined)
    throw new Error(`Cannot read "${paths.database}": it cannot be opened. ${DOCTOR}`);
}
