import { openSqlite } from '#sqlite';
import type { StatePaths } from '../core/state-paths.ts';
import { adoptTables, settleAdopted } from './adopt.ts';
import { switchToWal } from './database-file.ts';
import schema from './schema/knowledge.sql' with { type: 'text' };
import { SCHEMA_VERSION, schemaVersion } from './shape.ts';
import type { Sqlite } from './sqlite.ts';

const BACKUP_TIMEOUT_MS = 1000;

/** A database that this process may not migrate now; what was to be written has to wait. */
export class MigrationDeferred extends Error {}

/**
 * Brings a database that is open for writing to the current schema, in one transaction, after a backup when it has
 * content. Above `bytesMax` it throws MigrationDeferred: a hook must not work for seconds on an old, large database;
 * every command does.
 */
export function migrate(sqlite: Sqlite, paths: StatePaths, bytesMax: number): void {
  const found = schemaVersion(sqlite);
  if (found === SCHEMA_VERSION) return;
  if (found > SCHEMA_VERSION) {
    throw new MigrationDeferred(
      `Cannot write to "${paths.database}": its schema version is ${found}, this program knows ${SCHEMA_VERSION}. Update self-generation`,
    );
  }
  if (hasContent(sqlite) && databaseBytes(sqlite) > bytesMax) {
    throw new MigrationDeferred(
      `Cannot write to "${paths.database}" yet: an earlier version made it and it is large. Run "self-generation doctor" once`,
    );
  }
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
        adoptTables(sqlite);
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
  const row = sqlite.get(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
  );
  return Number(row?.bytes ?? 0);
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
  try {
    reader.run('VACUUM INTO ?', draft);
  } finally {
    reader.close();
  }
  fs.chmodSync(draft, 0o600);
  fs.renameSync(draft, file);
  return file;
}
