import { openSqlite } from '#sqlite';
import type { StatePaths } from '../core/state-paths.ts';
import { isOwnSchema, OWN_SHAPE, readShape, type Shape } from './shape.ts';
import { type Sqlite, sqliteErrorCode } from './sqlite.ts';

/** An open database and what it looks like. */
export type Db = {
  readonly sqlite: Sqlite;
  readonly shape: Shape;
  /** Made by this version: everything in it was redacted before it was stored. */
  readonly isOwn: boolean;
};

/** What is known of a database that has just been opened. */
export function describeDb(sqlite: Sqlite): Db {
  return isOwnSchema(sqlite) ? ownDb(sqlite) : { sqlite, shape: readShape(sqlite), isOwn: false };
}

/** A database that is known to have this version's schema. */
export function ownDb(sqlite: Sqlite): Db {
  return { sqlite, shape: OWN_SHAPE, isOwn: true };
}

/** Opens the knowledge database for reading; undefined when there is none. Never creates or changes it. */
export function openForReading(paths: StatePaths, busyTimeoutMs: number): Db | undefined {
  return openToRead(paths.database, busyTimeoutMs, describeDb);
}

/** Opens any of our databases for reading, and gives what a first look makes of it; undefined when there is none. */
export function openToRead<T>(
  file: string,
  busyTimeoutMs: number,
  look: (sqlite: Sqlite) => T,
): T | undefined {
  for (const mode of ['read', 'snapshot'] as const) {
    let sqlite: Sqlite | undefined;
    try {
      sqlite = openSqlite(file, { mode, busyTimeoutMs });
      return look(sqlite);
    } catch (error) {
      sqlite?.close();
      // A database in a read-only directory has no place for SQLite's lock files: then it is read as it stands.
      if (!isUnopenable(error)) throw error;
    }
  }
  return undefined;
}

/** Whether there is no database, or none that can be opened in this way. */
export function isUnopenable(error: unknown): boolean {
  const code = sqliteErrorCode(error);
  if (code === undefined) return error instanceof TypeError; // better-sqlite3: the directory does not exist
  if (code === 'SQLITE_READONLY_ROLLBACK') return false; // Half a transaction: not to be read as it stands.
  return code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY');
}
