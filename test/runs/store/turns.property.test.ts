import { expect, setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { isTerminal, NO_USAGE, OUTCOMES, type Stop, type Turn } from '../../../src/runs/model/turn.ts';
import { reword, takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { changeTurn, endTurn, getTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, ending, LANE, NOW_MS } from './made-up.ts';

setDefaultTimeout(60_000);

/**
 * Two processes look at one turn, each with what it read some time ago. Whatever they do and in whichever order, one
 * end is written, the first, and never a second announcement.
 */

const who = fc.integer({ min: 0, max: 1 });
const step = fc.oneof(
  fc.record({ kind: fc.constant('read'), who }),
  fc.record({ kind: fc.constant('claim'), who }),
  fc.record({ kind: fc.constant('adopt'), who }),
  fc.record({ kind: fc.constant('run'), who }),
  fc.record({ kind: fc.constant('progress'), who, tokens: fc.nat(1000) }),
  fc.record({ kind: fc.constant('stopping'), who }),
  fc.record({
    kind: fc.constant('stop'),
    who,
    reason: fc.constantFrom('requested', 'timeout', 'idle', 'shutdown'),
  }),
  fc.record({ kind: fc.constant('end'), who, outcome: fc.constantFrom(...OUTCOMES), tells: fc.boolean() }),
  fc.record({ kind: fc.constant('reword'), who }),
  fc.record({ kind: fc.constant('take'), who }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

type Seen = { readonly db: Sqlite; turn: Turn };

/** What the step wrote as the turn's end, where it says that it did. */
function take(one: Step, seen: Seen, nowMs: number): Turn | undefined {
  const { db, turn } = seen;
  const after = (changed: Turn | undefined) => {
    if (changed !== undefined) seen.turn = changed;
    return changed;
  };
  switch (one.kind) {
    case 'read':
      after(getTurn(turn.runId, 1, db));
      return undefined;
    case 'claim':
      claimTurns(LANE, nowMs, db);
      return undefined;
    case 'adopt':
      after(changeTurn(turn, { owner: { pid: 100 + one.who, start: '1', boot: 'b' } }, db));
      return undefined;
    case 'run':
    case 'stopping': {
      const state = one.kind === 'run' ? 'running' : 'stopping';
      const from = state === 'running' ? ['starting'] : ['starting', 'running'];
      if (from.includes(turn.state)) after(changeTurn(turn, { state, launchedAtMs: nowMs }, db));
      else expect(() => changeTurn(turn, { state }, db)).toThrow('its state is');
      return undefined;
    }
    case 'progress':
      after(changeTurn(turn, { usage: { ...NO_USAGE, inputTokens: 'tokens' in one ? one.tokens : 0 } }, db));
      return undefined;
    case 'stop': {
      const reason = 'reason' in one ? (one.reason as Stop['reason']) : 'requested';
      const turns = requestStop(turn.runId, { reason, by: `${one.who}`, atMs: nowMs }, db);
      return turns.find(({ state }) => isTerminal(state));
    }
    case 'end': {
      const outcome = 'outcome' in one ? one.outcome : 'success';
      const current = getTurn(turn.runId, 1, db);
      // Nothing but an error can be said of a turn that was never given a slot.
      const fits = current?.state !== 'queued' || outcome === 'error' || outcome === 'stopped';
      const tells = 'tells' in one && one.tells ? announcement({ readyAtMs: nowMs + 5 }) : null;
      const end = () => endTurn(turn, ending({ outcome, endedAtMs: nowMs }), tells, db);
      if (fits) return after(end());
      expect(end).toThrow('its state is "queued"');
      return undefined;
    }
    case 'reword':
      reword(turn.runId, 1, { result: 'better', notes: '', nowMs }, db);
      return undefined;
    default:
      takeAnnouncements(
        { requester: A, session: null, owner: `${one.who}`, isPerson: false },
        { nowMs, leaseMs: 3, limit: 9 },
        db,
      );
      return undefined;
  }
}

test('a turn has one end, the first that was written; its version grows with every change; it tells once', ({
  db,
  open,
}) => {
  const others = [db, open()] as const;
  const sight = open();
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 40 }), (steps) => {
      // What an earlier story left must not take the slots of this one.
      db.exec("UPDATE turns SET state = 'lost' WHERE state IN ('queued', 'starting', 'running', 'stopping')");
      const first = accepted(db);
      const seen = others.map((connection): Seen => ({ db: connection, turn: first }));
      let before = first;
      let end: Turn | undefined;
      for (const [index, one] of steps.entries()) {
        const by = seen[one.who];
        if (by === undefined) continue;
        const written = take(one, by, NOW_MS + index);
        const now = getTurn(first.runId, 1, sight);
        if (now === undefined) throw new Error('The turn is gone');
        if (written !== undefined && isTerminal(written.state)) {
          expect(end).toBeUndefined();
          end = written;
        }
        if (isTerminal(before.state))
          expect([now.state, now.endedAtMs]).toEqual([before.state, before.endedAtMs]);
        if (JSON.stringify(now) !== JSON.stringify(before)) expect(now.version).toBe(before.version + 1);
        else expect(now.version).toBe(before.version);
        before = now;
      }
      expect(isTerminal(before.state)).toBe(end !== undefined);
      if (end !== undefined) expect(before.state).toBe(end.state);
      const told = Number(sight.get('SELECT COUNT(*) AS n FROM outbox WHERE run_id = ?', first.runId)?.n);
      expect(told).toBeLessThanOrEqual(end === undefined ? 0 : 1);
      if (end?.state === 'stopped' && before.stop?.reason === 'requested' && before.exit === null) {
        expect(told).toBe(0);
      }
    }),
    { numRuns: 200 },
  );
});
