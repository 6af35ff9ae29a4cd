import type { StatePaths } from '../../core/state-paths.ts';
import { openToRead, schemaVersion } from '../../database/connection.ts';
import { closing, DOCTOR, openForWriting, saying, switchToWal } from '../../database/db.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import first from './schema/runs-001.sql' with { type: 'text' };
import second from './schema/runs-002.sql' with { type: 'text' };
import third from './schema/runs-003.sql' with { type: 'text' };

/**
 * The database of background runs. It stands beside the knowledge database and not in it: hooks write that one all the
 * time and may lose a row, while an accepted run and a finished result must survive a power failure.
 */

const BUSY_TIMEOUT_MS = 5000;
/** Each brings the schema from the version that is its place here to the next. */
const MIGRATIONS = [first, second, third];
const RUNS_SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Opens the database for writing, made or brought up to date. A transaction() inside another one is part of it, so that
 * what each function of the store does at once can be done at once with other things; what throws inside has to leave
 * the outermost one too. Throws what SQLite throws.
 */
export function openRunsDb(paths: StatePaths): Sqlite {
  const sqlite = openForWriting(paths.runsDatabase, BUSY_TIMEOUT_MS);
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
  const open = () => {
    const db = openRunsDb(paths);
    return closing(db, () => work(db));
  };
  return saying('write', paths.runsDatabase, open, advice);
}

/** Reads; undefined when there is no database. @throws Error that names the file and what to do. */
export function readRuns<T>(paths: StatePaths, work: (db: Sqlite) => T): T | undefined {
  const open = () => {
    const db = openForReading(paths);
    return db && closing(db, () => work(db));
  };
  return saying('read', paths.runsDatabase, open, advice);
}

/** A number that is another one when another connection has written. */
export function dataVersion(db: Sqlite): number {
  return Number(db.get('PRAGMA data_version')?.data_version);
}

function openForReading(paths: StatePaths): Sqlite | undefined {
  return openToRead(paths.runsDatabase, BUSY_TIMEOUT_MS, (sqlite) => {
    const version = schemaVersion(sqlite);
    refuseNewer(version, paths);
    if (version > 0) return sqlite; // What a later version adds is read as unknown in an earlier one.
    sqlite.close();
    return undefined;
  });
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

function refuseNewer(found: number, paths: StatePaths): void {
  if (found <= RUNS_SCHEMA_VERSION) return;
  throw new Error(
    `Cannot use "${paths.runsDatabase}": its schema version is ${found}, this program knows ${RUNS_SCHEMA_VERSION}. Update self-generation`,
  );
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

function advice(code: string): string {
  if (code.startsWith('SQLITE_BUSY')) return 'Another process holds it: try again';
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR'))
    return 'Free some space on that disk and try again';
  return DOCTOR;
}
