import { Database } from 'bun:sqlite';
import { type OpenOptions, type Sqlite, snapshotUri } from './sqlite.ts';

/** Opens a database with Bun's own SQLite. Throws an error with a `code` such as SQLITE_CANTOPEN. */
export function openSqlite(path: string, options: OpenOptions): Sqlite {
  const database =
    options.mode === 'write'
      ? new Database(path, { readwrite: true, create: true })
      : new Database(options.mode === 'snapshot' ? snapshotUri(path) : path, { readonly: true });
  database.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
  return {
    exec: (sql) => void database.run(sql),
    run: (sql, ...values) => {
      const result = database.query(sql).run(...values);
      return { changes: result.changes, lastInsertRowid: Number(result.lastInsertRowid) };
    },
    get: (sql, ...values) =>
      (database.query(sql).get(...values) as Record<string, unknown> | null) ?? undefined,
    all: (sql, ...values) => database.query(sql).all(...values) as Record<string, unknown>[],
    transaction: (work) => database.transaction(work).immediate(),
    close: () => database.close(),
  };
}
