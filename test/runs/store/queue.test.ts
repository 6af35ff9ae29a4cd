import { describe, expect } from 'bun:test';
import fc from 'fast-check';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import {
  chooseTurns,
  claimTurns,
  type QueuedTurn,
  queuePosition,
  unclaim,
} from '../../../src/runs/store/queue.ts';
import { changeTurn, endTurn, getTurn } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { accepted, appended, B, ending, LANE, NOW_MS, started } from './made-up.ts';

describe('claimTurns()', () => {
  test('gives slots to what waits, once, whoever asks', ({ db, open }) => {
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
  });

  test('starts one waiting turn of another requester with the next free slot, before a hundred of the first', ({
    db,
  }) => {
    for (let index = 0; index < 100; index++) accepted(db);
    const busy = claimTurns(LANE, NOW_MS, db);
    expect(busy).toHaveLength(8);
    const one = accepted(db, { key: B });
    expect(queuePosition(one.runId, db)).toBe(1);
    const [first] = busy;
    if (first !== undefined) endTurn(first, ending(), null, db);
    expect(claimTurns(LANE, NOW_MS, db).map(({ runId }) => runId)).toEqual([one.runId]);
  });

  test('goes by the order of arrival also where the clock went backwards', ({ db }) => {
    const first = accepted(db, { createdAtMs: NOW_MS });
    accepted(db, { createdAtMs: NOW_MS - 9000 });
    expect(claimTurns({ ...LANE, maxConcurrent: 1 }, NOW_MS, db).map(({ runId }) => runId)).toEqual([
      first.runId,
    ]);
  });

  test('lets a message wait until the turn before it has ended', ({ db }) => {
    const turn = started(db);
    appended(db, turn.runId);
    expect(claimTurns(LANE, NOW_MS, db)).toEqual([]);
    endTurn(turn, ending(), null, db);
    expect(claimTurns(LANE, NOW_MS, db)).toMatchObject([{ runId: turn.runId, number: 2 }]);
  });

  test('decides and writes under one lock, so that two who ask at once do not give more slots than there are', ({
    db,
    open,
  }) => {
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
  });

  test('never ends what runs when a limit is lowered', ({ db }) => {
    const turn = started(db);
    accepted(db);
    expect(claimTurns({ ...LANE, maxConcurrent: 0 }, NOW_MS, db)).toEqual([]);
    expect(getTurn(turn.runId, 1, db)).toEqual(turn);
  });
});

test('queuePosition() counts from 1 on, and is nothing for what does not wait', ({ db }) => {
  const running = started(db);
  const [first, second] = [accepted(db), accepted(db)];
  expect([first, second, running].map(({ runId }) => queuePosition(runId, db))).toEqual([1, 2, undefined]);
  appended(db, running.runId); // It has to wait for the turn before it, and has its place all the same.
  expect(queuePosition(running.runId, db)).toBe(3);
});

test('unclaim() gives back a slot that nobody uses, with the old place in the queue', ({ db }) => {
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
});

let position = 0;
function turn(requester: string): QueuedTurn {
  position += 1;
  const runId = `run-${position}`;
  return {
    runId,
    line: runId,
    ...{ isHeld: false, isAway: false },
    number: 1,
    position,
    requester,
    childKey: `key-${position}`,
  };
}

function choose(
  queued: QueuedTurn[],
  maxConcurrent: number,
  more: Partial<Parameters<typeof chooseTurns>[0]> = {},
) {
  return chooseTurns({ queued, busy: [], lastStarts: new Map(), ...more }, { maxConcurrent });
}

test('chooseTurns() starts the oldest of a requester first, as many as there are slots', () => {
  const queued = [turn('a'), turn('a'), turn('a')];
  expect(choose(queued, 2)).toEqual(queued.slice(0, 2));
  expect(choose(queued, 3, { busy: [turn('b')] })).toEqual(queued.slice(0, 2));
  expect(choose(queued, 0)).toEqual([]);
  expect(choose(queued, 1, { busy: [turn('b'), turn('b')] })).toEqual([]);
  const [one = turn('a')] = queued;
  expect(choose([one, { ...one, number: 2, position: 99 }], 8)).toEqual([one]);
});

test('chooseTurns() goes round, from whoever has not started anything for longest', () => {
  const queued = ['a', 'a', 'a', 'b', 'b', 'c'].map(turn);
  const lastStarts = new Map([['a', 7]]);
  const order = choose(queued, 8, { lastStarts }).map(({ requester }) => requester);
  expect(order).toEqual(['b', 'c', 'a', 'b', 'a', 'a']);
});

test('chooseTurns() lends the slot of a run to one of those that it has asked for, and no more than that', () => {
  const plan = turn('a');
  const [first, second, other] = [turn(plan.childKey), turn(plan.childKey), turn('b')];
  expect(choose([first, second, other], 1, { busy: [plan] })).toEqual([first]);
  expect(choose([second, other], 1, { busy: [plan, first] })).toEqual([]);
  // What is lent takes no slot from others.
  expect(choose([other], 2, { busy: [plan, first] })).toEqual([other]);
  expect(choose([second, other], 3, { busy: [plan, first] })).toEqual([second, other]);
  expect(choose([first], 1, { busy: [turn('a')] })).toEqual([]);
});

const queuedTurn = fc.record({
  requester: fc.constantFrom('a', 'b', 'c'),
  runId: fc.nat(12).map(String),
  isHeld: fc.boolean(),
});
/** Several runs may be of one line, as the sessions of a conversation are. */
const lineOf = (runId: string) => `line ${Math.floor(Number(runId) / 2)}`;
const queue = fc.record({
  queued: fc.array(queuedTurn, { maxLength: 30 }),
  busy: fc.uniqueArray(queuedTurn, { maxLength: 6, selector: (one) => lineOf(one.runId) }),
  starts: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 })),
});
const limits = fc.record({ maxConcurrent: fc.nat(10) });

test('chooseTurns() keeps every limit, and leaves nothing waiting that would fit', () => {
  fc.assert(
    fc.property(queue, limits, ({ queued, busy, starts }, max) => {
      const place = (one: Pick<QueuedTurn, 'runId' | 'requester' | 'isHeld'>, position: number) => ({
        isAway: false,
        ...{ number: 1, position, line: lineOf(one.runId) },
        childKey: `key of ${one.runId}`,
        ...one,
      });
      const lastStarts = new Map(Object.entries(starts));
      const all = { queued: queued.map(place), busy: busy.map(place), lastStarts };
      const chosen = chooseTurns(all, max);
      const fits = (turns: readonly QueuedTurn[]) =>
        turns.length <= max.maxConcurrent && new Set(turns.map(({ line }) => line)).size === turns.length;
      for (const [index, one] of chosen.entries()) {
        const before = [...all.busy, ...chosen.slice(0, index)];
        expect(before.length).toBeLessThan(max.maxConcurrent);
        expect(before.some(({ line }) => line === one.line)).toBe(false);
        expect(one.isHeld).toBe(false);
        // Of a line, the one that came first.
        expect(all.queued.find(({ line, isHeld }) => line === one.line && !isHeld)).toBe(one);
      }
      // A limit that was lowered may be over-run by what is busy already.
      if (fits(all.busy)) {
        const rest = all.queued.filter((one) => !one.isHeld && !chosen.includes(one));
        for (const one of rest) expect(fits([...all.busy, ...chosen, one])).toBe(false);
      }
    }),
    { numRuns: 500 },
  );
});
