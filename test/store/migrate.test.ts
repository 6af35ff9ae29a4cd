import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openSqlite } from '#sqlite';
import type { StatePaths } from '../../src/core/state-paths.ts';
import type { Db } from '../../src/store/connection.ts';
import { getDb } from '../../src/store/db.ts';
import { queryEvents } from '../../src/store/events.ts';
import { checkIntegrity, count, pathsIn, time } from './conformance/context.ts';
import { PREDECESSOR, writeOldDatabase } from './conformance/old-databases.ts';
import { startWorker } from './conformance.ts';

const MAIN = `${import.meta.dir}/conformance.main.ts`;
const TRIES = 20;
const EVENTS = 5000;
const LARGE = `${PREDECESSOR}
  INSERT INTO events(type, ts, session_id, data)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${EVENTS - 3})
    SELECT 'prompt', '${time(0)}', 'many', json_object('text', 'words of number ' || i || ' ' || hex(randomblob(60))) FROM n;`;

let home = '';
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** What stands in a database that nobody has open: version, rows, schema. */
function look(database: string) {
  const sqlite = openSqlite(database, { mode: 'write', busyTimeoutMs: 1000 });
  try {
    const version = Number(sqlite.get('PRAGMA user_version')?.user_version);
    const events = Number(sqlite.get('SELECT COUNT(*) AS n FROM events')?.n);
    const objects = sqlite.all('SELECT name FROM sqlite_schema ORDER BY name').map((row) => row.name);
    return { integrity: sqlite.get('PRAGMA integrity_check')?.integrity_check, version, events, objects };
  } finally {
    sqlite.close();
  }
}

test('getDb() leaves either the old or the new database when it is killed while it migrates', async () => {
  home = mkdtempSync(`${tmpdir()}/store-kill-`);
  const seen = { old: 0, new: 0 };
  const elapsedMs = await migrationMs();
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const paths = pathsIn(`${home}/${attempt}`);
    writeOldDatabase(paths, LARGE);
    const before = look(paths.database);
    const worker = startWorker([process.execPath, MAIN, 'worker', 'migrate', paths.home]);
    await worker.ready;
    // Spread over the whole migration, the end included.
    await Bun.sleep((elapsedMs * 1.2 * (attempt + Math.random())) / TRIES);
    worker.kill();
    await worker.ended;

    const after = look(paths.database);
    expect(after.integrity).toBe('ok');
    expect(after.events).toBe(EVENTS);
    if (after.version === 0) expect(after).toEqual(before);
    else expect(after.objects).toContain('event_text');
    seen[after.version === 0 ? 'old' : 'new']++;

    const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
    expect(queryEvents({ search: 'words of number 77' }, db).length).toBeGreaterThan(0);
    expect([count(db, 'events'), count(db, 'event_text')]).toEqual([EVENTS, EVENTS - 1]);
    checkIntegrity(db);
    db.sqlite.close();
    const backups = readdirSync(paths.backups).filter((name) => name.endsWith('.db'));
    for (const name of backups) expect(look(`${paths.backups}/${name}`)).toEqual({ ...before });
    expect(backups.length).toBeGreaterThan(0);
  }
  // Kills that all came too early or too late would show nothing.
  expect(seen.old).toBeGreaterThan(0);
}, 120_000);

/** How long a worker needs from its first word to its end. */
async function migrationMs(): Promise<number> {
  const paths = pathsIn(`${home}/measured`);
  writeOldDatabase(paths, LARGE);
  const worker = startWorker([process.execPath, MAIN, 'worker', 'migrate', paths.home]);
  await worker.ready;
  const startedMs = performance.now();
  const { code, output } = await worker.ended;
  expect(code, output).toBe(0);
  return performance.now() - startedMs;
}

/** What the second schema had, and the present one has not. */
const SECOND = `DROP TABLE repositories; DROP INDEX idx_error_kb_shared; ALTER TABLE error_kb DROP COLUMN shared;
  DROP TRIGGER error_kb_text_update; DROP TRIGGER error_kb_text_insert; DROP TRIGGER error_kb_delete;
  DROP INDEX idx_error_kb_told; DROP INDEX idx_events_call;
  ALTER TABLE error_kb DROP COLUMN said; ALTER TABLE error_kb DROP COLUMN state;
  ALTER TABLE error_kb DROP COLUMN sessions; ALTER TABLE error_kb DROP COLUMN evidence;
  CREATE TABLE error_files(project_path TEXT NOT NULL, file TEXT NOT NULL, kb_id INTEGER NOT NULL,
    PRIMARY KEY (project_path, file, kb_id)) WITHOUT ROWID;
  CREATE TABLE open_errors(event_id INTEGER PRIMARY KEY, ts TEXT NOT NULL, session_id TEXT NOT NULL, agent_id TEXT,
    project_path TEXT, tool TEXT NOT NULL, error_normalized TEXT NOT NULL, error_raw TEXT, command JSON, file TEXT,
    mentioned_files JSON);
  CREATE TRIGGER error_kb_delete AFTER DELETE ON error_kb BEGIN
    DELETE FROM error_kb_text WHERE rowid = OLD.id; DELETE FROM error_files WHERE kb_id = OLD.id;
  END;
  CREATE TRIGGER error_files_text_insert AFTER INSERT ON error_files BEGIN
    UPDATE error_kb_text SET files = NEW.file WHERE rowid = NEW.kb_id;
  END;`;
const SECOND_SEARCH = `CREATE TRIGGER error_kb_text_insert AFTER INSERT ON error_kb BEGIN
    INSERT INTO error_kb_text(rowid, error, raw, fix, files) VALUES (NEW.id, NEW.error_normalized, NEW.error_raw,
      CASE WHEN json_valid(NEW.resolution) THEN COALESCE(json_extract(NEW.resolution, '$.summary'), '')
        ELSE NEW.resolution END, '');
  END;
  CREATE TRIGGER error_kb_text_update AFTER UPDATE OF error_raw, resolution ON error_kb BEGIN
    UPDATE error_kb_text SET raw = NEW.error_raw,
      fix = CASE WHEN json_valid(NEW.resolution) THEN COALESCE(json_extract(NEW.resolution, '$.summary'), '')
        ELSE NEW.resolution END
    WHERE rowid = NEW.id;
  END;`;

/** Writes a database of an earlier version of ours: what the newest schema made is taken out again. */
function writeEarlier(version: number, sql: string): StatePaths {
  home = mkdtempSync(`${tmpdir()}/store-earlier-`);
  const paths = pathsIn(home);
  const first = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  first.sqlite.exec(`${SECOND} ${sql} PRAGMA user_version = ${version}`);
  first.sqlite.close();
  return paths;
}

function names(db: Db): string {
  return db.sqlite
    .all("SELECT type || ' ' || name AS name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .map((row) => row.name)
    .join('\n');
}

test('getDb() brings a database of the first schema to the present one: its errors can be searched and learned from', () => {
  const paths = writeEarlier(
    1,
    `DROP TABLE error_kb_text;
    DROP TABLE suggestions; DROP TABLE analysis_runs; DROP TABLE given_contexts; DROP TABLE forgotten_errors;
    DROP TABLE imports;
    CREATE VIRTUAL TABLE error_kb_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
    CREATE TRIGGER error_kb_text_insert AFTER INSERT ON error_kb BEGIN
      INSERT INTO error_kb_text(rowid, text) VALUES (NEW.id, NEW.error_normalized);
    END;
    DROP TRIGGER error_files_text_insert;
    INSERT INTO error_kb(ts, error_normalized, error_raw, resolution, resolved_by) VALUES
      ('${time(0)}', 'engine stalled at <PATH>', 'engine stalled at /home/dev/a.c', '{"summary":"edited a.c"}', 'user');`,
  );
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  const row = db.sqlite.get("SELECT * FROM error_kb_text WHERE error_kb_text MATCH 'fix : edited'");
  expect(row).toEqual({
    error: 'engine stalled at <PATH>',
    raw: 'engine stalled at /home/dev/a.c',
    fix: 'edited a.c',
    files: '',
  });
  expect(count(db, 'suggestions')).toBe(0);
  checkIntegrity(db);
  db.sqlite.close();
  expect(readdirSync(paths.backups).filter((name) => name.startsWith('self-gen.v1.'))).toHaveLength(1);
});

test("getDb() takes what earlier rules learnt out of a database of the second schema, and keeps a person's words", () => {
  const learnt = (error: string, resolvedBy: string) =>
    `('${time(0)}', '${error}', '{"summary":"edited ${error}"}', '${resolvedBy}', '["Edit"]', 3, '${time(1)}', '/p', 4)`;
  const paths = writeEarlier(
    2,
    `${SECOND_SEARCH}
    INSERT INTO error_kb(ts, error_normalized, resolution, resolved_by, tool_sequence, use_count, last_used,
      project_path, seen_count)
    VALUES ${learnt('first', 'cross_tool_resolution')}, ${learnt('second', 'success_after_error')},
      ${learnt('third', 'user')}, ('${time(0)}', 'fourth', 'in words', NULL, NULL, 1, NULL, '/p', 1),
      ('${time(0)}', 'fifth', NULL, NULL, NULL, 0, NULL, '/p', 1);
    INSERT INTO error_files VALUES ('/p', 'a.ts', 1);
    INSERT INTO open_errors(event_id, ts, session_id, tool, error_normalized) VALUES (1, '', 's', 'Bash', 'first');`,
  );
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  const columns = 'error_normalized, resolution, resolved_by, tool_sequence, use_count, seen_count, sessions';
  expect(
    db.sqlite.all(`SELECT ${columns} FROM error_kb ORDER BY id`).map((row) => Object.values(row)),
  ).toEqual([
    ['first', null, null, null, 0, 4, 0],
    ['second', null, null, null, 0, 4, 0],
    ['third', '{"summary":"edited third"}', 'user', '["Edit"]', 3, 4, 0],
    ['fourth', null, null, null, 0, 1, 0],
    ['fifth', null, null, null, 0, 1, 0],
  ]);
  const found = (words: string) => count(db, 'error_kb_text', `error_kb_text MATCH 'fix : ${words}'`);
  expect([found('edited'), found('words')]).toEqual([1, 0]);
  checkIntegrity(db);
  // The same objects as in a database that is made now.
  const now = getDb(pathsIn(`${home}/new`), { mode: 'write', busyTimeoutMs: 1000 });
  expect(names(db)).toBe(names(now));
  expect(names(db)).not.toMatch(/open_errors|error_files/);
  now.sqlite.close();
  db.sqlite.close();
  expect(readdirSync(paths.backups).filter((name) => name.startsWith('self-gen.v2.'))).toHaveLength(1);
});
