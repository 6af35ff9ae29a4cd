import { openSqlite } from '#sqlite';
import { sqliteErrorCode } from './sqlite.ts';

/**
 * Takes a lock that ends with its process, however that ends: SQLite holds it on an empty file, and the system lets go
 * of it. Gives the function that releases it, or undefined when another process has it. @throws what SQLite throws.
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
