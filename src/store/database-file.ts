import { openSqlite } from '#sqlite';
import { isUnopenable } from './connection.ts';
import { type Sqlite, sqliteErrorCode } from './sqlite.ts';

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
