import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { StatePaths } from '../../src/core/state-paths.ts';
import { type Db, openSnapshot, type SnapshotRead } from '../../src/database/connection.ts';
import { getDb } from '../../src/database/db.ts';
import { queryEvents } from '../../src/database/events.ts';
import { record } from '../../src/hooks/store/record.ts';
import { allEnded, pathsIn, prompt } from './conformance/context.ts';
import { PREDECESSOR, writeOldDatabase } from './conformance/old-databases.ts';
import { startWorker } from './conformance.ts';

const NOW_MS = Date.parse('2026-05-01T10:00:00.000Z');
const log = () => `${paths.database}-wal`;

let paths: StatePaths;
let opened: Db['sqlite'][] = [];
beforeEach(() => {
  paths = pathsIn(mkdtempSync(`${tmpdir()}/store-snapshot-`));
  opened = [];
});
afterEach(() => {
  for (const one of opened) one.close();
  rmSync(paths.home, { recursive: true, force: true });
});

function keep(db: Db): Db {
  opened.push(db.sqlite);
  return db;
}

/** The connection of a writer, which stays open. */
function writer(): Db {
  return keep(getDb(paths, { mode: 'write', busyTimeoutMs: 1000 }));
}

/** Makes the file as old as it would be when nobody had written for that long. */
function age(ageMs = 60_000): void {
  utimesSync(paths.database, NOW_MS / 1000, (NOW_MS - ageMs) / 1000);
}

/** And takes the log in before. */
function settle(db: Db, ageMs?: number): void {
  db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  age(ageMs);
}

function openAt(nowMs = NOW_MS): SnapshotRead | undefined {
  const read = openSnapshot(paths, nowMs);
  if (read !== undefined) keep(read.db);
  return read;
}

function snapshot(): SnapshotRead {
  const read = openAt();
  if (read === undefined) throw new Error('Somebody writes to the database');
  return read;
}

const textsIn = (db: Db) => queryEvents({}, db).map((event) => event.text);

describe('openSnapshot()', () => {
  test('reads everything while nobody writes, and makes and changes no file', () => {
    const db = writer();
    record([prompt('one')], paths, db);
    settle(db);
    const state = () => [readFileSync(paths.database, 'latin1'), statSync(paths.database).mtimeMs];
    const before = state();
    const read = snapshot();
    expect(textsIn(read.db)).toEqual(['one']);
    expect(read.isUnchanged()).toBe(true);
    expect(read.isUnchanged()).toBe(true);
    expect(state()).toEqual(before);
  });

  test('returns undefined when the log has bytes', () => {
    const db = writer();
    settle(db);
    record([prompt('one')], paths, db);
    age();
    expect(statSync(log()).size).toBeGreaterThan(0);
    expect(openAt()).toBeUndefined();
    settle(db);
    expect(statSync(log()).size).toBe(0);
    expect(textsIn(snapshot().db)).toEqual(['one']);
  });

  // The first is of a clock that was set back.
  test.each([-3_600_000, -1, 0, 1, 19, 20])('does not open a file that was changed %d ms ago', (ageMs) => {
    settle(writer(), ageMs);
    expect(openAt()).toBeUndefined();
  });

  test.each([21, 1000])('opens a file that was changed %d ms ago', (ageMs) => {
    settle(writer(), ageMs);
    expect(openAt()).toBeDefined();
  });

  test('returns undefined right after a write, whatever the log says', () => {
    const db = writer();
    record([prompt('one')], paths, db);
    db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(openAt(Math.floor(statSync(paths.database).mtimeMs) + 5)).toBeUndefined();
  });

  test('returns undefined when there is no database, no folder, or an empty file', async () => {
    expect(openAt()).toBeUndefined();
    await Bun.write(paths.database, '');
    age();
    expect(openAt()).toBeUndefined();
  });

  test("reads a predecessor's database, and says that it is not ours", () => {
    writeOldDatabase(paths, PREDECESSOR);
    age();
    const read = snapshot();
    expect([read.db.isOwn, queryEvents({}, read.db).length, read.isUnchanged()]).toEqual([false, 3, true]);
  });
});

describe('isUnchanged()', () => {
  test('is false after another process wrote and took the log in', async () => {
    settle(writer());
    const read = snapshot();
    expect(textsIn(read.db)).toEqual([]);
    const words = ['worker', 'record', paths.home, '1', 'x'];
    await allEnded([startWorker([process.execPath, MAIN, ...words])]);
    writer().sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(statSync(log()).size).toBe(0);
    expect(read.isUnchanged()).toBe(false);
  });

  test('is false after another connection wrote and took the log in, also into a file of the same size', () => {
    const db = writer();
    record([prompt('one')], paths, db);
    settle(db);
    const read = snapshot();
    const bytes = statSync(paths.database).size;
    db.sqlite.exec('PRAGMA user_version = 1'); // Changes the first page only.
    db.sqlite.run("INSERT INTO spool_taken VALUES ('x', 'y')");
    db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(statSync(paths.database).size).toBe(bytes);
    expect(read.isUnchanged()).toBe(false);
  });

  test('is false after another connection only wrote', () => {
    const db = writer();
    settle(db);
    const read = snapshot();
    record([prompt('one')], paths, db);
    expect(statSync(paths.database).mtimeMs).toBe(NOW_MS - 60_000);
    expect(read.isUnchanged()).toBe(false);
  });

  test('is false after the database was replaced or has gone', () => {
    const db = writer();
    settle(db);
    const read = snapshot();
    copyFileSync(paths.database, `${paths.home}/copy`);
    renameSync(`${paths.home}/copy`, paths.database);
    expect(read.isUnchanged()).toBe(false);
    rmSync(paths.database);
    expect(read.isUnchanged()).toBe(false);
  });

  test('is true when another connection only read, and when a transaction was rolled back', () => {
    const db = writer();
    record([prompt('one')], paths, db);
    settle(db);
    const read = snapshot();
    expect(textsIn(keep(getDb(paths, { mode: 'read', busyTimeoutMs: 0 }) as Db))).toEqual(['one']);
    db.sqlite.exec("BEGIN IMMEDIATE; INSERT INTO spool_taken VALUES ('x', 'y'); ROLLBACK");
    expect(read.isUnchanged()).toBe(true);
  });
});

const MAIN = `${import.meta.dir}/conformance.main.ts`;
const TRANSFER = `${import.meta.dir}/../support/transfer.main.ts`;
const READS = 300;
const SUM = 1000;

type Outcome = 'refused' | 'rejected' | 'accepted';

test(`a torn read is never used, in ${READS} reads beside a writer`, async () => {
  const child = startWorker([process.execPath, TRANSFER, paths.home]);
  expect(await child.ready).toBe('ready');
  const counts: Record<Outcome, number> = { refused: 0, rejected: 0, accepted: 0 };
  const torn: Record<Outcome, number> = { refused: 0, rejected: 0, accepted: 0 };
  try {
    for (let index = 0; index < READS; index++) {
      const { outcome, sum } = await readAccounts(index % 9);
      counts[outcome]++;
      if (sum !== SUM) torn[outcome]++;
      // As long as the writer's file is too young, each try takes only microseconds.
      if (outcome === 'refused') await Bun.sleep(index % 5);
    }
  } finally {
    child.kill();
    await child.ended;
  }
  expect(torn.accepted).toBe(0);
  // So that it cannot pass when nothing ever met, or nothing was ever read.
  expect(counts.accepted).toBeGreaterThan(0);
  expect(counts.refused + counts.rejected).toBeGreaterThan(0);
  expect(torn.rejected).toBeGreaterThan(0);
}, 60_000);

/** Reads one account, gives the writer `pauseMs` to come between, reads the other. */
async function readAccounts(pauseMs: number): Promise<{ outcome: Outcome; sum?: number }> {
  const read = openSnapshot(paths, Date.now());
  if (read === undefined) return { outcome: 'refused', sum: SUM };
  let sum: number | undefined;
  try {
    const amountOf = (id: number) =>
      Number(read.db.sqlite.get('SELECT amount FROM account WHERE id = ?', id)?.amount);
    const first = amountOf(1);
    if (pauseMs > 0) await Bun.sleep(pauseMs);
    sum = first + amountOf(2);
  } catch {
    // A page that was being written: such a read must not be accepted either.
  }
  const outcome = read.isUnchanged() ? 'accepted' : 'rejected';
  read.db.sqlite.close();
  return { outcome, ...(sum === undefined ? {} : { sum }) };
}
