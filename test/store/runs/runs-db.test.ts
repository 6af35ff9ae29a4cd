import { expect, test } from 'bun:test';
import { claimTurns, queuePosition } from '../../../src/store/runs/lane.ts';
import { takeAnnouncements } from '../../../src/store/runs/outbox.ts';
import { listRuns } from '../../../src/store/runs/runs.ts';
import { changeTurn, endTurn } from '../../../src/store/runs/turns.ts';
import { A, accepted, announcement, ending, inHome, LANE, NOW_MS } from './made-up.ts';

test('smoke', () =>
  inHome(({ db }) => {
    const turn = accepted(db);
    expect(queuePosition(turn.runId, db)).toBe(1);
    const [claimed] = claimTurns(LANE, NOW_MS, db);
    if (!claimed) throw new Error('none');
    const running = changeTurn(claimed, { state: 'running', owner: { pid: 1, start: '2', boot: 'b' } }, db);
    expect(running?.owner).toEqual({ pid: 1, start: '2', boot: 'b' });
    if (!running) throw new Error('none');
    expect(endTurn(running, ending(), announcement(), db)?.state).toBe('success');
    const listener = { requester: A, session: null, owner: 'o', isPerson: false };
    const options = { nowMs: NOW_MS + 2000, leaseMs: 1000, limit: 5, quietMs: 5 };
    expect(takeAnnouncements(listener, options, db)).toHaveLength(1);
    expect(listRuns({ requester: A, limit: 5 }, db)[0]?.delivery).toBe('leased');
    expect(takeAnnouncements(listener, options, db)).toHaveLength(0);
    expect(listRuns({ requester: A, limit: 5 }, db)[0]?.delivery).toBe('acked');
  }));
