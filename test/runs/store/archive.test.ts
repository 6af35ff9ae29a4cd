import { describe, expect } from 'bun:test';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { dismissAnnouncements, reword, takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { dueArchives, setArchived } from '../../../src/runs/store/rows.ts';
import { getRun, handoverText, keepHandover } from '../../../src/runs/store/runs.ts';
import { endTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, appended, deliver, ended, ending, NOW_MS, started } from './made-up.ts';

const HOUR_MS = 3_600_000;
const ENDED_MS = NOW_MS + 1000;
const FAR_MS = NOW_MS + 1000 * HOUR_MS;

const archiveAt = (runId: string, db: Sqlite) => getRun(runId, db)?.run.archiveAtMs;
const due = (nowMs: number, db: Sqlite) => dueArchives(nowMs, 10, db).map(({ id }) => id);

const MESSAGE = { nowMs: ENDED_MS + 5 };

describe('a run is archived', () => {
  test('so long after its end was taken in, and not a moment before', ({ db }) => {
    const { runId } = ended(db);
    deliver(db, ENDED_MS + HOUR_MS);
    expect(archiveAt(runId, db)).toBe(ENDED_MS + 2 * HOUR_MS);
    expect(due(ENDED_MS + 2 * HOUR_MS - 1, db)).toEqual([]);
    expect(due(ENDED_MS + 2 * HOUR_MS, db)).toEqual([runId]);
  });

  test('so long after its end where there is nothing to tell', ({ db }) => {
    const turn = started(db);
    endTurn(turn, ending(), null, db);
    expect(archiveAt(turn.runId, db)).toBe(ENDED_MS + HOUR_MS);
    const queued = accepted(db);
    requestStop(queued.runId, { reason: 'requested', by: 'x', atMs: NOW_MS + 7 }, db);
    expect(archiveAt(queued.runId, db)).toBe(NOW_MS + 7 + HOUR_MS);
  });

  test('never while it waits or runs, however long', ({ db }) => {
    const waits = accepted(db);
    const runs = started(db);
    expect([archiveAt(waits.runId, db), archiveAt(runs.runId, db)]).toEqual([null, null]);
    expect(due(FAR_MS, db)).toEqual([]);
  });

  test('never while its announcement is undelivered or only handed out', ({ db }) => {
    ended(db);
    const doomed = ended(db, { cleanup: 'delete' });
    expect(due(FAR_MS, db)).toEqual([]);
    const listener = { requester: A, session: null, owner: 'o', isPerson: true };
    takeAnnouncements(listener, { nowMs: ENDED_MS, leaseMs: 1, limit: 9 }, db);
    expect(due(FAR_MS, db)).toEqual([]);
    // Even where a time stands there.
    db.run('UPDATE runs SET archive_at = 1 WHERE id = ?', doomed.runId);
    expect(due(FAR_MS, db)).toEqual([]);
  });

  test('never when it is not to be', ({ db }) => {
    const { runId } = ended(db, { archiveAfterMs: 0 });
    deliver(db, ENDED_MS);
    expect(archiveAt(runId, db)).toBeNull();
  });

  test('not while it works on a message, and then anew', ({ db }) => {
    const { runId } = ended(db);
    deliver(db, ENDED_MS);
    const turn = appended(db, runId, { ...MESSAGE, state: 'starting' });
    expect(archiveAt(runId, db)).toBeNull();
    endTurn(turn, ending({ endedAtMs: ENDED_MS + 9 * HOUR_MS }), null, db);
    expect(archiveAt(runId, db)).toBe(ENDED_MS + 10 * HOUR_MS);
  });
});

describe('a run that is to be deleted is archived right after', () => {
  const atMs = ENDED_MS + 50;
  const settled: [by: string, settle: (runId: string, db: Sqlite) => unknown, readyAtMs: number][] = [
    ['it was taken in', (_, db) => deliver(db, atMs), atMs],
    ['it was skipped', (runId, db) => reword(runId, 1, { skip: true, nowMs: atMs }, db), atMs + 1],
    ['it was dismissed', (_, db) => dismissAnnouncements('all', A, atMs, db), atMs],
  ];
  for (const [by, settle, readyAtMs] of settled)
    test(by, ({ db }) => {
      const { runId } = ended(db, { cleanup: 'delete', archiveAfterMs: 0 }, { readyAtMs });
      expect(due(FAR_MS, db)).toEqual([]);
      settle(runId, db);
      expect(due(atMs, db)).toEqual([runId]);
    });

  test('its announce step has ended, also where the announcement was faster', ({ db }) => {
    const turn = started(db, { cleanup: 'delete' });
    const step = db.transaction(() => {
      endTurn(turn, ending(), announcement(), db);
      return appended(db, turn.runId, { ...MESSAGE, kind: 'announce', announces: 1, state: 'starting' });
    });
    deliver(db, ENDED_MS + 1);
    expect(due(FAR_MS, db)).toEqual([]);
    endTurn(step, ending({ endedAtMs: ENDED_MS + 8 }), null, db);
    expect(due(ENDED_MS + 8, db)).toEqual([turn.runId]);
  });
});

describe('setArchived()', () => {
  test('can be repeated: the first time stays, and the run is not due again', ({ db, open }) => {
    const { runId } = ended(db, { cleanup: 'delete' });
    deliver(db, ENDED_MS);
    // The files were put away, then the process was killed: the run is due again.
    expect(due(ENDED_MS, db)).toEqual([runId]);
    expect(setArchived(runId, ENDED_MS + 1, open())).toBe(true);
    expect(setArchived(runId, ENDED_MS + 2, db)).toBe(true);
    expect(getRun(runId, db)?.run.archivedAtMs).toBe(ENDED_MS + 1);
    expect(due(FAR_MS, db)).toEqual([]);
  });

  test('does not archive a run that was sent a message meanwhile', ({ db, open }) => {
    const { runId } = ended(db, { cleanup: 'delete' });
    deliver(db, ENDED_MS);
    appended(open(), runId, MESSAGE);
    expect(setArchived(runId, ENDED_MS + 9, db)).toBe(false);
    expect(getRun(runId, db)?.run.archivedAtMs).toBeNull();
  });

  test('leaves the row, with what it took', ({ db }) => {
    const { runId } = ended(db);
    deliver(db, ENDED_MS);
    const before = getRun(runId, db);
    setArchived(runId, FAR_MS, db);
    expect(getRun(runId, db)?.turn).toEqual(before?.turn as NonNullable<typeof before>['turn']);
  });
});

test('dueArchives() gives the longest due first, and no more than it is asked for', ({ db }) => {
  const [second, first] = [ended(db, { archiveAfterMs: 2000 }), ended(db, { archiveAfterMs: 1000 })];
  deliver(db, ENDED_MS);
  expect(due(FAR_MS, db)).toEqual([first.runId, second.runId]);
  expect(dueArchives(FAR_MS, 1, db).map(({ id }) => id)).toEqual([first.runId]);
});

test('what a run was handed is gone once it is archived, and not before', ({ db }) => {
  const { runId } = ended(db);
  keepHandover(runId, 'said before', db);
  setArchived(runId, FAR_MS, db);
  expect(handoverText(runId, db)).toBe('said before');
  deliver(db, ENDED_MS);
  expect(setArchived(runId, FAR_MS, db)).toBe(true);
  expect(handoverText(runId, db)).toBeUndefined();
});
