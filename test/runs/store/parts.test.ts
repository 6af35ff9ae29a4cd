import { describe, expect } from 'bun:test';
import type { Part } from '../../../src/runs/model/part.ts';
import { hasWaiting, newsOf, undelivered } from '../../../src/runs/store/outbox.ts';
import {
  conversationsOf,
  currentConversation,
  markFlushed,
  newConversation,
  partRuns,
  useConversation,
} from '../../../src/runs/store/parts.ts';
import { claimTurns, clearOwner, orchestrationOwners, queuePosition } from '../../../src/runs/store/queue.ts';
import { countRuns, getRun, listRuns, runOfPart } from '../../../src/runs/store/runs.ts';
import {
  awaitedTurns,
  endTurn,
  getTurn,
  joinTurn,
  requestStop,
  requestStopOfLine,
  requestStopOfTurn,
  turnNamed,
} from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import {
  A,
  accepted,
  announcement,
  appended,
  B,
  ending,
  LANE,
  LIMITS,
  NOW_MS,
  spawn,
  started,
} from './made-up.ts';

const session = (name: string, id = 'c1'): Part => ({ kind: 'conversation', id, name });
const STOP = { reason: 'requested', by: 'the user', session: '', atMs: NOW_MS + 5 } as const;

describe('insertRun() of a part', () => {
  test('is once, whatever is asked for the second time, and however long after', ({ db }) => {
    const first = spawn(db, { part: session('1'), task: 'one' });
    const again = { part: session('1'), task: 'two', createdAtMs: NOW_MS + 9e9, key: A };
    expect(spawn(db, again)).toMatchObject({ kind: 'duplicate', run: { task: 'one', part: session('1') } });
    expect(first.kind === 'inserted' && runOfPart(session('1'), db)?.run.id).toBe(
      first.kind === 'inserted' && first.run.id,
    );
    expect(spawn(db, { part: session('2') }).kind).toBe('inserted');
    expect(runOfPart(session('3'), db)).toBeUndefined();
  });

  test('is once also where its first try failed, so that nothing is done twice', ({ db }) => {
    const turn = started(db, { part: session('1') });
    endTurn(turn, ending({ outcome: 'error' }), null, db);
    expect(spawn(db, { part: session('1') }).kind).toBe('duplicate');
  });

  test('counts in the queue, and is not kept back by results that nobody took', ({ db }) => {
    endTurn(started(db), ending(), announcement(), db);
    const limits = { ...LIMITS, undeliveredMax: 1, maxQueued: 1 };
    expect(spawn(db, {}, limits)).toMatchObject({ why: 'undelivered' });
    expect(spawn(db, { part: session('1') }, limits).kind).toBe('inserted');
    expect(spawn(db, { part: session('2') }, limits)).toMatchObject({ why: 'queue' });
  });

  test('stores its instructions without secrets', ({ db }) => {
    const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    const { runId } = accepted(db, { part: session('1'), instructions: `You are. token=${secret}` });
    expect(getRun(runId, db)?.run.instructions).toStartWith('You are.');
    expect(getRun(runId, db)?.run.instructions).not.toContain(secret);
  });
});

test('a part is told to nobody: no announcement, nothing to wait for, no list', ({ db }) => {
  const turn = started(db, { part: session('1'), session: 's' });
  const listener = { session: 's', requester: A };
  expect(newsOf(listener, NOW_MS, db).isComing).toBe(false);
  expect(awaitedTurns(A, db)).toEqual([]);
  endTurn(turn, ending(), announcement(), db);
  requestStop(accepted(db, { part: session('2') }).runId, STOP, db);
  expect([undelivered(A, db), hasWaiting(A, NOW_MS, db)]).toEqual([0, false]);
  accepted(db);
  expect(listRuns({ limit: 9 }, db).map(({ run }) => run.number)).toEqual([3]);
  expect(listRuns({ limit: 9, includeParts: true }, db)).toHaveLength(3);
  expect(countRuns({}, db)).toEqual({ active: 1, done: 0 });
  expect(countRuns({ requester: A, includeParts: true }, db)).toEqual({ active: 1, done: 2 });
});

test('partRuns() gives the runs of one conversation with all their turns, in the order in which they came', ({
  db,
}) => {
  const one = accepted(db, { part: session('10') });
  accepted(db, { part: session('1', 'c10') });
  accepted(db, { part: { kind: 'orchestration', id: 'c1', name: '1' } });
  accepted(db);
  const two = accepted(db, { part: session('2') });
  appended(db, one.runId, { name: 'second', ahead: true });
  const found = partRuns({ kind: 'conversation', id: 'c1' }, db);
  expect(
    found.map(({ run, turns }) => [run.part.name, turns.map((turn) => [turn.position, turn.name])]),
  ).toEqual([
    [
      '10',
      [
        [1, null],
        [6, 'second'],
      ],
    ],
    ['2', [[5, null]]],
  ]);
  expect(found[0]?.turns[1]).toMatchObject({ ahead: true, number: 2 });
  expect(two.number).toBe(1);
  expect(partRuns({ kind: 'conversation', id: 'c' }, db)).toEqual([]);
});

test('the current conversation is the one that was used last, and each requester has its own', ({ db }) => {
  expect(currentConversation(A, db)).toBeUndefined();
  const first = newConversation(A, NOW_MS, db);
  const second = newConversation(A, NOW_MS, db);
  expect([first.number, second.number, newConversation(B, NOW_MS, db).number]).toEqual([1, 2, 1]);
  expect(currentConversation(A, db)).toEqual(second);
  useConversation(first.id, NOW_MS + 1, db);
  expect(currentConversation(A, db)?.id).toBe(first.id);
  useConversation(second.id, NOW_MS - 1, db); // A clock that was set back changes nothing.
  expect(conversationsOf(A, db).map(({ number }) => number)).toEqual([1, 2]);
});

test('markFlushed() moves the watermark forward, and counts each of its moves once', ({ db }) => {
  const { id } = newConversation(A, NOW_MS, db);
  expect([markFlushed(id, 7, db), markFlushed(id, 7, db), markFlushed(id, 3, db)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(currentConversation(A, db)).toMatchObject({ flushedPosition: 7, flushCycles: 1 });
});

describe('claimTurns()', () => {
  const claim = (db: Parameters<typeof claimTurns>[2]) =>
    claimTurns(LANE, NOW_MS, db).map(({ runId, number }) => [runId, number]);

  test('starts one turn of a conversation at a time, what goes ahead first, and in the order of arrival', ({
    db,
  }) => {
    const one = accepted(db, { part: session('1') });
    const two = accepted(db, { part: session('2') });
    appended(db, one.runId, { ahead: true });
    appended(db, two.runId, { ahead: true });
    const memory = accepted(db, { part: session('memory.1') });
    expect(queuePosition(two.runId, db)).toBe(1);
    expect(claim(db)).toEqual([
      [one.runId, 2],
      [memory.runId, 1],
    ]);
    expect(claim(db)).toEqual([]);
    endTurn(getTurn(one.runId, 2, db) ?? one, ending(), null, db);
    expect(claim(db)).toEqual([[two.runId, 2]]);
    endTurn(getTurn(two.runId, 2, db) ?? two, ending(), null, db);
    expect(claim(db)).toEqual([[one.runId, 1]]);
  });

  test('leaves a conversation waiting while somebody carries an orchestration of its requester on', ({
    db,
  }) => {
    const owner = { pid: 7, start: '70', boot: 'b' };
    db.run(
      `INSERT INTO orchestrations(id, number, requester, cwd, prompt, options, state, created_at, owner_pid,
         owner_start, owner_boot) VALUES ('o1', 1, ?, '/', '', '{}', 'open', 1, 7, '70', 'b')`,
      A,
    );
    expect(orchestrationOwners(db)).toEqual([{ id: 'o1', requester: A, owner }]);
    const held = accepted(db, { part: session('1') });
    const free = [
      accepted(db),
      accepted(db, { part: session('memory.1') }),
      accepted(db, { part: { kind: 'orchestration', id: 'o1', name: 'plan' } }),
      accepted(db, { key: B, part: session('1', 'c2') }),
    ];
    expect(new Set(claim(db).map(([runId]) => runId))).toEqual(new Set(free.map(({ runId }) => runId)));
    // One that has taken it meanwhile keeps it.
    clearOwner({ id: 'o1', owner: { ...owner, start: '71' } }, db);
    expect(claim(db)).toEqual([]);
    clearOwner({ id: 'o1', owner }, db);
    expect(orchestrationOwners(db)).toEqual([]);
    expect(claim(db)).toEqual([[held.runId, 1]]);
  });
});

describe('joinTurn()', () => {
  const asked = (runId: string, message: string) =>
    ({ runId, message, kind: 'send', announces: null, state: 'queued', nowMs: NOW_MS, session: '' }) as const;

  test('adds to the newest that waits, and to the task where that is it', ({ db }) => {
    const { runId } = accepted(db, { part: session('1'), task: 'one' });
    expect(joinTurn(asked(runId, 'two'), 1000, db)).toMatchObject({
      number: 1,
      message: 'one\n\n---\n\ntwo',
      version: 2,
    });
    expect(getRun(runId, db)?.run.task).toBe('one\n\n---\n\ntwo');
    appended(db, runId, { message: 'three', session: '' });
    expect(joinTurn(asked(runId, 'four'), 1000, db)).toMatchObject({ number: 2 });
    expect(getRun(runId, db)?.run.task).toBe('one\n\n---\n\ntwo');
  });

  test('adds nothing to what works, is of another session, may do something else, or would be too long', ({
    db,
  }) => {
    const turn = started(db, { part: session('1') });
    expect(joinTurn(asked(turn.runId, 'x'), 1000, db)).toBeUndefined();
    appended(db, turn.runId, { message: 'waits', session: 's-1' });
    expect(joinTurn(asked(turn.runId, 'x'), 1000, db)).toBeUndefined();
    const permissions = { mode: 'plan', allow: [], deny: [] } as const;
    appended(db, turn.runId, { message: 'waits', session: '', permissions });
    expect(joinTurn(asked(turn.runId, 'x'), 1000, db)).toBeUndefined();
    expect(joinTurn({ ...asked(turn.runId, 'x'), permissions }, 12, db)).toBeUndefined();
    expect(joinTurn({ ...asked(turn.runId, 'x'), permissions }, 13, db)?.message).toBe('waits\n\n---\n\nx');
  });
});

test('turnNamed() finds the turn of a run by its name, which no other turn of that run may have', ({
  db,
}) => {
  const { runId } = accepted(db, { part: session('1') });
  const turn = appended(db, runId, { name: 'attempt.2' });
  expect(turnNamed(runId, 'attempt.2', db)).toEqual(turn);
  expect(turnNamed(runId, 'attempt.3', db)).toBeUndefined();
  expect(() => appended(db, runId, { name: 'attempt.2' })).toThrow('UNIQUE');
  expect(appended(db, accepted(db).runId, { name: 'attempt.2' }).name).toBe('attempt.2');
});

test('requestStopOfLine() stops what is at work in any session of the conversation, and with all what waits', ({
  db,
}) => {
  const one = started(db, { part: session('1') });
  const two = accepted(db, { part: session('2') });
  const others = [
    started(db),
    started(db, { part: session('1', 'c2') }),
    started(db, { part: session('memory.1') }),
  ];
  const run = getRun(two.runId, db)?.run;
  if (run === undefined) throw new Error('There is no such run');
  expect(requestStopOfLine(run, 'at work', STOP, db)).toMatchObject([{ runId: one.runId, stop: STOP }]);
  expect(getTurn(two.runId, 1, db)?.state).toBe('queued');
  expect(requestStopOfLine(run, 'all', STOP, db).map(({ runId }) => runId)).toEqual([one.runId, two.runId]);
  expect(getTurn(two.runId, 1, db)?.state).toBe('stopped');
  for (const { runId } of others) expect(getTurn(runId, 1, db)?.stop).toBeNull();
});

test('requestStopOfTurn() stops one turn; of those that wait nothing that has begun', ({ db }) => {
  const turn = started(db, { part: session('1') });
  const name = { runId: turn.runId, turn: 1 };
  const next = appended(db, turn.runId);
  expect(requestStopOfTurn(name, 'waiting', STOP, db)).toBeUndefined();
  expect(getTurn(turn.runId, 1, db)).toEqual(turn);
  expect(requestStopOfTurn({ ...name, turn: 2 }, 'waiting', STOP, db)?.state).toBe('stopped');
  expect(requestStopOfTurn({ ...name, turn: 2 }, 'any', STOP, db)).toBeUndefined();
  expect(requestStopOfTurn(name, 'any', STOP, db)).toMatchObject({ state: 'running', stop: STOP });
  expect(next.number).toBe(2);
});
