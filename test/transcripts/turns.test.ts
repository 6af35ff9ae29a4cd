import { describe, expect, test } from 'bun:test';
import { takingTurns } from '../../src/transcripts/session-import.ts';

/** Time that passes only when something takes it. */
function setUp() {
  let nowMs = 1000;
  const slept: number[] = [];
  const inTurn = takingTurns({
    now: () => nowMs,
    sleep: (ms) => {
      slept.push(ms);
      nowMs += ms;
    },
  });
  const take = (ms: number) => {
    nowMs += ms;
    return ms;
  };
  return { inTurn, take, slept };
}

describe('takingTurns()', () => {
  test('leaves the database alone for as long as it was held', () => {
    const { inTurn, take, slept } = setUp();
    expect([inTurn(() => take(30)), inTurn(() => take(5)), inTurn(() => take(1))]).toEqual([30, 5, 1]);
    expect(slept).toEqual([30, 5]);
  });

  test('counts what is done between', () => {
    const { inTurn, take, slept } = setUp();
    inTurn(() => take(30));
    take(20);
    inTurn(() => take(10));
    take(50);
    inTurn(() => take(10));
    expect(slept).toEqual([10]);
  });

  test('rests after a failure too, and passes it on', () => {
    const { inTurn, take, slept } = setUp();
    const fail = () =>
      inTurn(() => {
        take(7);
        throw new Error('no');
      });
    expect(fail).toThrow('no');
    inTurn(() => {});
    expect(slept).toEqual([7]);
  });

  test('takes the real time when it is given none', () => {
    expect(takingTurns()(() => 'done')).toBe('done');
  });
});
