import { expect } from 'bun:test';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { ASKS_FIRST } from '../../../src/runs/model/permissions.ts';
import { undelivered } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import {
  addRunEvent,
  dataVersion,
  openRunsDb,
  readRuns,
  runEvents,
  withRuns,
} from '../../../src/runs/store/rows.ts';
import { getRun, listRuns } from '../../../src/runs/store/runs.ts';
import { awaitedTurns, endTurn, getTurn } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, ending, LANE, NOW_MS, newRun, spawn, started } from './made-up.ts';

const BIG = 'word '.repeat(100_000);

function count(db: Sqlite, table: string): number {
  return Number(db.get(`SELECT COUNT(*) AS n FROM ${table}`)?.n);
}

/** Lets no page be added any more, as a full disk does. */
function fillDisk(db: Sqlite): void {
  const pages = Number(db.get('PRAGMA page_count')?.page_count);
  db.exec(`PRAGMA max_page_count = ${pages}`);
}

test('openRunsDb() makes a private database in WAL mode that waits for locks and survives a power failure', ({
  paths: { home },
  paths,
}) => {
  const own = { ...paths, data: `${home}/own`, runsDatabase: `${home}/own/runs.db` };
  const before = process.umask(0o077);
  const db = openRunsDb(own);
  process.umask(before);
  const settings = { journal_mode: 'wal', busy_timeout: 5000, synchronous: 2, foreign_keys: 1 };
  for (const [name, value] of Object.entries(settings))
    expect(Object.values(db.get(`PRAGMA ${name}`) ?? {})).toEqual([value]);
  expect((statSync(own.data).mode & 0o777).toString(8)).toBe('700');
  for (const end of ['', '-wal', '-shm'])
    expect((statSync(own.runsDatabase + end).mode & 0o777).toString(8), end).toBe('600');
  db.close();
});

test('openRunsDb() leaves the rows of a database that is there', ({ db, open }) => {
  const { runId } = accepted(db);
  expect(getRun(runId, open())?.run.id).toBe(runId);
});

test('openRunsDb(), readRuns() and withRuns() refuse the database of a later version, and say what to do', ({
  db,
  paths,
}) => {
  db.exec('PRAGMA user_version = 7');
  const words = `Cannot use "${paths.runsDatabase}": its schema version is 7, this program knows 6. Update self-generation`;
  expect(() => openRunsDb(paths)).toThrow(words);
  expect(() => readRuns(paths, () => 'read')).toThrow(words);
  expect(() => withRuns(paths, () => 'written')).toThrow(words);
  expect(db.get('PRAGMA user_version')?.user_version).toBe(7);
});

/** Takes away what the fifth version and the sixth have added. */
const WITHOUT_PARTS = `
  ALTER TABLE runs DROP COLUMN pool; DROP INDEX run_parts; DROP INDEX turn_names;
  ALTER TABLE runs DROP COLUMN part; ALTER TABLE runs DROP COLUMN instructions;
  ALTER TABLE turns DROP COLUMN name; ALTER TABLE turns DROP COLUMN ahead;
  DROP TABLE conversations; DROP TABLE orchestration_facts; DROP TABLE orchestrations;
  PRAGMA user_version = 4`;

for (const [name, use] of [
  ['readRuns()', readRuns],
  ['withRuns()', withRuns],
] as const) {
  test(`${name} brings a database of the fourth version up to date, and what was in it goes on`, ({
    db,
    paths,
    open,
  }) => {
    const turn = started(db);
    db.exec(WITHOUT_PARTS);
    const read = use(paths, (now) => ({
      run: getRun(turn.runId, now),
      runs: listRuns({ limit: 9 }, now).length,
    }));
    expect(read).toMatchObject({ run: { run: { part: null, instructions: null }, turn }, runs: 1 });
    expect(db.get('PRAGMA user_version')?.user_version).toBe(6);
    // A supervisor of the earlier version has its connection still, and knows nothing of what was added.
    db.run(
      "INSERT INTO turns(run_id, number, kind, state, message, queued_at) VALUES (?, 2, 'send', 'queued', '', 1)",
      turn.runId,
    );
    expect(endTurn(turn, ending(), announcement(), db)?.state).toBe('success');
    expect(getTurn(turn.runId, 2, open())).toMatchObject({ name: null, ahead: false });
  });
}

test('readRuns() and withRuns() bring a database of the first version up to date', ({ db, paths }) => {
  const { runId } = accepted(db);
  claimTurns(LANE, NOW_MS, db);
  db.exec(WITHOUT_PARTS);
  for (const table of ['runs', 'turns']) db.exec(`ALTER TABLE ${table} DROP COLUMN permissions`);
  for (const name of ['session', 'stop_session']) db.exec(`ALTER TABLE turns DROP COLUMN ${name}`);
  for (const name of ['profile', 'handover']) db.exec(`ALTER TABLE runs DROP COLUMN ${name}`);
  for (const name of ['run_sessions', 'runs_kept_of_session'])
    db.exec(`CREATE INDEX ${name} ON runs (requester)`);
  db.exec(
    'DROP TABLE handovers; DROP TABLE stops; DROP TABLE listeners; ALTER TABLE runs DROP COLUMN terminal; PRAGMA user_version = 1',
  );
  db.run('UPDATE lane SET stopped_at = ?', NOW_MS + 5);
  const asks = { run: { permissions: ASKS_FIRST }, turn: { permissions: null, session: null } };
  const awaited = [{ runId, turn: 1, sessions: ['', null] }];
  expect(readRuns(paths, (read) => awaitedTurns(A, read))).toEqual(awaited);
  expect(readRuns(paths, (read) => getRun(runId, read))).toMatchObject(asks);
  expect(withRuns(paths, (written) => getRun(runId, written))).toMatchObject(asks);
  expect(db.get('PRAGMA user_version')?.user_version).toBe(6);
  // What was stopped before is still stopped, whichever session asks.
  expect(spawn(db, { session: 's', createdAtMs: NOW_MS + 4 })).toMatchObject({ why: 'stopped' });
  expect(spawn(db, { session: 's', createdAtMs: NOW_MS + 6 }).kind).toBe('inserted');
});

test('readRuns() gives undefined where there is no database, or only the beginning of one, and makes none', ({
  paths: { home },
  paths,
}) => {
  const elsewhere = { ...paths, data: `${home}/other`, runsDatabase: `${home}/other/runs.db` };
  expect(readRuns(elsewhere, () => 'read')).toBeUndefined();
  mkdirSync(elsewhere.data);
  expect(readRuns(elsewhere, () => 'read')).toBeUndefined();
  expect(() => statSync(elsewhere.runsDatabase)).toThrow();
  writeFileSync(elsewhere.runsDatabase, '');
  expect(readRuns(elsewhere, () => 'read')).toBeUndefined();
});

test('readRuns() reads beside a writer and cannot write', ({ db, paths }) => {
  accepted(db);
  db.transaction(() => {
    accepted(db);
    expect(readRuns(paths, (reader) => listRuns({ limit: 9 }, reader).length)).toBe(1);
  });
  expect(readRuns(paths, (reader) => listRuns({ limit: 9 }, reader).length)).toBe(2);
  expect(() => readRuns(paths, (reader) => reader.run('DELETE FROM turns'))).toThrow('Cannot read');
});

test('withRuns() names the file and says what to do when it is no database, or locked', ({ db, paths }) => {
  const other = { ...paths, runsDatabase: `${paths.data}/other.db` };
  writeFileSync(other.runsDatabase, 'this is not a database, but long enough to look like one '.repeat(40));
  expect(() => withRuns(other, () => 'written')).toThrow(
    `Cannot write "${other.runsDatabase}": file is not a database. Run "self-generation doctor"`,
  );
  db.exec('BEGIN IMMEDIATE');
  try {
    const write = (writer: Sqlite) => {
      writer.exec('PRAGMA busy_timeout = 20');
      accepted(writer);
    };
    expect(() => withRuns(paths, write)).toThrow(
      `Cannot write "${paths.runsDatabase}": database is locked. Another process holds it: try again`,
    );
  } finally {
    db.exec('ROLLBACK');
  }
});

test('dataVersion() changes when another connection has written, and not before', ({ db, open }) => {
  const other = open();
  const before = dataVersion(db);
  expect(dataVersion(db)).toBe(before);
  accepted(other);
  expect(dataVersion(db)).not.toBe(before);
});

test('openRunsDb() takes a transaction inside another as part of it: both are undone', ({ db }) => {
  const planned = new Error('planned');
  const work = () =>
    db.transaction(() => {
      accepted(db);
      throw planned;
    });
  expect(work).toThrow(planned);
  expect(count(db, 'runs')).toBe(0);
  accepted(db);
  expect(count(db, 'runs')).toBe(1);
});

test('insertRun() leaves nothing behind when the disk is full, and works again afterwards', ({ db }) => {
  fillDisk(db);
  expect(() => spawn(db, { task: BIG })).toThrow('full');
  expect([count(db, 'runs'), count(db, 'turns')]).toEqual([0, 0]);
  db.exec('PRAGMA max_page_count = 1000000');
  expect(spawn(db, { task: BIG }).kind).toBe('inserted');
});

test('insertRun() writes no run when its turn cannot be written', ({ db }) => {
  db.exec("CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'no space'); END");
  expect(() => spawn(db)).toThrow('no space');
  expect([count(db, 'runs'), count(db, 'turns')]).toEqual([0, 0]);
});

test('endTurn() ends nothing when what it has to tell cannot be written', ({ db, open }) => {
  const turn = started(db);
  fillDisk(db);
  expect(() => endTurn(turn, ending(), announcement({ result: BIG }), db)).toThrow('full');
  for (const connection of [db, open()]) {
    expect(getTurn(turn.runId, 1, connection)).toEqual(turn);
    expect(undelivered(A, connection)).toBe(0);
  }
  db.exec('PRAGMA max_page_count = 1000000');
  expect(endTurn(turn, ending(), announcement({ result: BIG }), db)?.state).toBe('success');
  expect(undelivered(A, db)).toBe(1);
});

test('a write that finds the database locked changes nothing and says so', ({ db, open }) => {
  const other = open();
  const turn = started(db);
  other.exec('PRAGMA busy_timeout = 20');
  db.transaction(() => {
    expect(() => spawn(other)).toThrow('locked');
    expect(() => endTurn(turn, ending(), announcement(), other)).toThrow('locked');
  });
  expect(getTurn(turn.runId, 1, other)).toEqual(turn);
  expect(endTurn(turn, ending(), announcement(), other)?.state).toBe('success');
});

test('the schema refuses words that this program does not know, and rows without their run', ({
  db,
  paths,
}) => {
  const { runId } = accepted(db);
  expect(() => db.run("UPDATE turns SET state = 'done' WHERE run_id = ?", runId)).toThrow('CHECK');
  const insert =
    "INSERT INTO turns(run_id, number, kind, state, message, queued_at) VALUES (?, 1, 'task', 'queued', '', 1)";
  expect(() => db.run(insert, newRun().id)).toThrow('FOREIGN KEY');
  const plain = openSqlite(paths.runsDatabase, { mode: 'read', busyTimeoutMs: 100 });
  expect(plain.all('PRAGMA integrity_check').map((row) => row.integrity_check)).toEqual(['ok']);
  plain.close();
});

const EVENT = { runId: 'r1', turn: 1, atMs: NOW_MS, actor: 'supervisor', type: 'launched', detail: 'pid 7' };

test('runEvents() gives the newest events of a run in the order in which they happened', ({ db }) => {
  for (const _ of [1, 2]) addRunEvent(EVENT, db);
  addRunEvent({ ...EVENT, runId: 'r2' }, db);
  addRunEvent({ ...EVENT, runId: null, turn: null }, db);
  addRunEvent({ ...EVENT, type: 'ended' }, db);
  expect(runEvents('r1', 9, db)).toEqual([EVENT, EVENT, { ...EVENT, type: 'ended' }]);
  expect(runEvents('r1', 1, db)).toEqual([{ ...EVENT, type: 'ended' }]);
  expect(runEvents(null, 9, db)).toEqual([{ ...EVENT, runId: null, turn: null }]);
});

test('addRunEvent() keeps a bounded number for each run, the newest, and bounded details on one line', ({
  db,
}) => {
  addRunEvent({ ...EVENT, runId: 'r2' }, db);
  addRunEvent({ ...EVENT, runId: null }, db);
  db.transaction(() => {
    for (let index = 0; index < 450; index++) {
      addRunEvent({ ...EVENT, detail: `${index}` }, db);
      addRunEvent({ ...EVENT, runId: null, detail: `${index}` }, db);
    }
  });
  for (const runId of ['r1', null]) {
    const kept = runEvents(runId, 999, db);
    expect(kept).toHaveLength(200);
    expect([kept[0]?.detail, kept.at(-1)?.detail]).toEqual(['250', '449']);
  }
  expect(runEvents('r2', 9, db)).toHaveLength(1);
  addRunEvent({ ...EVENT, detail: `a\n\x1b[31m${'한'.repeat(5000)}` }, db);
  const detail = runEvents('r1', 1, db)[0]?.detail ?? '';
  expect(detail).toStartWith('a 한');
  expect(detail.length).toBe(1000);
});

test('addRunEvent() adds once what was not noted of the turn before, also when it was cut', ({ db }) => {
  const long = { ...EVENT, detail: `line\n${'x'.repeat(9000)}` };
  for (const event of [EVENT, EVENT, long, long, { ...EVENT, turn: 2 }])
    addRunEvent(event, db, { once: true });
  expect(runEvents('r1', 9, db).map(({ turn, detail }) => [turn, detail.length])).toEqual([
    [1, 5],
    [1, 1000],
    [2, 5],
  ]);
});
