import { describe, expect, test } from 'bun:test';
import { claimTurns } from '../../../src/store/runs/lane.ts';
import { undelivered, waitingAnnouncements } from '../../../src/store/runs/outbox.ts';
import {
  activeTurns,
  appendTurn,
  endTurn,
  getTurn,
  requestStop,
  requestStopAll,
} from '../../../src/store/runs/turns.ts';
import { A, accepted, announcement, B, ending, inHome, LANE, NOW_MS, spawn, started } from './made-up.ts';

const STOP = { reason: 'requested', by: 'subagents stop', atMs: NOW_MS + 500 } as const;
const send = (runId: string, nowMs = NOW_MS + 100) =>
  ({ runId, kind: 'send', announces: null, message: 'and now?', nowMs, state: 'queued' }) as const;

describe('requestStop()', () => {
  test('ends at once what waits, without a word to the requester who asked', () =>
    inHome(({ db }) => {
      const { runId } = accepted(db);
      const { kind, turns } = requestStop(runId, STOP, db);
      expect(kind).toBe('ended');
      expect(turns).toMatchObject([{ state: 'stopped', stop: STOP, endedAtMs: STOP.atMs }]);
      expect(undelivered(A, db)).toBe(0);
      expect(claimTurns(LANE, NOW_MS, db)).toEqual([]);
    }));

  test('tells the requester where it was not the requester who asked', () =>
    inHome(({ db }) => {
      const { runId } = accepted(db);
      requestStop(runId, { reason: 'budget', by: 'budget exceeded', atMs: NOW_MS }, db);
      const [told] = waitingAnnouncements(A, db);
      expect(told).toMatchObject({ status: 'error', result: '(not available)' });
      expect(told?.notes).toContain('budget exceeded');
    }));

  test('asks for the end of what runs, ends the messages that wait behind it, and says so once', () =>
    inHome(({ db }) => {
      const turn = started(db);
      appendTurn(send(turn.runId), db);
      const first = requestStop(turn.runId, STOP, db);
      expect(first.kind).toBe('requested');
      expect(first.turns.map(({ state, stop }) => [state, stop?.by])).toEqual([
        ['running', STOP.by],
        ['stopped', STOP.by],
      ]);
      const again = requestStop(turn.runId, { ...STOP, by: 'somebody else' }, db);
      expect(again.turns.map(({ state, stop, version }) => [state, stop?.by, version])).toEqual([
        ['running', STOP.by, turn.version + 1],
      ]);
    }));

  test('finds nothing to do in a run that has ended', () =>
    inHome(({ db }) => {
      const turn = started(db);
      endTurn(turn, ending(), announcement(), db);
      expect(requestStop(turn.runId, STOP, db)).toEqual({ kind: 'already-finished', turns: [] });
      expect(requestStop('none', STOP, db).kind).toBe('already-finished');
      expect(undelivered(A, db)).toBe(1);
    }));
});

describe('requestStopAll()', () => {
  test('stops every run of the requester and none of the others', () =>
    inHome(({ db }) => {
      const runs = started(db);
      const waits = accepted(db);
      const other = accepted(db, { key: B });
      const results = requestStopAll(A, STOP, db);
      expect(results.get(runs.runId)?.kind).toBe('requested');
      expect(results.get(waits.runId)?.kind).toBe('ended');
      expect(results.size).toBe(2);
      expect(getTurn(other.runId, 1, db)).toEqual(other);
    }));

  test('keeps a spawn that was asked for before, and comes after it, from starting', () =>
    inHome(({ db, open }) => {
      requestStopAll(A, STOP, db);
      const late = open();
      expect(spawn(late, { createdAtMs: STOP.atMs - 1 })).toMatchObject({ kind: 'refused', why: 'stopped' });
      expect(spawn(late, { createdAtMs: STOP.atMs - 1, key: B }).kind).toBe('inserted');
      expect(spawn(late, { createdAtMs: STOP.atMs + 1 }).kind).toBe('inserted');
    }));

  test('stops a message that was asked for before and comes after it', () =>
    inHome(({ db, open }) => {
      const turn = started(db);
      endTurn(turn, ending(), null, db);
      requestStopAll(A, STOP, db);
      const late = open();
      expect(appendTurn(send(turn.runId, STOP.atMs - 1), late).state).toBe('stopped');
      expect(appendTurn(send(turn.runId, STOP.atMs + 1), late).state).toBe('queued');
    }));

  test('is never undone by an earlier one that comes later', () =>
    inHome(({ db }) => {
      requestStopAll(A, STOP, db);
      requestStopAll(A, { ...STOP, atMs: STOP.atMs - 400 }, db);
      expect(spawn(db, { createdAtMs: STOP.atMs - 1 })).toMatchObject({ why: 'stopped' });
    }));

  test('lets no client start after it for what was asked for before it, in whichever order the writes come', () =>
    inHome(({ db, open }) => {
      const [spawner, stopper, lane] = [open(), open(), open()];
      const acts = {
        spawn: () => void spawn(spawner, { createdAtMs: NOW_MS }),
        claim: () => void claimTurns(LANE, NOW_MS + 600, lane),
        stop: () => void requestStopAll(A, STOP, stopper),
      };
      const orders = ['spawn claim stop', 'spawn stop claim', 'stop spawn claim'] as const;
      for (const order of orders) {
        for (const act of order.split(' ')) acts[act as keyof typeof acts]();
        for (const turn of activeTurns(db)) {
          // As a supervisor does before it launches: what was stopped meanwhile is not started.
          expect(turn.stop, order).toEqual(STOP);
          endTurn(turn, ending({ outcome: 'stopped' }), null, db);
        }
        db.run('UPDATE lane SET stopped_at = NULL');
      }
      expect(undelivered(A, db)).toBe(0);
    }));
});
