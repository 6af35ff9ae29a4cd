import { describe, expect, test } from 'bun:test';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { claimTurns, queuePosition, unclaim } from '../../../src/runs/store/queue.ts';
import { appendTurn, changeTurn, endTurn, getTurn } from '../../../src/runs/store/turns.ts';
import { accepted, B, ending, inHome, LANE, NOW_MS, started } from './made-up.ts';

describe('claimTurns()', () => {
  test('gives slots to what waits, once, whoever asks', () =>
    inHome(({ db, open }) => {
      const turns = [accepted(db), accepted(db), accepted(db)];
      const two = { ...LANE, maxConcurrent: 2 };
      const claimed = claimTurns(two, NOW_MS + 5, db);
      expect(claimed.map(({ runId }) => runId)).toEqual(turns.slice(0, 2).map(({ runId }) => runId));
      expect(claimed).toMatchObject([
        { state: 'starting', claimedAtMs: NOW_MS + 5, version: 2 },
        { state: 'starting', claimedAtMs: NOW_MS + 5, version: 2 },
      ]);
      expect(claimTurns(two, NOW_MS + 6, open())).toEqual([]);
      const [first] = claimed;
      if (first !== undefined) endTurn(first, ending(), null, db);
      expect(claimTurns(two, NOW_MS + 7, open()).map(({ runId }) => runId)).toEqual([turns[2]?.runId ?? '']);
    }));

  test('starts one waiting turn of another requester with the next free slot, before a hundred of the first', () =>
    inHome(({ db }) => {
      for (let index = 0; index < 100; index++) accepted(db);
      const busy = claimTurns(LANE, NOW_MS, db);
      expect(busy).toHaveLength(8);
      const one = accepted(db, { key: B });
      expect(queuePosition(one.runId, db)).toBe(1);
      const [first] = busy;
      if (first !== undefined) endTurn(first, ending(), null, db);
      expect(claimTurns(LANE, NOW_MS, db).map(({ runId }) => runId)).toEqual([one.runId]);
    }));

  test('goes by the order of arrival also where the clock went backwards', () =>
    inHome(({ db }) => {
      const first = accepted(db, { createdAtMs: NOW_MS });
      accepted(db, { createdAtMs: NOW_MS - 9000 });
      expect(claimTurns({ ...LANE, maxConcurrent: 1 }, NOW_MS, db).map(({ runId }) => runId)).toEqual([
        first.runId,
      ]);
    }));

  test('lets a message wait until the turn before it has ended', () =>
    inHome(({ db }) => {
      const turn = started(db);
      const message = { runId: turn.runId, kind: 'send', announces: null, message: 'go on' } as const;
      appendTurn({ ...message, nowMs: NOW_MS, state: 'queued' }, db);
      expect(claimTurns(LANE, NOW_MS, db)).toEqual([]);
      endTurn(turn, ending(), null, db);
      expect(claimTurns(LANE, NOW_MS, db)).toMatchObject([{ runId: turn.runId, number: 2 }]);
    }));

  test('decides and writes under one lock, so that two who ask at once do not give more slots than there are', () =>
    inHome(({ db, open }) => {
      const other = open();
      other.exec('PRAGMA busy_timeout = 20');
      accepted(db);
      accepted(db);
      const one = { ...LANE, maxConcurrent: 1 };
      // The other one asks between the look of the first and what it writes.
      const first: Sqlite = {
        ...db,
        all: (sql, ...values) => {
          const rows = db.all(sql, ...values);
          expect(() => claimTurns(one, NOW_MS, other)).toThrow('locked');
          return rows;
        },
      };
      expect(claimTurns(one, NOW_MS, first)).toHaveLength(1);
      expect(claimTurns(one, NOW_MS, other)).toEqual([]);
    }));

  test('never ends what runs when a limit is lowered', () =>
    inHome(({ db }) => {
      const turn = started(db);
      accepted(db);
      expect(claimTurns({ ...LANE, maxConcurrent: 0 }, NOW_MS, db)).toEqual([]);
      expect(getTurn(turn.runId, 1, db)).toEqual(turn);
    }));
});

test('queuePosition() counts from 1 on, and is nothing for what does not wait', () =>
  inHome(({ db }) => {
    const running = started(db);
    const [first, second] = [accepted(db), accepted(db)];
    expect([first, second, running].map(({ runId }) => queuePosition(runId, db))).toEqual([1, 2, undefined]);
  }));

test('unclaim() gives back a slot that nobody uses, with the old place in the queue', () =>
  inHome(({ db }) => {
    const first = accepted(db);
    const second = accepted(db);
    const [claimed] = claimTurns({ ...LANE, maxConcurrent: 1 }, NOW_MS, db);
    if (claimed === undefined) throw new Error('Nothing was claimed');
    expect(unclaim(claimed, db)).toMatchObject({ state: 'queued', claimedAtMs: null, version: 3 });
    expect(queuePosition(first.runId, db)).toBe(1);
    expect(queuePosition(second.runId, db)).toBe(2);
    const [again] = claimTurns(LANE, NOW_MS, db);
    const owned = again && changeTurn(again, { owner: { pid: 1, start: '', boot: '' } }, db);
    expect(owned && unclaim(owned, db)).toBeUndefined();
    expect(unclaim(second, db)).toBeUndefined();
  }));
