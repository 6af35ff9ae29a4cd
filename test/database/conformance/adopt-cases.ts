import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import type { StatePaths } from '../../../src/core/state-paths.ts';
import type { Db } from '../../../src/database/connection.ts';
import { MigrationDeferred } from '../../../src/database/db.ts';
import { getCachedAnalysis, queryEvents } from '../../../src/database/events.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { record } from '../../../src/hooks/store/record.ts';
import { recordPersonsFix } from '../../../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../../../src/lessons/store/error-search.ts';
import { findResolution } from '../../../src/lessons/store/told-lessons.ts';
import { SECRETS } from '../../support/made-up.ts';
import { column } from '../../support/rows.ts';
import { allEnded, checkIntegrity, count, failure, prompt, success, test, time } from './context.ts';
import { PARTIALS, PREDECESSOR, writeOldDatabase } from './old-databases.ts';

/** Reading and taking over the databases of earlier implementations. */

const OLD_ERROR = 'Error: old trouble';

/** Everything a reading hook asks. */
function readEverything(db: Db) {
  const now = new Date(time(0));
  return {
    events: queryEvents({}, db).length,
    byPath: queryEvents(
      { type: 'tool_error', projectPath: '/home/dev/shop', since: time(-100), limit: 5 },
      db,
    ).length,
    byProject: queryEvents({ project: 'shop', sessionId: 'old' }, db).length,
    found: queryEvents({ search: 'old words', limit: 9 }, db).length,
    fix: findResolution(OLD_ERROR, '/home/dev/shop', db)?.resolution,
    alike: searchErrorKB(OLD_ERROR, '/home/dev/shop', db)?.resolution,
    rules: getCachedAnalysis(48, 'shop', { projectPath: '/home/dev/shop', now }, db)?.suggestions.length ?? 0,
  };
}

/** What must go on after the migration, whatever was there before. */
function useIt(paths: StatePaths, db: Db): void {
  const before = count(db, 'events');
  const at = { ts: time(0), projectPath: '/home/dev/shop' };
  const failed = (error: string) => failure('Bash', error, { command: 'npm test' });
  record([prompt('brand new words'), failed('Error: new trouble')], paths, db);
  record([failed(OLD_ERROR), success('Edit', { file: 'a.ini' })], paths, db);
  assert.equal(count(db, 'events'), before + 4);
  assert.equal(queryEvents({ search: 'brand wor' }, db).length, 1);
  for (const error of ['Error: new trouble', OLD_ERROR]) {
    recordPersonsFix(error, { ...at, summary: 'edited a.ini' }, db);
    assert.match(findResolution(error, '/home/dev/shop', db)?.resolution ?? '', /edited a\.ini/);
    assert.equal(searchErrorKB(error, '/home/dev/shop', db)?.said, error);
  }
  assert.throws(() => db.sqlite.run("UPDATE events SET type = 'x'"), /INSERT-only/);
  checkIntegrity(db);
  pruneOldEvents(1, new Date('2090-01-01'), db);
  for (const table of ['events', 'event_text', 'error_kb', 'error_kb_text'])
    assert.equal(count(db, table), 0);
  checkIntegrity(db);
}

function userVersion(sqlite: Sqlite): unknown {
  return sqlite.get('PRAGMA user_version')?.user_version;
}

/** Schema and rows of all tables that can be read, to compare databases by. */
function dump(file: string): string {
  const sqlite = openSqlite(file, { mode: 'read', busyTimeoutMs: 1000 });
  const tables = sqlite.all('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name');
  const readable = tables.filter(({ type, sql }) => type === 'table' && !/^CREATE VIRTUAL/.test(String(sql)));
  const rows = readable.map(({ name }) => [name, sqlite.all(`SELECT * FROM "${name}"`)]);
  const text = JSON.stringify([userVersion(sqlite), tables, rows]);
  sqlite.close();
  return text;
}

test("getDb() reads the predecessor's database as it is and changes no byte of it", ({ paths, read }) => {
  writeOldDatabase(paths, PREDECESSOR);
  const bytes = readFileSync(paths.database);
  const db = read();
  assert.ok(db);
  assert.deepEqual(readEverything(db), {
    events: 3,
    byPath: 1,
    byProject: 3,
    found: 1,
    fix: '{"resolvedBy":"success_after_error","toolSequence":["Bash"]}',
    alike: '{"resolvedBy":"success_after_error","toolSequence":["Bash"]}',
    rules: 1,
  });
  db.sqlite.close();
  assert.ok(bytes.equals(readFileSync(paths.database)));
  assert.equal(existsSync(paths.backups), false);
});
test("getDb() migrates the predecessor's database after a backup and keeps its rows", ({ paths, open }) => {
  writeOldDatabase(paths, PREDECESSOR);
  const before = dump(paths.database);
  const db = open();
  assert.equal(userVersion(db.sqlite), 6);
  const found = queryEvents({ search: 'old' }, db);
  assert.deepEqual(
    found.map(({ type }) => type),
    ['tool_error', 'prompt'],
  );
  assert.equal(readEverything(db).rules, 1);
  assert.equal(count(db, 'feedback') + count(db, 'skill_embeddings'), 2);
  // What was learnt by other rules is not told any more.
  const known = db.sqlite.get(
    'SELECT error_normalized AS error, resolution, use_count AS used FROM error_kb',
  );
  assert.deepEqual({ ...known }, { error: OLD_ERROR, resolution: null, used: 0 });
  assert.equal(count(db, 'sqlite_schema', "name LIKE 'events_fts%'"), 0);
  const [backup, ...others] = readdirSync(paths.backups);
  assert.deepEqual(others, []);
  assert.match(String(backup), /^self-gen\.v0\..+\.db$/);
  assert.equal(statSync(`${paths.backups}/${backup}`).mode & 0o777, 0o600);
  assert.equal(dump(`${paths.backups}/${backup}`), before);
  useIt(paths, db);
});
test('getDb() makes one backup for many processes at once', async ({ paths, open, startWorker }) => {
  writeOldDatabase(paths, PREDECESSOR);
  const workers = Array.from({ length: 6 }, () => startWorker('migrate'));
  await allEnded(workers);
  assert.equal(readdirSync(paths.backups).length, 1);
  useIt(paths, open());
});
test('getDb() makes no backup of a new database and none at the second time', ({ paths, open }) => {
  open().sqlite.close();
  open();
  assert.equal(existsSync(paths.backups), false);
});
test('getDb() waits for who holds an old database without WAL', async ({ paths, open, startWorker }) => {
  writeOldDatabase(paths, PREDECESSOR.replace('WAL', 'DELETE'));
  const holder = startWorker('hold-old', '150');
  await holder.ready;
  useIt(paths, open({ busyTimeoutMs: 5000 }));
  await holder.ended;
});

for (const { what, sql, events = 1, errors = 0, hasPath } of PARTIALS) {
  test(`getDb() reads a database with ${what} and changes nothing`, ({ paths, read }) => {
    writeOldDatabase(paths, sql);
    const bytes = readFileSync(paths.database);
    const db = read();
    assert.ok(db);
    const state = readEverything(db);
    assert.ok(state.events <= events);
    assert.equal(state.byPath, events > 0 && hasPath !== false ? 1 : 0);
    assert.equal(state.fix !== undefined, errors > 0);
    db.sqlite.close();
    assert.ok(bytes.equals(readFileSync(paths.database)));
  });
  test(`getDb() migrates a database with ${what}`, ({ paths, open }) => {
    writeOldDatabase(paths, sql);
    const db = open();
    assert.equal(count(db, 'events'), events);
    assert.equal(count(db, 'error_kb'), errors);
    assert.equal(count(db, 'error_kb', 'resolution IS NOT NULL'), 0);
    for (const column of ['type', 'ts', 'session_id', 'data']) {
      assert.equal(count(db, 'events', `${column} IS NULL`), 0, column);
    }
    assert.equal(count(db, 'sqlite_schema', "name LIKE '%adopted%'"), 0);
    assert.equal(readdirSync(paths.backups).length, 1);
    useIt(paths, db);
  });
}

const SECRET_TEXTS = SECRETS.map(({ text }, index) => `Error ${'abcdefghijkl'[index]}: ${text} was refused`);

/** A text with all kinds of characters that JSON and SQL escape. */
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

function insertEvent(data: string, type = 'tool_error'): string {
  return `INSERT INTO events(type, ts, session_id, project_path, data)
    VALUES ('${type}', '${time(-9)}', 'old', '/home/dev/shop', ${quoted(data)});`;
}

function insertError(normalized: string, { raw = '', resolution = '', uses = 1 } = {}): string {
  return `INSERT INTO error_kb(ts, error_normalized, error_raw, resolution, resolved_by, use_count)
    VALUES ('${time(-9)}', ${quoted(normalized)}, ${quoted(raw)}, ${quoted(resolution)}, 'user', ${uses});`;
}

const WITH_SECRETS = [
  PREDECESSOR,
  'DROP TRIGGER events_fts_insert;', // It refuses rows that are no JSON.
  ...SECRET_TEXTS.flatMap((text) => [
    insertEvent(JSON.stringify({ text, charCount: text.length }), 'prompt'),
    insertEvent(
      JSON.stringify({ tool: 'Bash', error: text, errorRaw: `raw\n"${text}"`, at: { deep: [text] } }),
    ),
    insertEvent(`{broken ${text}`),
    insertError(text, { raw: text, resolution: JSON.stringify({ errorRaw: text, toolSequence: ['Bash'] }) }),
    insertError(`plain ${text}`, { resolution: `then ${text} worked` }),
  ]),
].join(' ');

/** Documents that no one would write this way again: spaces, big and exact numbers, escapes, equal keys. */
const UNTOUCHED = [
  '{ "tool" : "Bash",\n  "error": "Error: a token expired" }',
  '{"n":12345678901234567890,"x":1.0,"y":1e3,"error":"caf\\u00e9 \\/ path"}',
  '{"error":"one","error":"two"}',
  '{broken',
  '"a text"',
  '[ ]',
  '',
];

/** The secrets that stand in one of these texts. */
function found(texts: readonly string[]): string[] {
  return SECRETS.flatMap(({ secret }) => (texts.some((text) => text.includes(secret)) ? [secret] : []));
}

function allTexts(sqlite: Sqlite): string[] {
  const tables = sqlite.all("SELECT name FROM sqlite_schema WHERE type = 'table'");
  return tables.map(({ name }) => JSON.stringify(sqlite.all(`SELECT * FROM "${name}"`)).replaceAll('\\', ''));
}

test('getDb() leaves no secret in any adopted table, and JSON stays JSON', ({ paths, open }) => {
  writeOldDatabase(paths, WITH_SECRETS);
  const db = open();
  assert.equal(count(db, 'events'), 3 + 3 * SECRETS.length);
  assert.equal(count(db, 'error_kb'), 1 + 2 * SECRETS.length);
  assert.deepEqual(found(allTexts(db.sqlite)), []);
  assert.equal(count(db, 'events', 'NOT json_valid(data)'), SECRETS.length);
  assert.equal(count(db, 'events', "data LIKE '{broken%[REDACTED]%'"), SECRETS.length);
  const redacted = `json_valid(data) AND json_extract(data, '$.errorRaw') LIKE 'raw%[REDACTED]%'
        AND json_extract(data, '$.at.deep[0]') LIKE '%[REDACTED]%'`;
  assert.equal(count(db, 'events', redacted), SECRETS.length);
  const texts = "json_valid(data) AND json_extract(data, '$.text') LIKE '%[REDACTED]%'";
  assert.equal(count(db, 'events', texts), SECRETS.length);
  for (const column of ['error_normalized', 'resolution'])
    assert.equal(count(db, 'error_kb', `${column} LIKE '%[REDACTED]%'`), 2 * SECRETS.length, column);
  assert.equal(count(db, 'error_kb', "error_raw LIKE '%[REDACTED]%'"), SECRETS.length);
  const fixes = "json_valid(resolution) AND json_extract(resolution, '$.errorRaw') LIKE '%[RED%'";
  assert.equal(count(db, 'error_kb', fixes), SECRETS.length);
  // What is around a secret stays, and is found.
  assert.equal(queryEvents({ search: 'refused Error', type: 'prompt' }, db).length, SECRETS.length);
  assert.equal(queryEvents({ search: SECRETS[1]?.secret ?? '' }, db).length, 0);
  useIt(paths, db);
});
test('getDb() keeps adopted rows that have no secret, byte for byte', ({ paths, open }) => {
  const rows = UNTOUCHED.map((data) => insertEvent(data)).join(' ');
  const raw = 'raw \u0001 é';
  const known = insertError('Error: no secret', { raw, resolution: UNTOUCHED[0] ?? '' });
  writeOldDatabase(paths, `${WITH_SECRETS} ${rows} ${known}`);
  const db = open();
  const kept = column(db.sqlite, 'SELECT data FROM events ORDER BY id').slice(-UNTOUCHED.length);
  assert.deepEqual(kept, UNTOUCHED);
  const columns = 'error_normalized AS error, error_raw AS raw, resolution';
  const row = db.sqlite.get(`SELECT ${columns} FROM error_kb ORDER BY id DESC LIMIT 1`);
  assert.deepEqual({ ...row }, { error: 'Error: no secret', raw, resolution: UNTOUCHED[0] });
});
test('getDb() makes one row of errors that differed in a secret, the most used one', ({ paths, open }) => {
  const secrets = SECRETS.slice(0, 2).map(({ text }) => text.replace('API_KEY=', ''));
  const rows = secrets.map((secret, index) =>
    insertError(`Error: ${secret} was refused`, { resolution: `way ${index}`, uses: 9 - index }),
  );
  writeOldDatabase(paths, `${PREDECESSOR} ${rows.join(' ')}`);
  const db = open();
  const known = column(db.sqlite, "SELECT resolution FROM error_kb WHERE error_normalized LIKE '%refused'");
  assert.deepEqual(known, ['way 0']);
  useIt(paths, db);
});
test('getDb() redacts more rows than it reads at once, with gaps between them', ({ paths, open }) => {
  const secret = quoted(SECRETS[0]?.text ?? '');
  const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203)
        INSERT INTO events(id, type, ts, session_id, data)
        SELECT i * 7, 'prompt', '${time(-1)}', 'many', json_object('text', i || ' ' || ${secret}) FROM n;`;
  writeOldDatabase(paths, PREDECESSOR.replace(/INSERT INTO events\(type[\s\S]*?;/, many));
  const db = open();
  assert.equal(count(db, 'events', "json_extract(data, '$.text') LIKE '%[REDACTED]'"), 1203);
  assert.deepEqual(found(allTexts(db.sqlite)), []);
});
test('getDb() keeps old secrets in the backup; after VACUUM no other file has them', ({ paths, open }) => {
  writeOldDatabase(paths, WITH_SECRETS);
  const db = open();
  const [backup] = readdirSync(paths.backups);
  const file = `${paths.backups}/${backup}`;
  assert.equal(found([readFileSync(file, 'latin1')]).length, SECRETS.length);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  // Until then they may stand in the free space of the file, where no query finds them.
  db.sqlite.exec('VACUUM');
  db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const files = [paths.database, `${paths.database}-wal`].map((path) => readFileSync(path, 'latin1'));
  assert.deepEqual(found(files), []);
});

test('getDb() takes over our own database restored without a version', ({ db: first, tell, paths, open }) => {
  tell(prompt('kept words'), failure('Bash', 'Error: no port', { command: 'npm test' }));
  const fix = { ts: time(0), projectPath: '/home/dev/shop', summary: 'set it' };
  recordPersonsFix('Error: no port', fix, first);
  first.sqlite.exec('PRAGMA user_version = 0');
  first.sqlite.close();
  const db = open();
  assert.equal(userVersion(db.sqlite), 6);
  assert.match(findResolution('Error: no port', '/home/dev/shop', db)?.resolution ?? '', /set it/);
  assert.equal(queryEvents({ search: 'kept' }, db).length, 1);
  useIt(paths, db);
});
test('getDb() adopts a database with tables of an unknown module', ({ paths, open, read }) => {
  const file = paths.database;
  writeOldDatabase(
    paths,
    `${PREDECESSOR} CREATE VIRTUAL TABLE vec_error_kb USING fts5(x); INSERT INTO vec_error_kb VALUES ('1');
         CREATE VIRTUAL TABLE vec_skill_embeddings USING fts5(x);`,
  );
  // As long as the real name, so that the module can be exchanged in the file itself.
  const real = readFileSync(file, 'latin1').replaceAll('USING fts5(x)', 'USING vec0(x)');
  writeFileSync(file, real, 'latin1');
  const bytes = readFileSync(file);
  const reading = read();
  assert.ok(reading);
  assert.equal(readEverything(reading).fix !== undefined, true);
  reading.sqlite.close();
  assert.ok(bytes.equals(readFileSync(file)));
  const db = open();
  assert.equal(count(db, 'sqlite_schema', "sql LIKE '%vec0%'"), 2);
  assert.equal(count(db, 'vec_error_kb_content'), 1);
  useIt(paths, db);
});
test('getDb() refuses to write to a later version, and still reads it', ({ db, tell, paths, open, read }) => {
  tell(prompt('from the future'));
  db.sqlite.exec('PRAGMA user_version = 99');
  db.sqlite.close();
  const before = dump(paths.database);
  const refusal = (error: unknown) =>
    error instanceof MigrationDeferred &&
    /schema version is 99.*knows 6.*Update self-generation/.test(error.message);
  assert.throws(() => open(), refusal);
  assert.equal(dump(paths.database), before);
  const reading = read();
  assert.equal(reading && queryEvents({ search: 'future' }, reading)[0]?.text, 'from the future');
});
test('getDb() defers migrating above migrationBytesMax, and leaves the file as it is', ({ paths, open }) => {
  writeOldDatabase(paths, PREDECESSOR);
  const bytes = readFileSync(paths.database);
  const refusal = (error: unknown) => error instanceof MigrationDeferred && /doctor/.test(error.message);
  assert.throws(() => open({ migrationBytesMax: bytes.length - 1 }), refusal);
  assert.ok(bytes.equals(readFileSync(paths.database)));
  assert.equal(existsSync(paths.backups), false);
  useIt(paths, open({ migrationBytesMax: bytes.length }));
});
test('getDb() leaves the old database and no backup when migrating fails', ({ paths, open, read }) => {
  // A table in the place of one of our indexes: the schema's own statements fail after the adoption.
  writeOldDatabase(paths, `${PREDECESSOR}; CREATE TABLE idx_events_ts(x)`);
  const before = dump(paths.database);
  for (let attempt = 0; attempt < 3; attempt++) {
    assert.throws(() => open(), /idx_events_ts/);
    assert.equal(dump(paths.database), before);
    assert.deepEqual(readdirSync(paths.backups), []);
  }
  const reading = read();
  assert.equal(reading && readEverything(reading).events, 3);
});
