import { createRequire } from 'node:module';
import type { default as BetterSqlite } from 'better-sqlite3';
import type { OpenOptions, Sqlite } from './sqlite.ts';

/**
 * Opens a database with better-sqlite3, which is an optional dependency: loaded here and not by an import, so that
 * its absence is an error that the hook can catch (RA-406-1).
 */
export function openSqlite(path: string, options: OpenOptions): Sqlite {
  const Database = loadDriver();
  // better-sqlite3 takes no URI: where a read-only directory keeps SQLite from its lock files, opening fails.
  const database = new Database(path, { readonly: options.mode !== 'write', timeout: options.busyTimeoutMs });
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
