import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import { getDb } from '../../../src/database/db.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { sqliteErrorCode } from '../../../src/database/sqlite.ts';
import { type Case, type Context, count, makeDataFolder, prompt, tell } from './context.ts';

/** What the store expects of a driver and of opening a database. */

function withTable({ home }: Context, use: (sqlite: Sqlite, file: string) => void): void {
  const file = `${home}/plain.db`;
  const sqlite = openSqlite(file, { mode: 'write', busyTimeoutMs: 100 });
  try {
    sqlite.exec(
      'CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE TABLE log(x); INSERT INTO t(x) VALUES (1)',
    );
    use(sqlite, file);
  } finally {
    sqlite.close();
  }
}

function errorCode(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return sqliteErrorCode(error) ?? `no SQLite error: ${error}`;
  }
  return 'nothing thrown';
}

const SQLITE_CASES: readonly Case[] = [
  {
    title: 'get() returns undefined when there is no row, all() an empty list',
    run: (context) =>
      withTable(context, (sqlite) => {
        assert.equal(sqlite.get('SELECT * FROM t WHERE id = ?', 9), undefined);
        assert.deepEqual(sqlite.all('SELECT * FROM t WHERE id = ?', 9), []);
      }),
  },
  {
    title: 'exec() runs all of several statements and none after the one that fails',
    run: (context) =>
      withTable(context, (sqlite) => {
        sqlite.exec('INSERT INTO t(x) VALUES (2); INSERT INTO t(x) VALUES (3);');
        assert.equal(
          errorCode(() => sqlite.exec('INSERT INTO t(x) VALUES (4); INSERT INTO none VALUES (5)')),
          'SQLITE_ERROR',
        );
        assert.deepEqual(
          sqlite.all('SELECT x FROM t').map((row) => row.x),
          [1, 2, 3, 4],
        );
      }),
  },
  {
    title: 'run() counts the rows of its own statement, not those of triggers, and gives its own rowid',
    run: (context) =>
      withTable(context, (sqlite) => {
        sqlite.exec(`CREATE VIRTUAL TABLE f USING fts5(x);
          CREATE TRIGGER i AFTER INSERT ON t BEGIN
            INSERT INTO log VALUES (1), (2), (3); INSERT INTO f(rowid, x) VALUES (NEW.id + 100, 'word'); END;
          CREATE TRIGGER d AFTER DELETE ON t BEGIN DELETE FROM log; DELETE FROM f; END`);
        assert.deepEqual(sqlite.run('INSERT INTO t(x) VALUES (?)', 'ä한'), {
          changes: 1,
          lastInsertRowid: 2,
        });
        assert.equal(sqlite.run('DELETE FROM t').changes, 2);
      }),
  },
  {
    title: 'get() completes an INSERT with RETURNING',
    run: (context) =>
      withTable(context, (sqlite) => {
        assert.equal(sqlite.get('INSERT INTO t(x) VALUES (?) RETURNING id', null)?.id, 2);
        assert.equal(sqlite.get('SELECT COUNT(*) AS n FROM t')?.n, 2);
      }),
  },
  {
    title: 'transaction() returns the value of its work and has committed',
    run: (context) =>
      withTable(context, (sqlite, file) => {
        assert.equal(
          sqlite.transaction(() => sqlite.run('UPDATE t SET x = 7').changes),
          1,
        );
        const other = openSqlite(file, { mode: 'read', busyTimeoutMs: 100 });
        assert.equal(other.get('SELECT x FROM t')?.x, 7);
        other.close();
      }),
  },
  {
    title: 'transaction() rolls back and rethrows the same error',
    run: (context) =>
      withTable(context, (sqlite) => {
        const planned = new Error('planned');
        const work = () =>
          sqlite.transaction(() => {
            sqlite.run('UPDATE t SET x = 8');
            throw planned;
          });
        assert.throws(work, (error) => error === planned);
        assert.equal(sqlite.get('SELECT x FROM t')?.x, 1);
        assert.equal(
          sqlite.transaction(() => 'usable again'),
          'usable again',
        );
      }),
  },
  {
    title: 'transaction() lets a savepoint inside roll back alone',
    run: (context) =>
      withTable(context, (sqlite) => {
        sqlite.transaction(() => {
          sqlite.run('INSERT INTO t(id, x) VALUES (5, 5)');
          sqlite.exec('SAVEPOINT one');
          sqlite.run('INSERT INTO t(id, x) VALUES (6, 6)');
          assert.equal(
            errorCode(() => sqlite.run('INSERT INTO t(id, x) VALUES (6, 6)')),
            'SQLITE_CONSTRAINT_PRIMARYKEY',
          );
          sqlite.exec('ROLLBACK TO one');
          sqlite.exec('RELEASE one');
        });
        assert.deepEqual(
          sqlite.all('SELECT id FROM t').map((row) => row.id),
          [1, 5],
        );
      }),
  },
  {
    title: 'transaction() takes the write lock at once and waits for it no longer than the busy timeout',
    run: (context) =>
      withTable(context, (sqlite, file) => {
        const other = openSqlite(file, { mode: 'write', busyTimeoutMs: 120 });
        const elapsedMs = sqlite.transaction(() => {
          const startedMs = performance.now();
          assert.equal(
            errorCode(() => other.transaction(() => assert.fail('never runs'))),
            'SQLITE_BUSY',
          );
          return performance.now() - startedMs;
        });
        other.close();
        assert.ok(elapsedMs >= 100, `waited ${elapsedMs} ms`);
      }),
  },
  {
    title: 'openSqlite() in read mode never creates a file and never writes',
    run: (context) =>
      withTable(context, (_, file) => {
        const missing = `${context.home}/missing.db`;
        assert.equal(
          errorCode(() => openSqlite(missing, { mode: 'read', busyTimeoutMs: 100 })),
          'SQLITE_CANTOPEN',
        );
        assert.equal(existsSync(missing), false);
        const reader = openSqlite(file, { mode: 'read', busyTimeoutMs: 100 });
        assert.equal(
          errorCode(() => reader.run('DELETE FROM t')),
          'SQLITE_READONLY',
        );
        reader.close();
      }),
  },
  {
    title: 'openSqlite() in snapshot mode reads a WAL database under any name without files beside it',
    run: ({ home }) => {
      for (const name of ['plain.db', 'a b%20#한.db', 'what?.db']) {
        const file = `${home}/${name}`;
        const writer = openSqlite(file, { mode: 'write', busyTimeoutMs: 100 });
        writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)');
        writer.close();
        for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
        const snapshot = openSqlite(file, { mode: 'snapshot', busyTimeoutMs: 100 });
        assert.equal(snapshot.get('SELECT x FROM t')?.x, 1, name);
        assert.equal(
          errorCode(() => snapshot.run('DELETE FROM t')),
          'SQLITE_READONLY',
        );
        assert.equal(existsSync(`${file}-shm`), false);
        snapshot.close();
      }
      const missing = `${home}/missing.db`;
      assert.equal(
        errorCode(() => openSqlite(missing, { mode: 'snapshot', busyTimeoutMs: 1 })),
        'SQLITE_CANTOPEN',
      );
      assert.equal(existsSync(missing), false);
    },
  },
  {
    title: 'sqliteErrorCode() names the result code, and nothing for other errors',
    run: (context) =>
      withTable(context, (sqlite) => {
        assert.equal(
          errorCode(() => sqlite.run('INSERT INTO t(id) VALUES (1)')),
          'SQLITE_CONSTRAINT_PRIMARYKEY',
        );
        assert.equal(
          errorCode(() => sqlite.get('SELECT none FROM t')),
          'SQLITE_ERROR',
        );
        assert.equal(sqliteErrorCode(new Error('other')), undefined);
        assert.equal(sqliteErrorCode(Object.assign(new Error('other'), { code: 'ENOENT' })), undefined);
        assert.equal(sqliteErrorCode('SQLITE_BUSY'), undefined);
      }),
  },
];

const OPEN_CASES: readonly Case[] = [
  {
    title: 'getDb() for writing creates directories 0700 and files 0600 under umask 077',
    run: (context) => {
      const before = process.umask(0o077);
      try {
        tell(context, context.open(), prompt('hello'));
      } finally {
        process.umask(before);
      }
      const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
      assert.equal(mode(context.paths.data), '700');
      for (const end of ['', '-wal', '-shm']) assert.equal(mode(context.paths.database + end), '600', end);
    },
  },
  {
    title: 'getDb() for reading returns undefined and creates nothing when there is no database',
    run: ({ read, paths }) => {
      assert.equal(read(), undefined);
      assert.equal(existsSync(paths.data), false);
      mkdirSync(paths.data, { recursive: true });
      assert.equal(read(), undefined);
      assert.equal(existsSync(paths.database), false);
    },
  },
  {
    title: 'getDb() takes an empty file for an empty database',
    run: ({ read, open, paths }) => {
      makeDataFolder(paths);
      writeFileSync(paths.database, '');
      assert.equal(read()?.shape.has('events', 'data'), false);
      assert.equal(statSync(paths.database).size, 0);
      assert.equal(count(open(), 'events'), 0);
    },
  },
  {
    title: 'getDb() throws the SQLite error for a file that is no database, and closes it',
    run: ({ paths }) => {
      makeDataFolder(paths);
      writeFileSync(paths.database, 'this is not a database, but long enough to look like one '.repeat(40));
      for (const mode of ['read', 'write'] as const) {
        assert.equal(
          errorCode(() => getDb(paths, { mode, busyTimeoutMs: 100 })),
          'SQLITE_NOTADB',
        );
      }
    },
  },
  {
    title: 'getDb() reads a database in a directory that it may not write to',
    run: async ({ open, home, paths, startWorker }) => {
      const db = open();
      db.sqlite.exec("INSERT INTO events(type, ts, session_id, data) VALUES ('prompt', '2026', 's', '{}')");
      db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      db.sqlite.close();
      chmodSync(paths.database, 0o444);
      chmodSync(paths.data, 0o555);
      chmodSync(home, 0o755);
      // The superuser may write anywhere, so that the reader has to be somebody else.
      const uid = process.getuid?.() === 0 ? 65534 : (process.getuid?.() ?? 0);
      const { code, output } = await startWorker('read-as-nobody', String(uid)).ended;
      chmodSync(paths.data, 0o755);
      assert.equal(code, 0, output);
      assert.match(output, /events 1/);
    },
  },
  {
    title: 'getDb() waits for the lock when several processes open a new home at the same time',
    run: async ({ startWorker, open }) => {
      const workers = Array.from({ length: 8 }, (_, index) => startWorker('record', '5', `w${index}`));
      for (const worker of workers) {
        const { code, output } = await worker.ended;
        assert.equal(code, 0, output);
      }
      assert.equal(count(open(), 'events'), 40);
    },
  },
];

export const DRIVER_CASES = [...SQLITE_CASES, ...OPEN_CASES];
