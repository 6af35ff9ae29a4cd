import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import { getDb } from '../../../src/database/db.ts';
import { type Sqlite, sqliteErrorCode } from '../../../src/database/sqlite.ts';
import { column } from '../../support/rows.ts';
import { allEnded, count, makeDataFolder, prompt, test } from './context.ts';

/** What the store expects of a driver and of opening a database. */

/** A case with a database that has a table of one row. */
function onTable(title: string, work: (sqlite: Sqlite, file: string, home: string) => void): void {
  test(title, ({ home }) => {
    const file = `${home}/plain.db`;
    const sqlite = openSqlite(file, { mode: 'write', busyTimeoutMs: 100 });
    try {
      sqlite.exec(
        'CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE TABLE log(x); INSERT INTO t(x) VALUES (1)',
      );
      work(sqlite, file, home);
    } finally {
      sqlite.close();
    }
  });
}

function throwsCode(code: string, work: () => unknown): void {
  assert.throws(work, (error) => sqliteErrorCode(error) === code);
}

onTable('get() returns undefined when there is no row, all() an empty list', (sqlite) => {
  assert.equal(sqlite.get('SELECT * FROM t WHERE id = ?', 9), undefined);
  assert.deepEqual(sqlite.all('SELECT * FROM t WHERE id = ?', 9), []);
});
onTable('exec() runs all of several statements and none after the one that fails', (sqlite) => {
  sqlite.exec('INSERT INTO t(x) VALUES (2); INSERT INTO t(x) VALUES (3);');
  throwsCode('SQLITE_ERROR', () => sqlite.exec('INSERT INTO t(x) VALUES (4); INSERT INTO none VALUES (5)'));
  assert.deepEqual(column(sqlite, 'SELECT x FROM t'), [1, 2, 3, 4]);
});
onTable('run() counts rows of its own statement, not of triggers, and gives its own rowid', (sqlite) => {
  sqlite.exec(`CREATE VIRTUAL TABLE f USING fts5(x);
          CREATE TRIGGER i AFTER INSERT ON t BEGIN
            INSERT INTO log VALUES (1), (2), (3); INSERT INTO f(rowid, x) VALUES (NEW.id + 100, 'word'); END;
          CREATE TRIGGER d AFTER DELETE ON t BEGIN DELETE FROM log; DELETE FROM f; END`);
  assert.deepEqual(sqlite.run('INSERT INTO t(x) VALUES (?)', 'ä한'), {
    changes: 1,
    lastInsertRowid: 2,
  });
  assert.equal(sqlite.run('DELETE FROM t').changes, 2);
});
onTable('get() completes an INSERT with RETURNING', (sqlite) => {
  assert.equal(sqlite.get('INSERT INTO t(x) VALUES (?) RETURNING id', null)?.id, 2);
  assert.equal(sqlite.get('SELECT COUNT(*) AS n FROM t')?.n, 2);
});
onTable('transaction() returns the value of its work and has committed', (sqlite, file) => {
  assert.equal(
    sqlite.transaction(() => sqlite.run('UPDATE t SET x = 7').changes),
    1,
  );
  const other = openSqlite(file, { mode: 'read', busyTimeoutMs: 100 });
  assert.equal(other.get('SELECT x FROM t')?.x, 7);
  other.close();
});
onTable('transaction() rolls back and rethrows the same error', (sqlite) => {
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
});
onTable('transaction() lets a savepoint inside roll back alone', (sqlite) => {
  sqlite.transaction(() => {
    sqlite.run('INSERT INTO t(id, x) VALUES (5, 5)');
    sqlite.exec('SAVEPOINT one');
    sqlite.run('INSERT INTO t(id, x) VALUES (6, 6)');
    throwsCode('SQLITE_CONSTRAINT_PRIMARYKEY', () => sqlite.run('INSERT INTO t(id, x) VALUES (6, 6)'));
    sqlite.exec('ROLLBACK TO one');
    sqlite.exec('RELEASE one');
  });
  assert.deepEqual(column(sqlite, 'SELECT id FROM t'), [1, 5]);
});
onTable(
  'transaction() takes the write lock at once, and waits for it for the busy timeout',
  (sqlite, file) => {
    const other = openSqlite(file, { mode: 'write', busyTimeoutMs: 120 });
    const elapsedMs = sqlite.transaction(() => {
      const startedMs = performance.now();
      throwsCode('SQLITE_BUSY', () => other.transaction(() => assert.fail('never runs')));
      return performance.now() - startedMs;
    });
    other.close();
    assert.ok(elapsedMs >= 100, `waited ${elapsedMs} ms`);
  },
);
onTable('openSqlite() in read mode never creates a file and never writes', (_, file, home) => {
  const missing = `${home}/missing.db`;
  throwsCode('SQLITE_CANTOPEN', () => openSqlite(missing, { mode: 'read', busyTimeoutMs: 100 }));
  assert.equal(existsSync(missing), false);
  const reader = openSqlite(file, { mode: 'read', busyTimeoutMs: 100 });
  throwsCode('SQLITE_READONLY', () => reader.run('DELETE FROM t'));
  reader.close();
});
test('openSqlite() reads a snapshot under any name, without files beside it', ({ home }) => {
  for (const name of ['plain.db', 'a b%20#한.db', 'what?.db']) {
    const file = `${home}/${name}`;
    const writer = openSqlite(file, { mode: 'write', busyTimeoutMs: 100 });
    writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)');
    writer.close();
    for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
    const snapshot = openSqlite(file, { mode: 'snapshot', busyTimeoutMs: 100 });
    assert.equal(snapshot.get('SELECT x FROM t')?.x, 1, name);
    throwsCode('SQLITE_READONLY', () => snapshot.run('DELETE FROM t'));
    assert.equal(existsSync(`${file}-shm`), false);
    snapshot.close();
  }
  const missing = `${home}/missing.db`;
  throwsCode('SQLITE_CANTOPEN', () => openSqlite(missing, { mode: 'snapshot', busyTimeoutMs: 1 }));
  assert.equal(existsSync(missing), false);
});
onTable('sqliteErrorCode() names the result code, and nothing for other errors', (sqlite) => {
  throwsCode('SQLITE_CONSTRAINT_PRIMARYKEY', () => sqlite.run('INSERT INTO t(id) VALUES (1)'));
  throwsCode('SQLITE_ERROR', () => sqlite.get('SELECT none FROM t'));
  assert.equal(sqliteErrorCode(new Error('other')), undefined);
  assert.equal(sqliteErrorCode(Object.assign(new Error('other'), { code: 'ENOENT' })), undefined);
  assert.equal(sqliteErrorCode('SQLITE_BUSY'), undefined);
});

test('getDb() for writing creates directories 0700 and files 0600 under umask 077', ({ tell, paths }) => {
  const before = process.umask(0o077);
  try {
    tell(prompt('hello'));
  } finally {
    process.umask(before);
  }
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  assert.equal(mode(paths.data), '700');
  for (const end of ['', '-wal', '-shm']) assert.equal(mode(paths.database + end), '600', end);
});
test('getDb() for reading gives undefined and makes nothing where nothing is', ({ paths, read }) => {
  assert.equal(read(), undefined);
  assert.equal(existsSync(paths.data), false);
  mkdirSync(paths.data, { recursive: true });
  assert.equal(read(), undefined);
  assert.equal(existsSync(paths.database), false);
});
test('getDb() takes an empty file for an empty database', ({ paths, open, read }) => {
  makeDataFolder(paths);
  writeFileSync(paths.database, '');
  assert.equal(read()?.shape.has('events', 'data'), false);
  assert.equal(statSync(paths.database).size, 0);
  assert.equal(count(open(), 'events'), 0);
});
test('getDb() throws the SQLite error for a file that is no database, and closes it', ({ paths }) => {
  makeDataFolder(paths);
  writeFileSync(paths.database, 'this is not a database, but long enough to look like one '.repeat(40));
  for (const mode of ['read', 'write'] as const) {
    throwsCode('SQLITE_NOTADB', () => getDb(paths, { mode, busyTimeoutMs: 100 }));
  }
});
test('getDb() reads a database that it may not write to', async ({ db, paths, home, startWorker }) => {
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
});
test('getDb() waits for the lock when several processes open a new home', async ({ open, startWorker }) => {
  const workers = Array.from({ length: 8 }, (_, index) => startWorker('record', '5', `w${index}`));
  await allEnded(workers);
  assert.equal(count(open(), 'events'), 40);
});
