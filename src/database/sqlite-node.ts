import { createRequire } from 'node:module';
import type { default as BetterSqlite } from 'better-sqlite3';
import { type OpenOptions, refusePipes, type Sqlite } from './sqlite.ts';

const WAL_MARKS_AT = 18;

/** A snapshot takes the whole file into memory. */
export const IS_SNAPSHOT_CHEAP = false;

/**
 * Opens a database with better-sqlite3, which is an optional dependency: loaded here and not by an import, so that
 * its absence is an error that the hook can catch (RA-406-1).
 */
export function openSqlite(path: string, options: OpenOptions): Sqlite {
  const Database = loadDriver();
  refusePipes(path, (file) => {
    const stats = process.getBuiltinModule('node:fs').statSync(file, { throwIfNoEntry: false });
    return stats !== undefined && !stats.isFile() && !stats.isDirectory();
  });
  const source = options.mode === 'snapshot' ? readSnapshot(path) : path;
  const database = new Database(source, {
    readonly: options.mode !== 'write',
    timeout: options.busyTimeoutMs,
  });
  // better-sqlite3 switches them on, SQLite and Bun do not: a foreign table must not decide what we may delete.
  database.pragma('foreign_keys = OFF');
  return {
    exec: (sql) => void database.exec(sql),
    run: (sql, ...values) => {
      const result = database.prepare(sql).run(...values);
      return { changes: result.changes, lastInsertRowid: Number(result.lastInsertRowid) };
    },
    get: (sql, ...values) => database.prepare(sql).get(...values) as Record<string, unknown> | undefined,
    all: (sql, ...values) => database.prepare(sql).all(...values) as Record<string, unknown>[],
    transaction: (work) => database.transaction(work).immediate(),
    close: () => void database.close(),
  };
}

/**
 * better-sqlite3 takes no URI, but the bytes of a file. A database in memory has no log, so the header's two marks of
 * the WAL mode are set back.
 */
function readSnapshot(path: string): Buffer {
  try {
    const bytes = process.getBuiltinModule('node:fs').readFileSync(path);
    if (bytes.length > WAL_MARKS_AT + 1) bytes.fill(1, WAL_MARKS_AT, WAL_MARKS_AT + 2);
    return bytes;
  } catch (cause) {
    const error = new Error(`Cannot open the database "${path}": it cannot be read`, { cause });
    throw Object.assign(error, { code: 'SQLITE_CANTOPEN' });
  }
}

function loadDriver(): typeof BetterSqlite {
  try {
    return createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite;
  } catch (cause) {
    throw new Error(
      'Cannot open the database under Node: better-sqlite3 is not installed or was not built. ' +
        'Run "npm install better-sqlite3@12" beside the hooks, or use the self-generation binary, which needs nothing',
      { cause },
    );
  }
}
