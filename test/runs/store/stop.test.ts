import { describe, expect } from 'bun:test';
import { undelivered, waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import {
  activeTurns,
  endTurn,
  getTurn,
  requestStop,
  requestStopAll,
  unstoppedRuns,
  WHOLE_PROJECT,
} from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, appended, B, ending, LANE, NOW_MS, spawn, started } from './made-up.ts';

const STOP = { reason: 'requested', by: 'subagents stop', session: '', atMs: NOW_MS + 500 } as const;

describe('requestStop()', () => {
  test('ends at once what waits, without a word to the requester who asked', ({ db }) => {
    const { runId } = accepted(db);
    const turns = requestStop(runId, STOP, db);
    expect(turns).toMatchObject([{ state: 'stopped', stop: STOP, endedAtMs: STOP.atMs }]);
    expect(undelivered(A, db)).toBe(0);
    expect(claimTurns(LANE, NOW_MS, db)).toEqual([]);
  });

  const others = [
    { what: 'a person stops the run of a session', session: 's1', by: '' },
    { what: 'a session stops the run of another one', session: 's1', by: 's2' },
    { what: 'a session stops the run of a person', session: null, by: 's2' },
  ];
  for (const { what, session, by } of others) {
    const stop = { ...STOP, session: by, by: 'somebody' };
    const told = () => [
      { status: 'error', requesterSession: session, notes: expect.stringContaining('somebody') },
    ];
    test(`tells the one who asked when ${what} before it has started`, ({ db }) => {
      requestStop(accepted(db, { session }).runId, stop, db);
      expect(waitingAnnouncements(A, db)).toMatchObject(told());
    });

    test(`tells the one who asked when ${what} while it runs, whether its supervisor has seen that or not`, ({
      db,
    }) => {
      const [seen, unseen] = [started(db, { session }), started(db, { session })];
      for (const { runId } of [seen, unseen]) requestStop(runId, stop, db);
      const stopped = getTurn(seen.runId, 1, db) ?? seen;
      const words = announcement({ status: 'error', notes: '- stopped by somebody' });
      endTurn(stopped, ending({ outcome: 'stopped' }), words, db);
      endTurn(unseen, ending(), announcement({ readyAtMs: NOW_MS + 99_999 }), db);
      expect(waitingAnnouncements(A, db)).toMatchObject([...told(), ...told()]);
      // Nobody puts the second one into words any more, as its supervisor had in mind.
      expect(db.get('SELECT MAX(ready_at) AS last FROM outbox')?.last).toBe(NOW_MS + 1000);
    });

    test(`tells nobody when the one who asked stops it, where otherwise ${what}`, ({ db }) => {
      const own = { ...stop, session: session ?? '' };
      const [waits, seen, unseen] = [
        accepted(db, { session }),
        started(db, { session }),
        started(db, { session }),
      ];
      for (const { runId } of [waits, seen, unseen]) requestStop(runId, own, db);
      endTurn(getTurn(seen.runId, 1, db) ?? seen, ending({ outcome: 'stopped' }), announcement(), db);
      endTurn(unseen, ending(), announcement(), db);
      expect(undelivered(A, db)).toBe(0);
    });
  }

  test('tells of a message the one who sent it, and of the work the one who asked for it', ({ db }) => {
    const work = started(db, { session: 's1' });
    for (const session of ['s2', '', null]) appended(db, work.runId, { session });
    requestStop(work.runId, { ...STOP, session: 's3' }, db);
    endTurn(getTurn(work.runId, 1, db) ?? work, ending({ outcome: 'stopped' }), announcement(), db);
    const told = waitingAnnouncements(A, db).map(({ turn, requesterSession }) => [turn, requesterSession]);
    expect(told).toEqual([
      [2, 's2'],
      [3, null],
      [4, 's1'],
      [1, 's1'],
    ]);
  });

  test('tells the requester where it was not the requester who asked', ({ db }) => {
    const { runId } = accepted(db);
    requestStop(runId, { reason: 'budget', by: 'budget exceeded', atMs: NOW_MS }, db);
    const [told] = waitingAnnouncements(A, db);
    expect(told).toMatchObject({ status: 'error', result: '(not available)' });
    expect(told?.notes).toContain('budget exceeded');
  });

  test('asks for the end of what runs, ends the messages that wait behind it, and says so once', ({ db }) => {
    const turn = started(db);
    appended(db, turn.runId);
    const first = requestStop(turn.runId, STOP, db);
    expect(first.map(({ state, stop }) => [state, stop?.by])).toEqual([
      ['running', STOP.by],
      ['stopped', STOP.by],
    ]);
    const again = requestStop(turn.runId, { ...STOP, by: 'somebody else' }, db);
    expect(again.map(({ state, stop, version }) => [state, stop?.by, version])).toEqual([
      ['running', STOP.by, turn.version + 1],
    ]);
  });

  test('finds nothing to do in a run that has ended', ({ db }) => {
    const turn = started(db);
    endTurn(turn, ending(), announcement(), db);
    expect(requestStop(turn.runId, STOP, db)).toEqual([]);
    expect(requestStop('none', STOP, db)).toEqual([]);
    expect(undelivered(A, db)).toBe(1);
  });
});

describe('requestStopAll()', () => {
  test('stops every run of the requester and none of the others', ({ db }) => {
    const runs = started(db);
    const waits = accepted(db);
    const other = accepted(db, { key: B });
    const results = requestStopAll(A, '', STOP, db);
    expect(results.map(({ runId, state }) => [runId, state])).toEqual([
      [runs.runId, 'running'],
      [waits.runId, 'stopped'],
    ]);
    expect(getTurn(other.runId, 1, db)).toEqual(other);
  });

  test('stops what one session has asked for, with its messages to others, and says how many runs go on', ({
    db,
  }) => {
    const own = started(db, { session: 's1' });
    const [other, persons] = [started(db, { session: 's2' }), started(db)];
    const message = appended(db, other.runId, { session: 's1' });
    appended(db, persons.runId);
    const stop = { ...STOP, session: 's1' };
    const results = requestStopAll(A, 's1', stop, db);
    expect(results.map(({ runId, state }) => [runId, state])).toEqual([
      [own.runId, 'running'],
      [other.runId, 'stopped'],
    ]);
    expect(getTurn(message.runId, 2, db)?.state).toBe('stopped');
    expect([other, persons].map(({ runId }) => getTurn(runId, 1, db)?.stop)).toEqual([null, null]);
    expect(unstoppedRuns(A, db)).toBe(2);
    requestStopAll(A, '', { ...STOP, session: '' }, db);
    expect(getTurn(persons.runId, 1, db)?.stop?.session).toBe('');
    expect(unstoppedRuns(A, db)).toBe(1);
    requestStopAll(A, WHOLE_PROJECT, stop, db);
    expect(unstoppedRuns(A, db)).toBe(0);
  });

  test('of one session keeps nothing of the others from starting; of the project it does, and whoever asked is told', ({
    db,
  }) => {
    const run = endTurn(started(db, { session: 's2' }), ending(), null, db);
    const late = { createdAtMs: STOP.atMs - 1, session: 's2' };
    requestStopAll(A, 's1', { ...STOP, session: 's1' }, db);
    expect(spawn(db, { ...late, session: 's1' })).toMatchObject({ why: 'stopped' });
    expect(spawn(db, late).kind).toBe('inserted');
    const runId = run?.runId ?? '';
    expect(appended(db, runId, { session: 's1' }).state).toBe('stopped');
    expect(appended(db, runId, { session: 's2' }).state).toBe('queued');
    expect(undelivered(A, db)).toBe(0);
    requestStopAll(A, WHOLE_PROJECT, { ...STOP, session: 's1' }, db);
    expect(spawn(db, late)).toMatchObject({ why: 'stopped' });
    expect(appended(db, runId, { session: 's3' }).state).toBe('stopped');
    expect(waitingAnnouncements(A, db).map(({ requesterSession }) => requesterSession)).toContain('s3');
  });

  test('keeps a spawn that was asked for before, and comes after it, from starting', ({ db, open }) => {
    requestStopAll(A, '', STOP, db);
    const late = open();
    expect(spawn(late, { createdAtMs: STOP.atMs - 1 })).toMatchObject({ kind: 'refused', why: 'stopped' });
    expect(spawn(late, { createdAtMs: STOP.atMs - 1, key: B }).kind).toBe('inserted');
    expect(spawn(late, { createdAtMs: STOP.atMs + 1 }).kind).toBe('inserted');
  });

  test('stops a message that was asked for before and comes after it', ({ db, open }) => {
    const turn = started(db);
    endTurn(turn, ending(), null, db);
    requestStopAll(A, '', STOP, db);
    const late = open();
    expect(appended(late, turn.runId, { nowMs: STOP.atMs - 1 }).state).toBe('stopped');
    expect(appended(late, turn.runId, { nowMs: STOP.atMs + 1 }).state).toBe('queued');
    const step = { kind: 'announce', announces: 1, state: 'starting', nowMs: STOP.atMs - 1 } as const;
    expect(appended(late, turn.runId, step).stop).toBeNull();
  });

  test('is never undone by an earlier one that comes later', ({ db }) => {
    requestStopAll(A, '', STOP, db);
    requestStopAll(A, '', { ...STOP, atMs: STOP.atMs - 400 }, db);
    expect(spawn(db, { createdAtMs: STOP.atMs - 1 })).toMatchObject({ why: 'stopped' });
  });

  test('lets no client start after it for what was asked for before it, in whichever order the writes come', ({
    db,
    open,
  }) => {
    const [spawner, stopper, claimer] = [open(), open(), open()];
    const acts = {
      spawn: () => void spawn(spawner, { createdAtMs: NOW_MS }),
      claim: () => void claimTurns(LANE, NOW_MS + 600, claimer),
      stop: () => void requestStopAll(A, '', STOP, stopper),
    };
    const orders = ['spawn claim stop', 'spawn stop claim', 'stop spawn claim'] as const;
    for (const order of orders) {
      for (const act of order.split(' ')) acts[act as keyof typeof acts]();
      for (const turn of activeTurns(db)) {
        // As a supervisor does before it launches: what was stopped meanwhile is not started.
        expect(turn.stop, order).toEqual(STOP);
        endTurn(turn, ending({ outcome: 'stopped' }), null, db);
      }
      db.run('DELETE FROM stops');
    }
    expect(undelivered(A, db)).toBe(0);
  });
});
