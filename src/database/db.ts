import { openSqlite } from '#sqlite';
import type { StatePaths } from '../core/state-paths.ts';
import { adoptTables, settleAdopted } from './adopt.ts';
import { type Db, isUnopenable, openForReading, ownDb, SCHEMA_VERSION, schemaVersion } from './connection.ts';
import knowledge from './schema/knowledge.sql' with { type: 'text' };
import ledger from './schema/ledger.sql' with { type: 'text' };
import { type Sqlite, sqliteErrorCode } from './sqlite.ts';

const schema = `${knowledge}\n${ledger}`;

/** What our databases have in common: how they are opened, and what is said when that fails. */

/** Opens a database for writing, and makes it and its directory where they are not there. Throws what SQLite throws. */
export function openForWriting(file: string, busyTimeoutMs: number): Sqlite {
  try {
    return openSqlite(file, { mode: 'write', busyTimeoutMs });
  } catch (error) {
    if (!isUnopenable(error)) throw error;
    const directory = file.slice(0, file.lastIndexOf('/'));
    process.getBuiltinModule('node:fs').mkdirSync(directory, { recursive: true, mode: 0o700 });
    return openSqlite(file, { mode: 'write', busyTimeoutMs });
  }
}

/** SQLite does not wait here. Whoever holds the lock is making this database too, and switches it. */
export function switchToWal(sqlite: Sqlite): void {
  try {
    sqlite.exec('PRAGMA journal_mode = WAL');
  } catch (error) {
    if (!sqliteErrorCode(error)?.startsWith('SQLITE_BUSY')) throw error;
  }
}

/** Works with an open database, and closes it. */
export function closing<T>(sqlite: Sqlite, work: () => T): T {
  try {
    return work();
  } finally {
    sqlite.close();
  }
}

/** SQLite's own words do not name the file, and do not help. `adviceFor`: what to do about an error of this code. */
export function saying<T>(
  action: 'read' | 'write',
  file: string,
  work: () => T,
  adviceFor: (code: string) => string = () => DOCTOR,
): T {
  try {
    return work();
  } catch (cause) {
    const code = sqliteErrorCode(cause);
    if (!(cause instanceof Error) || code === undefined) throw cause;
    throw new Error(`Cannot ${action} "${file}": ${cause.message}. ${adviceFor(code)}`, { cause });
  }
}

export const DOCTOR = 'Run "self-generation doctor"';

const BACKUP_TIMEOUT_MS = 1000;

/** A database that this process may not migrate now; what was to be written has to wait. */
export class MigrationDeferred extends Error {}

/**
 * Brings a database that is open for writing to the current schema, in one transaction, after a backup when it has
 * content. Above `bytesMax` it throws MigrationDeferred: a hook must not work for seconds on an old, large database;
 * every command does.
 */
function migrate(sqlite: Sqlite, paths: StatePaths, bytesMax: number): void {
  const found = schemaVersion(sqlite);
  if (found === SCHEMA_VERSION) return;
  const refusal = `Cannot write to "${paths.database}"`;
  if (found > SCHEMA_VERSION) {
    const versions = `its schema version is ${found}, this program knows ${SCHEMA_VERSION}`;
    throw new MigrationDeferred(`${refusal}: ${versions}. Update self-generation`);
  }
  if (hasContent(sqlite) && databaseBytes(sqlite) > bytesMax)
    throw new MigrationDeferred(`${refusal} yet: an earlier version made it and it is large. ${DOCTOR} once`);
  // What is redacted or dropped on the way must not stay behind in free pages.
  sqlite.exec('PRAGMA secure_delete = FAST');
  switchToWal(sqlite);
  let backup: string | undefined;
  try {
    sqlite.transaction(() => {
      // Another process may have been faster between the look above and the lock.
      const current = schemaVersion(sqlite);
      if (current >= SCHEMA_VERSION) return;
      const isAdopted = hasContent(sqlite);
      if (isAdopted) {
        backup = backUp(paths, current);
        makePrivate(paths);
        adoptTables(sqlite, schema);
      }
      sqlite.exec(schema);
      if (isAdopted) settleAdopted(sqlite);
      sqlite.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    });
  } catch (error) {
    // Every hook to come will try again: their backups of an unchanged database must not fill the disk.
    if (backup !== undefined) process.getBuiltinModule('node:fs').rmSync(backup, { force: true });
    throw error;
  }
}

/** Earlier implementations left their database to whoever could reach it. */
function makePrivate(paths: StatePaths): void {
  const fs = process.getBuiltinModule('node:fs');
  for (const path of [paths.home, paths.data]) fs.chmodSync(path, 0o700);
  for (const suffix of ['', '-wal', '-shm']) {
    const file = `${paths.database}${suffix}`;
    if (fs.existsSync(file)) fs.chmodSync(file, 0o600);
  }
}

function hasContent(sqlite: Sqlite): boolean {
  return sqlite.get('SELECT 1 FROM sqlite_schema LIMIT 1') !== undefined;
}

function databaseBytes(sqlite: Sqlite): number {
  const sql = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()';
  return Number(sqlite.get(sql)?.bytes ?? 0);
}

/**
 * A consistent copy beside our other backups, of what was there before the caller's transaction; VACUUM INTO also
 * takes in what still stands in the log. Made under the caller's lock, so that of many processes one makes it, and
 * through a connection of its own, since VACUUM does not run inside a transaction.
 */
function backUp(paths: StatePaths, version: number): string {
  const fs = process.getBuiltinModule('node:fs');
  fs.mkdirSync(paths.backups, { recursive: true, mode: 0o700 });
  const unique = `${Date.now().toString(36)}-${process.pid}`;
  const file = `${paths.backups}/self-gen.v${version}.${unique}.db`;
  // One name for all, since only the holder of the lock writes it: what a killed process left is replaced.
  const draft = `${paths.backups}/self-gen.incomplete`;
  fs.rmSync(draft, { force: true });
  const reader = openSqlite(paths.database, { mode: 'read', busyTimeoutMs: BACKUP_TIMEOUT_MS });
  closing(reader, () => reader.run('VACUUM INTO ?', draft));
  fs.chmodSync(draft, 0o600);
  fs.renameSync(draft, file);
  return file;
}

type DbOptions = {
  readonly mode: 'read' | 'write';
  readonly busyTimeoutMs: number;
  /** Databases of earlier implementations above this size are left alone; see migrate(). */
  readonly migrationBytesMax?: number;
};

/**
 * Opens the knowledge database. `read` returns undefined when there is none and never creates or changes it; `write`
 * creates and migrates it. Throws what SQLite throws.
 */
export function getDb(paths: StatePaths, options: DbOptions & { mode: 'write' }): Db;
export function getDb(paths: StatePaths, options: DbOptions): Db | undefined;
export function getDb(paths: StatePaths, options: DbOptions): Db | undefined {
  if (options.mode === 'read') return openForReading(paths, options.busyTimeoutMs);
  const sqlite = openForWriting(paths.database, options.busyTimeoutMs);
  try {
    migrate(sqlite, paths, options.migrationBytesMax ?? Number.POSITIVE_INFINITY);
    sqlite.exec('PRAGMA synchronous = NORMAL');
    return ownDb(sqlite);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}
