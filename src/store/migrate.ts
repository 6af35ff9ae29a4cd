import type { StatePaths } from '../core/state-paths.ts';
import { adoptTables } from './adopt.ts';
import foundation from './schema/001-foundation.sql' with { type: 'text' };
import { SCHEMA_VERSION, schemaVersion } from './shape.ts';
import type { Sqlite } from './sqlite.ts';

/** The migration with index n leads from schema version n to n + 1. */
const MIGRATIONS: readonly string[] = [foundation];

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
  const bytes = databaseBytes(sqlite);
  const hasContent = sqlite.get('SELECT 1 FROM sqlite_schema LIMIT 1') !== undefined;
  if (hasContent && bytes > bytesMax) {
    throw new MigrationDeferred(
      `Cannot write to "${paths.database}" yet: an earlier version made it and it is large. Run "self-generation doctor" once`,
    );
  }
  if (hasContent) backUp(sqlite, paths, found);
  sqlite.exec('PRAGMA journal_mode = WAL');
  sqlite.transaction(() => {
    // Another process may have been faster between the look above and the lock.
    const current = schemaVersion(sqlite);
    if (current >= SCHEMA_VERSION) return;
    if (current === 0 && hasContent) adoptTables(sqlite);
    for (const statements of MIGRATIONS.slice(current)) sqlite.exec(statements);
    if (current === 0 && hasContent) indexAdoptedText(sqlite);
    sqlite.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

function databaseBytes(sqlite: Sqlite): number {
  const row = sqlite.get(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
  );
  return Number(row?.bytes ?? 0);
}

/** A consistent copy beside our other backups; VACUUM INTO also takes in what still stands in the log. */
function backUp(sqlite: Sqlite, paths: StatePaths, version: number): void {
  const fs = process.getBuiltinModule('node:fs');
  fs.mkdirSync(paths.backups, { recursive: true, mode: 0o700 });
  const unique = `${Date.now().toString(36)}-${process.pid}`;
  const file = `${paths.backups}/self-gen.v${version}.${unique}.db`;
  sqlite.run('VACUUM INTO ?', file);
  fs.chmodSync(file, 0o600);
}

/** Fills the search indexes with rows that were there before their triggers. */
function indexAdoptedText(sqlite: Sqlite): void {
  sqlite.exec(`
    INSERT INTO event_text(rowid, text)
      SELECT id, COALESCE(json_extract(data, '$.text'), json_extract(data, '$.error')) FROM events
      WHERE json_valid(data) AND COALESCE(json_extract(data, '$.text'), json_extract(data, '$.error')) IS NOT NULL;
    INSERT INTO error_kb_text(rowid, text) SELECT id, error_normalized FROM error_kb;
  `);
}
