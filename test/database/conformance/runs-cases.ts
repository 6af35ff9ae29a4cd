import assert from 'node:assert/strict';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { spent } from '../../../src/runs/store/limits.ts';
import { takeAnnouncements, undelivered } from '../../../src/runs/store/outbox.ts';
import { claimTurns, queuePosition } from '../../../src/runs/store/queue.ts';
import {
  dataVersion,
  dueArchives,
  openRunsDb,
  readRuns,
  setArchived,
  withRuns,
} from '../../../src/runs/store/rows.ts';
import { getRun, listRuns } from '../../../src/runs/store/runs.ts';
import { changeTurn, endTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { accepted, announcement, ending, LANE, NOW_MS, spawn, usageOf } from '../../runs/store/made-up.ts';
import { test } from './context.ts';

/** The database of background runs under both drivers. */

const A = 'agent:main:shop-1';

/** A case with the runs database. */
function onRuns(title: string, work: (db: Sqlite) => void): void {
  test(title, ({ paths }) => withRuns(paths, work));
}

onRuns('a background run goes from its spawn to its archive', (db) => {
  const { runId } = accepted(db, { cleanup: 'delete' });
  assert.equal(queuePosition(runId, db), 1);
  const [claimed] = claimTurns(LANE, NOW_MS, db);
  assert.ok(claimed);
  const owner = { pid: 7, start: '70', boot: 'b' };
  const running = changeTurn(claimed, { state: 'running', owner }, db);
  assert.ok(running);
  assert.equal(changeTurn(claimed, { notes: ['late'] }, db), undefined);
  const end = endTurn(running, ending({ usage: usageOf(10, 0.25) }), announcement({ id: 'one' }), db);
  assert.deepEqual([end?.state, end?.usage.costUsd, end?.version], ['success', 0.25, 4]);
  assert.deepEqual(spent({ runId }, db), { tokens: 10, usd: 0.25, unknownUsd: 0 });
  const listener = { requester: A, session: 's1', owner: 'o', isPerson: false };
  const options = { nowMs: NOW_MS + 2000, leaseMs: 1000, limit: 9 };
  const [taken, ...others] = takeAnnouncements(listener, options, db);
  assert.deepEqual([taken?.id, taken?.isRedelivery, others], ['one', false, []]);
  assert.deepEqual(dueArchives(NOW_MS * 2, 9, db), []);
  assert.deepEqual(takeAnnouncements(listener, { ...options, nowMs: NOW_MS + 2001 }, db), []);
  assert.equal(undelivered(A, db), 0);
  const due = dueArchives(NOW_MS + 2001, 9, db);
  assert.deepEqual(
    due.map(({ id }) => id),
    [runId],
  );
  assert.equal(setArchived(runId, NOW_MS + 3000, db), true);
  assert.equal(getRun(runId, db)?.run.archivedAtMs, NOW_MS + 3000);
  assert.equal(listRuns({ requester: A, includeArchived: true, limit: 9 }, db)[0]?.delivery, 'acked');
});
onRuns('a background run that waits is stopped at once, and the same call is the same run', (db) => {
  const first = accepted(db, { spawnKey: 'k' });
  assert.equal(spawn(db, { spawnKey: 'k' }).kind, 'duplicate');
  const stop = { reason: 'requested', by: 'x', atMs: NOW_MS } as const;
  assert.equal(requestStop(first.runId, stop, db)[0]?.state, 'stopped');
  assert.deepEqual(getRun(first.runId, db)?.turn.stop, stop);
});
test('the runs database is read beside a writer, and its version tells of each write', ({ paths }) => {
  const list = () => readRuns(paths, (reader) => listRuns({ limit: 9 }, reader));
  assert.equal(list(), undefined);
  const [db, other] = [openRunsDb(paths), openRunsDb(paths)];
  try {
    const before = dataVersion(db);
    db.transaction(() => {
      accepted(db);
      assert.deepEqual(list(), []);
    });
    assert.equal(dataVersion(db), before);
    accepted(other);
    assert.notEqual(dataVersion(db), before);
  } finally {
    db.close();
    other.close();
  }
});
test('the runs database undoes inner transactions too, and refuses a later version', ({ paths }) =>
  withRuns(paths, (db) => {
    const work = () =>
      db.transaction(() => {
        accepted(db);
        throw new Error('planned');
      });
    assert.throws(work, /planned/);
    assert.deepEqual(listRuns({ limit: 9 }, db), []);
    db.exec('PRAGMA user_version = 99');
    assert.throws(() => openRunsDb(paths), /schema version is 99, this program knows \d+/);
  }));
