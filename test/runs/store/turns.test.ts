import { describe, expect } from 'bun:test';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import { undelivered, waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { setArchived } from '../../../src/runs/store/rows.ts';
import {
  activeTurns,
  changeTurn,
  endTurn,
  getTurn,
  requestStop,
  turnsOf,
} from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, appended, claimed, ending, NOW_MS, started } from './made-up.ts';

const STOP = { reason: 'requested', by: 'subagents stop', atMs: NOW_MS + 500 } as const;

describe('changeTurn()', () => {
  test('gives back what it wrote, and the next reader finds the same', ({ db, open }) => {
    const turn = claimed(db);
    const tokens = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5, cacheWriteTokens: null };
    const changes = {
      state: 'running',
      startedAtMs: NOW_MS + 2,
      deadlineAtMs: NOW_MS + 9000,
      launchedAtMs: NOW_MS + 2,
      owner: { pid: 3, start: '30', boot: 'boot-1' },
      process: { pid: 4, start: '40', boot: '' },
      usage: { ...tokens, costUsd: 0.25, costSource: 'client', model: 'some-model' },
      notes: ['one', 'two'],
    } as const;
    const changed = changeTurn(turn, changes, db);
    expect(changed).toEqual({ ...turn, ...changes, notes: ['one', 'two'], version: 3 });
    expect(getTurn(turn.runId, 1, open())).toEqual(changed);
  });

  test('gives undefined and changes nothing when somebody was faster', ({ db, open }) => {
    const turn = started(db);
    const other = changeTurn(turn, { notes: ['first'] }, open());
    expect(changeTurn(turn, { notes: ['second'] }, db)).toBeUndefined();
    expect(getTurn(turn.runId, 1, db)).toEqual(other);
  });

  test('throws for a state that cannot follow, and for an end, which is written with what it has to tell', ({
    db,
  }) => {
    const turn = started(db);
    expect(() => changeTurn(turn, { state: 'queued' }, db)).toThrow(
      `Cannot change turn 1 of run "${turn.runId}" to "queued": its state is "running"`,
    );
    expect(() => changeTurn(turn, { state: 'success' }, db)).toThrow('it has to be ended');
  });

  test('takes back an owner and a process', ({ db }) => {
    const turn = started(db);
    const none = { owner: null, process: null };
    expect(changeTurn(turn, none, db)).toMatchObject(none);
  });
});

describe('endTurn()', () => {
  test('writes the end and what it has to tell at once', ({ db, open }) => {
    const turn = started(db);
    const outcome = { outcome: 'error', result: 'part', error: 'exit 3', notes: ['n'] } as const;
    const exit = { code: 3, signal: null };
    const end = endTurn(turn, ending({ ...outcome, exit }), announcement({ id: 'a1' }), db);
    expect(end).toMatchObject({ state: 'error', result: 'part', error: 'exit 3', notes: ['n'], exit });
    expect(getTurn(turn.runId, 1, open())).toEqual(end);
    expect(waitingAnnouncements(A, db).map(({ id, turn: number }) => [id, number])).toEqual([['a1', 1]]);
    expect(activeTurns(db)).toEqual([]);
  });

  test('counts once: a second end changes nothing and tells nothing', ({ db, open }) => {
    const turn = started(db);
    const first = endTurn(turn, ending(), announcement(), db);
    expect(endTurn(turn, ending({ outcome: 'lost' }), announcement(), open())).toBeUndefined();
    expect(getTurn(turn.runId, 1, db)).toEqual(first);
    expect(undelivered(A, db)).toBe(1);
  });

  test('is not held up by a change that it has not seen', ({ db, open }) => {
    const turn = started(db);
    changeTurn(turn, { notes: ['first'] }, open());
    expect(endTurn(turn, ending(), announcement(), db)?.state).toBe('success');
    expect(undelivered(A, db)).toBe(1);
  });

  test('is a stop where the requester asked for it before, even when the client ended well meanwhile', ({
    db,
    open,
  }) => {
    const turn = started(db);
    expect(requestStop(turn.runId, STOP, open())).toMatchObject([{ state: 'running' }]);
    const end = endTurn(turn, ending({ result: 'all of it' }), announcement(), db);
    expect(end).toMatchObject({ state: 'stopped', result: 'all of it', stop: STOP });
    expect(undelivered(A, db)).toBe(0);
  });

  test('is what the caller says where it knew of the stop', ({ db }) => {
    const turn = started(db);
    const [stopping] = requestStop(turn.runId, { ...STOP, reason: 'timeout' }, db);
    if (stopping === undefined) throw new Error('Nothing to stop');
    expect(endTurn(stopping, ending({ outcome: 'timeout' }), announcement(), db)?.state).toBe('timeout');
    expect(undelivered(A, db)).toBe(1);
  });

  test('throws for an end that the state does not have', ({ db }) => {
    const turn = accepted(db);
    expect(() => endTurn(turn, ending(), announcement(), db)).toThrow('its state is "queued"');
    expect(getTurn(turn.runId, 1, db)).toEqual(turn);
  });

  test('keeps what was known of the usage where the ending does not say, and no secret', ({ db }) => {
    const turn = started(db);
    const known = {
      ...NO_USAGE,
      inputTokens: 9,
      outputTokens: 1,
      costUsd: 0.5,
      costSource: 'client',
    } as const;
    const changed = changeTurn(turn, { usage: known }, db);
    if (changed === undefined) throw new Error('Cannot change the turn');
    const words = {
      result: 'api_key=sk-abcdefghij0123456789abcdefghij',
      error: 'password: hunter2secret',
      notes: ['said: password: hunter3secret', 'all went well'],
    };
    const end = endTurn(changed, ending({ ...words, usage: { ...NO_USAGE, outputTokens: 4 } }), null, db);
    expect(end?.usage).toEqual({ ...known, outputTokens: 4 });
    expect(end?.result).not.toContain('0123456789');
    expect(end?.error).not.toContain('hunter2secret');
    expect(end?.notes).toEqual(['said: password: [REDACTED]', 'all went well']);
  });
});

describe('appendTurn()', () => {
  test('adds turns in order: a message waits, an announce step begins in the slot of its run', ({ db }) => {
    const { runId } = started(db);
    appended(db, runId);
    const step = appended(db, runId, {
      kind: 'announce',
      announces: 1,
      state: 'starting',
      nowMs: NOW_MS + 100,
    });
    expect(step).toMatchObject({ number: 3, claimedAtMs: NOW_MS + 100, announces: 1 });
    const turns = turnsOf(runId, db).map(({ number, kind, state }) => [number, kind, state]);
    expect(turns).toEqual([
      [1, 'task', 'running'],
      [2, 'send', 'queued'],
      [3, 'announce', 'starting'],
    ]);
  });

  test('throws when there is no such run, or it is archived', ({ db }) => {
    expect(() => appended(db, 'none')).toThrow('Cannot add a turn to run "none": there is no such run');
    const { runId } = started(db);
    requestStop(runId, STOP, db);
    const [turn] = turnsOf(runId, db);
    if (turn !== undefined) endTurn(turn, ending(), null, db);
    expect(setArchived(runId, NOW_MS + 9000, db)).toBe(true);
    expect(() => appended(db, runId)).toThrow('it is archived');
  });
});
