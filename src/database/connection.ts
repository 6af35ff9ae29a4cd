import { fileStamp } from '#runtime';
import { IS_SNAPSHOT_CHEAP, openSqlite } from '#sqlite';
import type { StatePaths } from '../core/state-paths.ts';
import { type Sqlite, sqliteErrorCode } from './sqlite.ts';

/** The version of the schema that this code writes, and to which it takes over what an earlier one made. */
export const SCHEMA_VERSION = 6;

/** Which columns a database has. Databases of other implementations are read as they are. */
export type Shape = { has(table: string, column: string): boolean };

/** Looks at the columns only of a database that somebody else made. */
function readShape(sqlite: Sqlite): Shape {
  const rows = sqlite.all(
    `SELECT m.name AS tableName, p.name AS columnName
     FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS p
     WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name IN ('events', 'error_kb', 'analysis_cache')`,
  );
  const columns = new Set(rows.map((row) => `${row.tableName}.${row.columnName}`));
  return { has: (table, column) => columns.has(`${table}.${column}`) };
}

/** `PRAGMA user_version`: 0 in an empty database and in those of earlier implementations. */
export function schemaVersion(sqlite: Sqlite): number {
  return Number(sqlite.get('PRAGMA user_version')?.user_version ?? 0);
}

/** An open database and what it looks like. */
export type Db = {
  readonly sqlite: Sqlite;
  readonly shape: Shape;
  /** Made by this version: everything in it was redacted before it was stored. */
  readonly isOwn: boolean;
};

/** What is known of a database that has just been opened. */
function describeDb(sqlite: Sqlite): Db {
  return schemaVersion(sqlite) === SCHEMA_VERSION
    ? ownDb(sqlite)
    : { sqlite, shape: readShape(sqlite), isOwn: false };
}

/** A database that is known to have this version's schema. */
export function ownDb(sqlite: Sqlite): Db {
  return { sqlite, shape: { has: () => true }, isOwn: true };
}

/** Opens the knowledge database for reading; undefined when there is none. Never creates or changes it. */
export function openForReading(paths: StatePaths, busyTimeoutMs: number): Db | undefined {
  return openToRead(paths.database, busyTimeoutMs, describeDb);
}

/** Opens any of our databases for reading, and returns what a first look makes of it; undefined when there is none. */
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
export type SnapshotRead = {
  readonly db: Db;
  /** Whether nobody has written since; otherwise nothing that was read counts. */
  readonly isUnchanged: () => boolean;
};

/** Longer than a tick of any file system's clock that SQLite's WAL mode runs on. */
const TICK_MS_MAX = 20;

/** Opens the database for one snapshot read; undefined when somebody writes, when it is not cheap here, or not there. */
export function openSnapshot(paths: StatePaths, nowMs: number): SnapshotRead | undefined {
  if (!IS_SNAPSHOT_CHEAP) return undefined;
  const log = `${paths.database}-wal`;
  const before = fileStamp(paths.database);
  const isSettled = before.bytes > 0 && nowMs - before.modifiedMs > TICK_MS_MAX;
  // A journal is what a writer without log has left behind when it was killed: only SQLite can undo it.
  const isUnlogged = fileStamp(log).bytes === 0 && fileStamp(`${paths.database}-journal`).bytes === 0;
  if (!isSettled || !isUnlogged) return undefined;
  const sqlite = openSqlite(paths.database, { mode: 'snapshot', busyTimeoutMs: 0 });
  const isUnchanged = () => {
    const after = fileStamp(paths.database);
    const isSame = after.bytes === before.bytes && after.modifiedMs === before.modifiedMs;
    return isSame && fileStamp(log).bytes === 0;
  };
  return { db: describeDb(sqlite), isUnchanged };
}
