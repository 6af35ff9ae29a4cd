import { describe, expect } from 'bun:test';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import type { Announcement } from '../../../src/runs/model/announcement.ts';
import {
  acknowledge,
  dismissAnnouncements,
  hasWaiting,
  moveLeases,
  newsOf,
  reword,
  takeAnnouncements,
  undelivered,
  waitingAnnouncements,
} from '../../../src/runs/store/outbox.ts';
import { changeRun, listRuns } from '../../../src/runs/store/runs.ts';
import { endTurn } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, appended, B, ended, ending, NOW_MS, started } from './made-up.ts';

const LEASE_MS = 600_000;
const KEPT_MS = 600_000;
const READY_MS = NOW_MS + 1000;

type Ask = Partial<Parameters<typeof takeAnnouncements>[0]> & { readonly limit?: number };

/** Asks `afterMs` after what is made up here is ready. */
function ask(db: Sqlite, afterMs: number, { limit = 20, ...asks }: Ask = {}): Announcement[] {
  const options = { nowMs: READY_MS + afterMs, leaseMs: LEASE_MS, limit };
  const listener = { owner: 'first', session: null, isPerson: false, requester: A, ...asks };
  return takeAnnouncements(listener, options, db);
}

const ids = (announcements: readonly Announcement[]) => announcements.map(({ id }) => id);

describe('takeAnnouncements()', () => {
  test('hands out what is ready, the oldest first, as it was written', ({ db }) => {
    const turn = ended(db, { label: 'count', session: 's1' }, { id: 'one', stats: 'Stats: x' });
    ended(db, {}, { id: 'two' });
    ended(db, {}, { id: 'later', readyAtMs: READY_MS + 60_000 });
    ended(db, { key: B }, { id: 'of another' });
    const taken = ask(db, 0, { session: 's1' });
    expect(taken[0]).toEqual({
      id: 'one',
      runId: turn.runId,
      turn: 1,
      number: 1,
      label: 'count',
      requester: A,
      requesterSession: 's1',
      status: 'success',
      result: 'done',
      notes: '- (none)',
      stats: 'Stats: x',
      state: 'leased',
      createdAtMs: NOW_MS + 1000,
      isRedelivery: false,
      attempts: 1,
    });
    expect(ids(taken)).toEqual(['one', 'two']);
  });

  test('hands out no more than it is asked for, and the rest with the next calls', ({ db }) => {
    for (const id of ['1', '2', '3', '4', '5']) ended(db, {}, { id });
    const batches = [0, 1, 2, 3].map((afterMs) => ids(ask(db, afterMs, { limit: 2 })));
    expect(batches).toEqual([['1', '2'], ['3', '4'], ['5'], []]);
    expect(undelivered(A, db)).toBe(0);
  });

  test('settles with the next call of the same owner all that it holds', ({ db }) => {
    ended(db, {}, { id: 'one' });
    ask(db, 0);
    expect(undelivered(A, db)).toBe(1);
    expect(ask(db, 1)).toEqual([]);
    expect(undelivered(A, db)).toBe(0);
    expect(listRuns({ requester: A, limit: 1 }, db)[0]?.delivery).toBe('acked');
    expect(ask(db, LEASE_MS * 9, { owner: 'second' })).toEqual([]);
  });

  test('gives each of two connections of one requester what the other has not got', ({ db, open }) => {
    const other = open();
    for (const id of ['1', '2', '3']) ended(db, {}, { id });
    const first = ids(ask(db, 0, { owner: 'first', limit: 2 }));
    const second = ids(ask(other, 0, { owner: 'second', limit: 2 }));
    expect([first, second]).toEqual([['1', '2'], ['3']]);
    expect([ask(db, 1, { owner: 'first' }), ask(other, 1, { owner: 'second' })]).toEqual([[], []]);
    expect(undelivered(A, db)).toBe(0);
  });

  test('gives again, and says so, what an owner took that never came back, with the same id', ({ db }) => {
    ended(db, {}, { id: 'one' });
    ask(db, 0, { owner: 'gone' });
    expect(ask(db, LEASE_MS - 1, { owner: 'next' })).toEqual([]);
    const again = ask(db, LEASE_MS, { owner: 'next' });
    expect(again).toMatchObject([{ id: 'one', isRedelivery: true, attempts: 2 }]);
    // The first owner has lost it: what it says now settles nothing.
    expect(ask(db, LEASE_MS + 1, { owner: 'gone' })).toEqual([]);
    expect(undelivered(A, db)).toBe(1);
    ask(db, LEASE_MS + 2, { owner: 'next' });
    expect(undelivered(A, db)).toBe(0);
  });

  test('does not repeat to an owner who comes back late what nobody else was given', ({ db }) => {
    ended(db, {}, { id: 'one' });
    ask(db, 0);
    expect(ask(db, LEASE_MS * 5)).toEqual([]);
    expect(undelivered(A, db)).toBe(0);
  });

  test('gives what is meant for a session to nobody else, as long as it may come', ({ db }) => {
    ended(db, { session: 's1' }, { id: 'for s1' });
    ended(db, { session: null }, { id: 'for anybody' });
    expect(ids(ask(db, 0, { owner: 'b', session: 's2' }))).toEqual(['for anybody']);
    expect(ids(ask(db, 0, { owner: 'c', session: null }))).toEqual([]);
    expect(ids(ask(db, KEPT_MS - 1, { owner: 'd', session: 's2' }))).toEqual([]);
    acknowledge('b', READY_MS, db);
    expect(ids(ask(db, KEPT_MS, { owner: 'e', session: 's2' }))).toEqual(['for s1']);
  });

  test('gives a person everything that is ready at once', ({ db }) => {
    ended(db, { session: 's1' }, { id: 'one' });
    ended(db, { session: 's2' }, { id: 'two' });
    expect(ids(ask(db, 0, { isPerson: true, owner: 'person' }))).toEqual(['one', 'two']);
  });

  test('writes nothing when nothing waits', ({ db, open }) => {
    const other = open();
    other.exec('PRAGMA busy_timeout = 20');
    db.transaction(() => expect(ask(other, 0, { session: 's1' })).toEqual([]));
  });
});

test('acknowledge() settles what the owner holds and gives the ids', ({ db }) => {
  for (const id of ['1', '2', '3']) ended(db, {}, { id });
  ask(db, 0, { owner: 'a', limit: 2 });
  expect(acknowledge('b', READY_MS + 1, db)).toEqual([]);
  expect(acknowledge('a', READY_MS + 1, db).sort()).toEqual(['1', '2']);
  expect(acknowledge('a', READY_MS + 2, db)).toEqual([]);
  expect(ids(waitingAnnouncements(A, db))).toEqual(['3']);
});

test('moveLeases() to nobody lets what an owner held wait again, marked as seen perhaps', ({ db }) => {
  ended(db, {}, { id: '1' });
  ask(db, 0, { owner: 'a' });
  moveLeases('b', null, db);
  expect(ask(db, 1, { owner: 'c' })).toEqual([]);
  moveLeases('a', null, db);
  expect(ask(db, 2, { owner: 'c' }).map(({ id, isRedelivery }) => [id, isRedelivery])).toEqual([['1', true]]);
});

describe('reword()', () => {
  const better = { result: 'better', notes: '- new', nowMs: READY_MS + 100 };
  const soon = { readyAtMs: READY_MS + 65_000 };

  test('puts an announcement into better words before it is ready, and makes it ready', ({ db }) => {
    const { runId } = ended(db, {}, { id: '1', ...soon });
    expect(ask(db, 99)).toEqual([]);
    expect(reword(runId, 1, better, db)).toBe(true);
    expect(ask(db, 100)).toMatchObject([{ result: 'better', notes: '- new', status: 'success' }]);
  });

  test('skips it: nobody is told, and that is settled', ({ db }) => {
    const { runId } = ended(db, {}, soon);
    expect(reword(runId, 1, { skip: true, nowMs: READY_MS + 100 }, db)).toBe(true);
    expect(ask(db, 70_000)).toEqual([]);
    expect(listRuns({ limit: 1 }, db)[0]?.delivery).toBe('skipped');
    expect(reword(runId, 1, better, db)).toBe(false);
  });

  test('changes nothing that was handed out, is ready, or belongs to another turn', ({ db }) => {
    const ready = ended(db, {}, { id: 'ready' });
    const waits = ended(db, {}, { id: 'waits', ...soon });
    expect(reword(ready.runId, 1, better, db)).toBe(false);
    expect(reword(waits.runId, 2, better, db)).toBe(false);
    ask(db, 65_000, { owner: 'a' });
    moveLeases('a', null, db);
    expect(reword(waits.runId, 1, better, db)).toBe(false);
    expect(waitingAnnouncements(A, db).map(({ result }) => result)).toEqual(['done', 'done']);
  });
});

test('dismissAnnouncements() drops those of the requester, named or all, also what is handed out', ({
  db,
}) => {
  for (const id of ['1', '2', '3']) ended(db, {}, { id });
  ended(db, { key: B }, { id: 'b' });
  ask(db, 0, { limit: 1 });
  expect(dismissAnnouncements(['2', 'b', 'none'], A, READY_MS, db)).toEqual(['2']);
  expect(dismissAnnouncements(['2'], A, READY_MS, db)).toEqual([]);
  expect(dismissAnnouncements('all', A, READY_MS, db).sort()).toEqual(['1', '3']);
  expect([undelivered(A, db), undelivered(B, db)]).toEqual([0, 1]);
  expect(listRuns({ requester: A, limit: 1 }, db)[0]?.delivery).toBe('dismissed');
});

test('hasWaiting() says that somebody should ask: for what is ready or soon will be, and to settle what is held', ({
  db,
}) => {
  expect(hasWaiting(A, READY_MS, db)).toBe(false);
  ended(db, {}, { readyAtMs: READY_MS + 65_000 });
  expect(hasWaiting(A, READY_MS, db)).toBe(true);
  expect(hasWaiting(A, READY_MS - 86_400_000, db)).toBe(false);
  expect(hasWaiting(B, READY_MS, db)).toBe(false);
  ask(db, 65_000);
  expect(hasWaiting(A, READY_MS + 65_000, db)).toBe(true);
  ask(db, 65_001);
  expect(hasWaiting(A, READY_MS + 65_001, db)).toBe(false);
});

test('waitingAnnouncements() shows the label that the run has, and hands out nothing', ({ db }) => {
  const { runId } = ended(db, { label: 'count' }, { id: '1' });
  changeRun(runId, { warning: 'w' }, db);
  expect(waitingAnnouncements(A, db)).toMatchObject([
    { id: '1', label: 'count', state: 'pending', attempts: 0 },
  ]);
  expect(ids(ask(db, 0))).toEqual(['1']);
});

test('newsOf() says that something comes to the session that asked for a turn, whoever asked for its run', ({
  db,
}) => {
  const work = started(db, { session: 's1' });
  const isComing = () =>
    ['s1', 's2'].map((session) => newsOf({ session, requester: A }, NOW_MS, db).isComing);
  expect(isComing()).toEqual([true, false]);
  appended(db, work.runId, { session: 's2' });
  expect(isComing()).toEqual([true, true]);
  endTurn(work, ending(), null, db);
  expect(isComing()).toEqual([false, true]);
});
