import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openSqlite } from '#sqlite';
import type { Db } from '../../src/database/connection.ts';
import { getDb } from '../../src/database/db.ts';
import { queryEvents } from '../../src/database/events.ts';
import { column, valuesIn } from '../support/rows.ts';
import { allEnded, checkIntegrity, count, pathsIn, time } from './conformance/context.ts';
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
    const objects = column(sqlite, 'SELECT name FROM sqlite_schema ORDER BY name');
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
  await allEnded([worker]);
  return performance.now() - startedMs;
}

test("getDb() takes our own database over from before: a person's words stay, what earlier rules learnt does not", () => {
  home = mkdtempSync(`${tmpdir()}/store-earlier-`);
  const paths = pathsIn(home);
  const first = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  const objects = names(first);
  first.sqlite.exec(`DROP TABLE imports; CREATE TABLE imports(path TEXT PRIMARY KEY, head TEXT);
    CREATE TABLE open_errors(event_id INTEGER PRIMARY KEY); ALTER TABLE error_kb DROP COLUMN said;
    INSERT INTO error_kb(ts, error_normalized, resolution, resolved_by, use_count, project_path, evidence) VALUES
      ('${time(0)}', 'first', '{"summary":"edited a.ts"}', 'success_after_error', 3, '/p', NULL),
      ('${time(0)}', 'second', '{"summary":"edited b.ts"}', 'user', 3, '/p', NULL),
      ('${time(0)}', 'third', '{"kind":"command","use":"edited c.ts"}', 'lesson', 3, '/p', '{}');
    PRAGMA user_version = 2`);
  first.sqlite.close();
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  const columns = 'error_normalized, resolved_by, use_count';
  expect(valuesIn(db.sqlite, `SELECT ${columns} FROM error_kb ORDER BY id`)).toEqual([
    ['first', null, 0],
    ['second', 'user', 3],
    ['third', 'lesson', 3],
  ]);
  expect(count(db, 'error_kb_text', "error_kb_text MATCH 'fix : edited'")).toBe(2);
  expect(names(db)).toEqual(objects);
  checkIntegrity(db);
  db.sqlite.close();
  expect(readdirSync(paths.backups).filter((name) => name.startsWith('self-gen.v2.'))).toHaveLength(1);
});

function names({ sqlite }: Db): unknown[] {
  return column(
    sqlite,
    "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name",
  );
}
