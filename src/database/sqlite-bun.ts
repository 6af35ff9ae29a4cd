import { constants, Database } from 'bun:sqlite';
import { type OpenOptions, refusePipes, type Sqlite, snapshotUri } from './sqlite.ts';

/** A snapshot costs nothing here: the file is read as it stands. */
export const IS_SNAPSHOT_CHEAP = true;

/** Opens a database with Bun's own SQLite. Throws an error with a `code` such as SQLITE_CANTOPEN. */
export function openSqlite(path: string, options: OpenOptions): Sqlite {
  refusePipes(path, (file) => Bun.file(file).size === Number.POSITIVE_INFINITY);
  const database = openDatabase(path, options);
  if (options.mode !== 'snapshot') database.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
  // A hook is often the only process on the database: without this each would make the log's two files anew. An empty
  // log is the sign that the database file has everything: see openSnapshot().
  if (options.mode === 'write') {
    database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    database.run('PRAGMA journal_size_limit = 0');
  }
  return {
    exec: (sql) => void database.run(sql),
    run: (sql, ...values) => {
      const result = database.query(sql).run(...values);
      return { changes: result.changes, lastInsertRowid: Number(result.lastInsertRowid) };
    },
    get: (sql, ...values) =>
      (database.query(sql).get(...values) as Record<string, unknown> | null) ?? undefined,
    all: (sql, ...values) => database.query(sql).all(...values) as Record<string, unknown>[],
    transaction: (work) => inTransaction(database, work),
    close: () => database.close(),
  };
}

function openDatabase(path: string, { mode }: OpenOptions): Database {
  if (mode === 'write') return new Database(path, { readwrite: true, create: true });
  if (mode === 'read') return new Database(path, { readonly: true });
  return new Database(snapshotUri(path), constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
}

/** Not the driver's own transaction(): that prepares statements for every kind of transaction first. */
function inTransaction<T>(database: Database, work: () => T): T {
  database.run('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.run('COMMIT');
    return result;
  } catch (error) {
    // Some failures, a full disk among them, have rolled back already.
    if (database.inTransaction) database.run('ROLLBACK');
    throw error;
  }
}
