import { openSqlite } from '#sqlite';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Db } from '../../database/connection.ts';
import { closing, DOCTOR, getDb, saying } from '../../database/db.ts';
import { takeGiven } from '../../database/given-contexts.ts';
import { sqliteErrorCode } from '../../database/sqlite.ts';
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

/**
 * Takes a lock that ends with its process, however that ends: SQLite holds it on an empty file, and the system lets go
 * of it. Returns the function that releases it, or undefined when another process has it. @throws what SQLite throws.
 */
export function tryProcessLock(file: string): (() => void) | undefined {
  const sqlite = openSqlite(file, { mode: 'write', busyTimeoutMs: 0 });
  try {
    sqlite.exec('BEGIN EXCLUSIVE');
    return () => sqlite.close();
  } catch (error) {
    sqlite.close();
    if (sqliteErrorCode(error)?.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
}
