import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import type { Db } from '../../../src/database/connection.ts';
import { MigrationDeferred } from '../../../src/database/db.ts';
import { getCachedAnalysis, queryEvents } from '../../../src/database/events.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { recordPersonsFix } from '../../../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../../../src/lessons/store/error-search.ts';
import { findResolution } from '../../../src/lessons/store/told-lessons.ts';
import { SECRETS } from '../../support/made-up.ts';
import {
  type Case,
  type Context,
  checkIntegrity,
  count,
  failure,
  prompt,
  success,
  tell,
  time,
} from './context.ts';
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
function useIt(context: Context, db: Db): void {
  const before = count(db, 'events');
  const at = { ts: time(0), projectPath: '/home/dev/shop' };
  tell(
    context,
    db,
    prompt('brand new words'),
    failure('Bash', 'Error: new trouble', { command: 'npm test', id: 'x' }),
  );
  tell(context, db, failure('Bash', OLD_ERROR, { command: 'npm test' }), success('Edit', { file: 'a.ini' }));
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
  assert.equal(
    count(db, 'events') + count(db, 'event_text') + count(db, 'error_kb') + count(db, 'error_kb_text'),
    0,
  );
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

const PREDECESSOR_CASES: readonly Case[] = [
  {
    title: "getDb() reads the predecessor's database as it is and changes no byte of it",
    run: ({ paths, read }) => {
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
    },
  },
  {
    title: "getDb() migrates the predecessor's database after a backup and keeps all of its rows",
    run: (context) => {
      const { paths } = context;
      writeOldDatabase(paths, PREDECESSOR);
      const before = dump(paths.database);
      const db = context.open();
      assert.equal(userVersion(db.sqlite), 5);
      assert.deepEqual(
        queryEvents({ search: 'old' }, db).map((event) => event.type),
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
      useIt(context, db);
    },
  },
  {
    title: 'getDb() makes one backup however many processes find the old database at the same time',
    run: async (context) => {
      writeOldDatabase(context.paths, PREDECESSOR);
      const workers = Array.from({ length: 6 }, () => context.startWorker('migrate'));
      for (const worker of workers) {
        const { code, output } = await worker.ended;
        assert.equal(code, 0, output);
      }
      assert.equal(readdirSync(context.paths.backups).length, 1);
      useIt(context, context.open());
    },
  },
  {
    title: 'getDb() makes no backup of a new database and none at the second time',
    run: ({ open, paths }) => {
      open().sqlite.close();
      open();
      assert.equal(existsSync(paths.backups), false);
    },
  },
  {
    title: 'getDb() waits when another process holds an old database that is not in WAL mode',
    run: async (context) => {
      writeOldDatabase(context.paths, PREDECESSOR.replace('WAL', 'DELETE'));
      const holder = context.startWorker('hold-old', '150');
      await holder.ready;
      useIt(context, context.open({ busyTimeoutMs: 5000 }));
      await holder.ended;
    },
  },
];

const PARTIAL_CASES = PARTIALS.flatMap(({ what, sql, events, errors, hasPath }): Case[] => [
  {
    title: `getDb() reads a database with ${what} and changes nothing`,
    run: ({ paths, read }) => {
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
    },
  },
  {
    title: `getDb() migrates a database with ${what}`,
    run: (context) => {
      writeOldDatabase(context.paths, sql);
      const db = context.open();
      assert.equal(count(db, 'events'), events);
      assert.equal(count(db, 'error_kb'), errors);
      assert.equal(count(db, 'error_kb', 'resolution IS NOT NULL'), 0);
      for (const column of ['type', 'ts', 'session_id', 'data']) {
        assert.equal(count(db, 'events', `${column} IS NULL`), 0, column);
      }
      assert.equal(count(db, 'sqlite_schema', "name LIKE '%adopted%'"), 0);
      assert.equal(readdirSync(context.paths.backups).length, 1);
      useIt(context, db);
    },
  },
]);

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

const SECRET_CASES: readonly Case[] = [
  {
    title: 'getDb() leaves no secret in any table of an adopted database, and JSON stays JSON',
    run: (context) => {
      writeOldDatabase(context.paths, WITH_SECRETS);
      const db = context.open();
      assert.equal(count(db, 'events'), 3 + 3 * SECRETS.length);
      assert.equal(count(db, 'error_kb'), 1 + 2 * SECRETS.length);
      assert.deepEqual(found(allTexts(db.sqlite)), []);
      assert.equal(count(db, 'events', 'NOT json_valid(data)'), SECRETS.length);
      assert.equal(count(db, 'events', "data LIKE '{broken%[REDACTED]%'"), SECRETS.length);
      const redacted = `'$.errorRaw') LIKE 'raw%[REDACTED]%' AND json_extract(data, '$.at.deep[0]') LIKE '%[REDACTED]%`;
      assert.equal(
        count(db, 'events', `json_valid(data) AND json_extract(data, ${redacted}'`),
        SECRETS.length,
      );
      const texts = "json_valid(data) AND json_extract(data, '$.text') LIKE '%[REDACTED]%'";
      assert.equal(count(db, 'events', texts), SECRETS.length);
      for (const column of ['error_normalized', 'resolution'])
        assert.equal(count(db, 'error_kb', `${column} LIKE '%[REDACTED]%'`), 2 * SECRETS.length, column);
      assert.equal(count(db, 'error_kb', "error_raw LIKE '%[REDACTED]%'"), SECRETS.length);
      assert.equal(
        count(
          db,
          'error_kb',
          "json_valid(resolution) AND json_extract(resolution, '$.errorRaw') LIKE '%[RED%'",
        ),
        SECRETS.length,
      );
      // What is around a secret stays, and is found.
      assert.equal(queryEvents({ search: 'refused Error', type: 'prompt' }, db).length, SECRETS.length);
      assert.equal(queryEvents({ search: SECRETS[1]?.secret ?? '' }, db).length, 0);
      useIt(context, db);
    },
  },
  {
    title: 'getDb() keeps the rows of an adopted database that have no secret, byte for byte',
    run: (context) => {
      const rows = UNTOUCHED.map((data) => insertEvent(data)).join(' ');
      const raw = 'raw \u0001 é';
      const known = insertError('Error: no secret', { raw, resolution: UNTOUCHED[0] ?? '' });
      writeOldDatabase(context.paths, `${WITH_SECRETS} ${rows} ${known}`);
      const db = context.open();
      const kept = db.sqlite.all(
        'SELECT data FROM (SELECT id, data FROM events ORDER BY id DESC LIMIT ?) ORDER BY id',
        UNTOUCHED.length,
      );
      assert.deepEqual(
        kept.map((row) => row.data),
        UNTOUCHED,
      );
      const columns = 'error_normalized AS error, error_raw AS raw, resolution';
      const row = db.sqlite.get(`SELECT ${columns} FROM error_kb ORDER BY id DESC LIMIT 1`);
      assert.deepEqual({ ...row }, { error: 'Error: no secret', raw, resolution: UNTOUCHED[0] });
    },
  },
  {
    title: 'getDb() makes one row of errors that differed in their secret only, the most used one',
    run: (context) => {
      const secrets = SECRETS.slice(0, 2).map(({ text }) => text.replace('API_KEY=', ''));
      const rows = secrets.map((secret, index) =>
        insertError(`Error: ${secret} was refused`, { resolution: `way ${index}`, uses: 9 - index }),
      );
      writeOldDatabase(context.paths, `${PREDECESSOR} ${rows.join(' ')}`);
      const db = context.open();
      const known = db.sqlite.all("SELECT resolution FROM error_kb WHERE error_normalized LIKE '%refused'");
      assert.deepEqual(
        known.map((row) => row.resolution),
        ['way 0'],
      );
      useIt(context, db);
    },
  },
  {
    title: 'getDb() redacts an adopted database of more rows than it reads at once, with gaps between them',
    run: (context) => {
      const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203)
        INSERT INTO events(id, type, ts, session_id, data)
        SELECT i * 7, 'prompt', '${time(-1)}', 'many', json_object('text', i || ' ' || ${quoted(SECRETS[0]?.text ?? '')}) FROM n;`;
      writeOldDatabase(context.paths, PREDECESSOR.replace(/INSERT INTO events\(type[\s\S]*?;/, many));
      const db = context.open();
      assert.equal(count(db, 'events', "json_extract(data, '$.text') LIKE '%[REDACTED]'"), 1203);
      assert.deepEqual(found(allTexts(db.sqlite)), []);
    },
  },
  {
    title:
      'getDb() keeps the secrets of an adopted database in the backup for its owner; after VACUUM no other file has them',
    run: (context) => {
      writeOldDatabase(context.paths, WITH_SECRETS);
      const db = context.open();
      const [backup] = readdirSync(context.paths.backups);
      const file = `${context.paths.backups}/${backup}`;
      assert.equal(found([readFileSync(file, 'latin1')]).length, SECRETS.length);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      // Until then they may stand in the free space of the file, where no query finds them.
      db.sqlite.exec('VACUUM');
      db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      const files = [context.paths.database, `${context.paths.database}-wal`].map((path) =>
        readFileSync(path, 'latin1'),
      );
      assert.deepEqual(found(files), []);
    },
  },
];

const LIMIT_CASES: readonly Case[] = [
  {
    title: 'getDb() takes our own database over that was restored without its version',
    run: (context) => {
      const first = context.open();
      tell(context, first, prompt('kept words'), failure('Bash', 'Error: no port', { command: 'npm test' }));
      recordPersonsFix(
        'Error: no port',
        { ts: time(0), projectPath: '/home/dev/shop', summary: 'set it' },
        first,
      );
      first.sqlite.exec('PRAGMA user_version = 0');
      first.sqlite.close();
      const db = context.open();
      assert.equal(userVersion(db.sqlite), 5);
      assert.match(findResolution('Error: no port', '/home/dev/shop', db)?.resolution ?? '', /set it/);
      assert.equal(queryEvents({ search: 'kept' }, db).length, 1);
      useIt(context, db);
    },
  },
  {
    title: 'getDb() adopts a database with tables of a module that is not known here',
    run: (context) => {
      const file = context.paths.database;
      writeOldDatabase(
        context.paths,
        `${PREDECESSOR} CREATE VIRTUAL TABLE vec_error_kb USING fts5(x); INSERT INTO vec_error_kb VALUES ('1');
         CREATE VIRTUAL TABLE vec_skill_embeddings USING fts5(x);`,
      );
      // As long as the real name, so that the module can be exchanged in the file itself.
      writeFileSync(
        file,
        readFileSync(file, 'latin1').replaceAll('USING fts5(x)', 'USING vec0(x)'),
        'latin1',
      );
      const bytes = readFileSync(file);
      const reading = context.read();
      assert.ok(reading);
      assert.equal(readEverything(reading).fix !== undefined, true);
      reading.sqlite.close();
      assert.ok(bytes.equals(readFileSync(file)));
      const db = context.open();
      assert.equal(count(db, 'sqlite_schema', "sql LIKE '%vec0%'"), 2);
      assert.equal(count(db, 'vec_error_kb_content'), 1);
      useIt(context, db);
    },
  },
  {
    title: 'getDb() refuses to write to the database of a later version, and still reads it',
    run: (context) => {
      const db = context.open();
      tell(context, db, prompt('from the future'));
      db.sqlite.exec('PRAGMA user_version = 99');
      db.sqlite.close();
      const before = dump(context.paths.database);
      const refusal = (error: unknown) =>
        error instanceof MigrationDeferred &&
        /schema version is 99.*knows 5.*Update self-generation/.test(error.message);
      assert.throws(() => context.open(), refusal);
      assert.equal(dump(context.paths.database), before);
      const reading = context.read();
      assert.deepEqual(reading && queryEvents({ search: 'future' }, reading).map((event) => event.text), [
        'from the future',
      ]);
    },
  },
  {
    title: 'getDb() defers the migration of a database above migrationBytesMax and leaves it as it is',
    run: (context) => {
      writeOldDatabase(context.paths, PREDECESSOR);
      const bytes = readFileSync(context.paths.database);
      const refusal = (error: unknown) => error instanceof MigrationDeferred && /doctor/.test(error.message);
      assert.throws(() => context.open({ migrationBytesMax: bytes.length - 1 }), refusal);
      assert.ok(bytes.equals(readFileSync(context.paths.database)));
      assert.equal(existsSync(context.paths.backups), false);
      useIt(context, context.open({ migrationBytesMax: bytes.length }));
    },
  },
  {
    title: 'getDb() leaves the old database and no backup behind when the migration fails, however often',
    run: (context) => {
      // A table in the place of one of our indexes: the schema's own statements fail after the adoption.
      writeOldDatabase(context.paths, `${PREDECESSOR}; CREATE TABLE idx_events_ts(x)`);
      const before = dump(context.paths.database);
      for (let attempt = 0; attempt < 3; attempt++) {
        assert.throws(() => context.open(), /idx_events_ts/);
        assert.equal(dump(context.paths.database), before);
        assert.deepEqual(readdirSync(context.paths.backups), []);
      }
      const reading = context.read();
      assert.equal(reading && readEverything(reading).events, 3);
    },
  },
];

export const ADOPT_CASES = [...PREDECESSOR_CASES, ...PARTIAL_CASES, ...SECRET_CASES, ...LIMIT_CASES];
