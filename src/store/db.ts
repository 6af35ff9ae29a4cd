import type { StatePaths } from '../core/state-paths.ts';
import { type Db, openForReading, ownDb } from './connection.ts';
import { openForWriting } from './database-file.ts';
import { migrate } from './migrate.ts';

export type DbOptions = {
  readonly mode: 'read' | 'write';
  readonly busyTimeoutMs: number;
  /** Databases of earlier implementations above this size are left alone; see migrate(). */
  readonly migrationBytesMax?: number;
};

/**
 * Opens the knowledge database. `read` gives undefined when there is none and never creates or changes it; `write`
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
