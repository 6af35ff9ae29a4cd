import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { chooseTurns, type QueuedTurn, startOrder } from '../../../src/runs/store/queue.ts';

const WIDE = { maxConcurrent: 8 };

let position = 0;
function turn(requester: string, { runId }: { runId?: string } = {}): QueuedTurn {
  position += 1;
  return { runId: runId ?? `run-${position}`, number: 1, position, requester };
}

function choose(queued: QueuedTurn[], limits = {}, more: Partial<Parameters<typeof chooseTurns>[0]> = {}) {
  return chooseTurns({ queued, busy: [], lastStarts: new Map(), ...more }, { ...WIDE, ...limits });
}

test('chooseTurns() starts the oldest of a requester first, as many as there are slots', () => {
  const queued = [turn('a'), turn('a'), turn('a')];
  expect(choose(queued, { maxConcurrent: 2 })).toEqual(queued.slice(0, 2));
  expect(choose(queued, { maxConcurrent: 3 }, { busy: [turn('b')] })).toEqual(queued.slice(0, 2));
  expect(choose(queued, { maxConcurrent: 0 })).toEqual([]);
  expect(choose(queued, { maxConcurrent: 1 }, { busy: [turn('b'), turn('b')] })).toEqual([]);
});

test('chooseTurns() goes round: one that queued 100 does not keep another with one waiting', () => {
  const many = Array.from({ length: 100 }, () => turn('a'));
  const one = turn('b');
  const busy = Array.from({ length: 7 }, () => turn('a'));
  const lastStarts = new Map([['a', 7]]);
  expect(choose([...many, one], {}, { busy, lastStarts })).toEqual([one]);
  const three = [turn('b'), turn('b'), turn('c')];
  const order = choose([...many.slice(0, 3), ...three], {}, { lastStarts }).map(({ requester }) => requester);
  expect(order).toEqual(['b', 'c', 'a', 'b', 'a', 'a']);
});

test('chooseTurns() starts one turn of a run at a time, and none beside one that is busy', () => {
  const queued = [turn('a', { runId: 'r' }), turn('a', { runId: 'r' }), turn('a', { runId: 's' })];
  expect(choose(queued)).toEqual([queued[0], queued[2]] as QueuedTurn[]);
  expect(choose(queued, {}, { busy: [turn('a', { runId: 'r' })] })).toEqual([queued[2]] as QueuedTurn[]);
});

test('startOrder() is the place in the queue, whatever is busy', () => {
  const queued = [turn('a'), turn('a'), turn('b')];
  const busy = [turn('a', { runId: queued[0]?.runId ?? '' }), turn('c')];
  const queue = { queued, busy, lastStarts: new Map([['a', 1]]) };
  expect(startOrder(queue)).toEqual([queued[2], queued[0], queued[1]] as QueuedTurn[]);
});

const queuedTurn = fc.record({
  requester: fc.constantFrom('a', 'b', 'c'),
  runId: fc.nat(12).map(String),
});
const queue = fc.record({
  queued: fc.array(queuedTurn, { maxLength: 30 }),
  busy: fc.uniqueArray(queuedTurn, { maxLength: 6, selector: (one) => one.runId }),
  starts: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 })),
});
const limits = fc.record({ maxConcurrent: fc.nat(10) });

test('chooseTurns() keeps every limit, and leaves nothing waiting that would fit', () => {
  fc.assert(
    fc.property(queue, limits, ({ queued, busy, starts }, max) => {
      const place = (one: object, index: number): QueuedTurn =>
        ({ number: 1, position: index, ...one }) as QueuedTurn;
      const all = {
        queued: queued.map(place),
        busy: busy.map(place),
        lastStarts: new Map(Object.entries(starts)),
      };
      const chosen = chooseTurns(all, max);
      const fits = (turns: readonly QueuedTurn[]) => {
        return (
          turns.length <= max.maxConcurrent && new Set(turns.map(({ runId }) => runId)).size === turns.length
        );
      };
      for (const [index, one] of chosen.entries()) {
        const before = [...all.busy, ...chosen.slice(0, index)];
        expect(before.length).toBeLessThan(max.maxConcurrent);
        expect(before.some(({ runId }) => runId === one.runId)).toBe(false);
      }
      // A limit that was lowered may be over-run by what is busy already.
      if (fits(all.busy)) {
        const rest = all.queued.filter((one) => !chosen.includes(one));
        for (const one of rest) expect(fits([...all.busy, ...chosen, one])).toBe(false);
      }
    }),
    { numRuns: 500 },
  );
});
