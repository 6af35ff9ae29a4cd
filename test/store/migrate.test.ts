import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openSqlite } from '#sqlite';
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

test('getDb() brings a database of the first schema to the present one: its errors can be searched and learned from', () => {
  home = mkdtempSync(`${tmpdir()}/store-first-`);
  const paths = pathsIn(home);
  const first = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  // What the first schema had, and not more.
  first.sqlite.exec(`DROP TRIGGER error_kb_text_update; DROP TRIGGER error_files_text_insert;
    DROP TRIGGER error_kb_text_insert; DROP TABLE error_kb_text;
    DROP TABLE suggestions; DROP TABLE analysis_runs; DROP TABLE given_contexts; DROP TABLE forgotten_errors;
    DROP TABLE imports;
    CREATE VIRTUAL TABLE error_kb_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
    CREATE TRIGGER error_kb_text_insert AFTER INSERT ON error_kb BEGIN
      INSERT INTO error_kb_text(rowid, text) VALUES (NEW.id, NEW.error_normalized);
    END;
    INSERT INTO error_kb(ts, error_normalized, error_raw, resolution)
      VALUES ('${time(0)}', 'engine stalled at <PATH>', 'engine stalled at /home/dev/a.c', '{"summary":"edited a.c"}');
    INSERT INTO error_files VALUES ('', 'src/a.c', 1);
    PRAGMA user_version = 1`);
  first.sqlite.close();
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  const row = db.sqlite.get('SELECT * FROM error_kb_text WHERE error_kb_text MATCH \'files : "a c"\'');
  expect(row).toEqual({
    error: 'engine stalled at <PATH>',
    raw: 'engine stalled at /home/dev/a.c',
    fix: 'edited a.c',
    files: 'src/a.c',
  });
  expect(count(db, 'suggestions')).toBe(0);
  checkIntegrity(db);
  db.sqlite.close();
  expect(readdirSync(paths.backups).filter((name) => name.startsWith('self-gen.v1.'))).toHaveLength(1);
});
