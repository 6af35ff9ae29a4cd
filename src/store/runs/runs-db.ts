import { openSqlite } from '#sqlite';
import type { StatePaths } from '../../core/state-paths.ts';
import { isUnopenable } from '../connection.ts';
import first from '../schema/runs-001.sql' with { type: 'text' };
import second from '../schema/runs-002.sql' with { type: 'text' };
import { type OpenMode, type Sqlite, sqliteErrorCode } from '../sqlite.ts';

/**
 * The database of background runs. It stands beside the knowledge database and not in it: hooks write that one all the
 * time and may lose a row, while an accepted run and a finished result must survive a power failure.
 */

const BUSY_TIMEOUT_MS = 5000;
/** Each brings the schema from the version that is its place here to the next. */
const MIGRATIONS = [first, second];
const RUNS_SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Opens the database for writing, made or brought up to date. A transaction() inside another one is part of it, so that
 * what each function of the store does at once can be done at once with other things; what throws inside has to leave
 * the outermost one too. Throws what SQLite throws.
 */
export function openRunsDb(paths: StatePaths): Sqlite {
  const sqlite = openForWriting(paths);
  try {
    migrateRuns(sqlite, paths);
    sqlite.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    return joiningTransactions(sqlite);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Writes. @throws Error that names the file and what to do when the database cannot be written. */
export function withRuns<T>(paths: StatePaths, work: (db: Sqlite) => T): T {
  return saying('write', paths, () => closing(openRunsDb(paths), work));
}

/** Reads; undefined when there is no database. @throws Error that names the file and what to do. */
export function readRuns<T>(paths: StatePaths, work: (db: Sqlite) => T): T | undefined {
  return saying('read', paths, () => {
    const db = openForReading(paths);
    return db && closing(db, work);
  });
}

/** A number that is another one when another connection has written. */
export function dataVersion(db: Sqlite): number {
  return Number(db.get('PRAGMA data_version')?.data_version);
}

function openForWriting(paths: StatePaths): Sqlite {
  const options = { mode: 'write', busyTimeoutMs: BUSY_TIMEOUT_MS } as const;
  try {
    return openSqlite(paths.runsDatabase, options);
  } catch (error) {
    if (!isUnopenable(error)) throw error;
    process.getBuiltinModule('node:fs').mkdirSync(paths.data, { recursive: true, mode: 0o700 });
    return openSqlite(paths.runsDatabase, options);
  }
}

function openForReading(paths: StatePaths): Sqlite | undefined {
  // A database in a read-only directory has no place for SQLite's lock files: then it is read as it stands.
  for (const mode of ['read', 'snapshot'] satisfies OpenMode[]) {
    let sqlite: Sqlite | undefined;
    try {
      sqlite = openSqlite(paths.runsDatabase, { mode, busyTimeoutMs: BUSY_TIMEOUT_MS });
      const version = schemaVersion(sqlite);
      refuseNewer(version, paths);
      if (version > 0) return sqlite; // What a later version adds is read as unknown in an earlier one.
      sqlite.close();
      return undefined;
    } catch (error) {
      sqlite?.close();
      if (!isUnopenable(error)) throw error;
    }
  }
  return undefined;
}

function migrateRuns(sqlite: Sqlite, paths: StatePaths): void {
  const found = schemaVersion(sqlite);
  refuseNewer(found, paths);
  if (found === RUNS_SCHEMA_VERSION) return;
  switchToWal(sqlite);
  sqlite.transaction(() => {
    // Another process may have been faster between the look above and the lock.
    for (const migration of MIGRATIONS.slice(schemaVersion(sqlite))) sqlite.exec(migration);
  });
}

function schemaVersion(sqlite: Sqlite): number {
  return Number(sqlite.get('PRAGMA user_version')?.user_version);
}

function refuseNewer(found: number, paths: StatePaths): void {
  if (found <= RUNS_SCHEMA_VERSION) return;
  throw new Error(
    `Cannot use "${paths.runsDatabase}": its schema version is ${found}, this program knows ${RUNS_SCHEMA_VERSION}. Update self-generation`,
  );
}

/** SQLite does not wait here. Whoever holds the lock is making this database too, and switches it. */
function switchToWal(sqlite: Sqlite): void {
  try {
    sqlite.exec('PRAGMA journal_mode = WAL');
  } catch (error) {
    if (!sqliteErrorCode(error)?.startsWith('SQLITE_BUSY')) throw error;
  }
}

function joiningTransactions(sqlite: Sqlite): Sqlite {
  let isInside = false;
  const transaction = <T>(work: () => T): T => {
    if (isInside) return work();
    isInside = true;
    try {
      return sqlite.transaction(work);
    } finally {
      isInside = false;
    }
  };
  return { ...sqlite, transaction };
}

function closing<T>(db: Sqlite, work: (db: Sqlite) => T): T {
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** SQLite's own words do not name the file, and do not help. */
function saying<T>(action: 'read' | 'write', paths: StatePaths, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const code = sqliteErrorCode(cause);
    if (!(cause instanceof Error) || code === undefined) throw cause;
    throw new Error(`Cannot ${action} "${paths.runsDatabase}": ${cause.message}. ${advice(code)}`, { cause });
  }
}

function advice(code: string): string {
  if (code.startsWith('SQLITE_BUSY')) return 'Another process holds it: try again';
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR'))
    return 'Free some space on that disk and try again';
  return 'Run "self-generation doctor"';
}
