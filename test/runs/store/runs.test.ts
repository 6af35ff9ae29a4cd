import { describe, expect } from 'bun:test';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import { takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { changeRun, countRuns, getRun, listRuns } from '../../../src/runs/store/runs.ts';
import { changeTurn, endTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, accepted, announcement, appended, B, ended, ending, LANE, NOW_MS, started } from './made-up.ts';

const STOP = { reason: 'requested', by: 'subagents stop', atMs: NOW_MS } as const;

describe('listRuns()', () => {
  const usage = (inputTokens: number, costUsd: number | null): Usage => {
    const costSource = costUsd === null ? null : 'client';
    return { ...NO_USAGE, inputTokens, outputTokens: 1, costUsd, costSource, model: 'm' };
  };

  test('lists the newest first, of a requester or all, with or without what is archived', ({ db }) => {
    const made = [
      accepted(db, { createdAtMs: NOW_MS + 1 }),
      accepted(db, { session: 's1', createdAtMs: NOW_MS + 2 }),
      accepted(db, { key: B, createdAtMs: NOW_MS + 3 }),
      accepted(db, { session: 's1', createdAtMs: NOW_MS + 4 }),
    ].map(({ runId }) => runId);
    const name = (listed: ReturnType<typeof listRuns>) => listed.map(({ run }) => made.indexOf(run.id));
    expect(name(listRuns({ limit: 9 }, db))).toEqual([3, 2, 1, 0]);
    expect(name(listRuns({ requester: A, limit: 9 }, db))).toEqual([3, 1, 0]);
    expect(name(listRuns({ requester: A, limit: 2 }, db))).toEqual([3, 1]);
    requestStop(made[3] ?? '', { ...STOP, session: 's1' }, db);
    setArchived(made[3] ?? '', NOW_MS, db);
    expect(name(listRuns({ requester: A, limit: 9 }, db))).toEqual([1, 0]);
    expect(name(listRuns({ requester: A, includeArchived: true, limit: 9 }, db))).toEqual([3, 1, 0]);
    expect(countRuns({ requester: A }, db)).toEqual({ active: 2, done: 0 });
    expect(countRuns({ requester: B }, db)).toEqual({ active: 1, done: 0 });
  });

  test('shows a run as its task until a message is at work, counts those that wait, and leaves announce steps out', ({
    db,
  }) => {
    const first = endTurn(started(db), ending({ usage: usage(10, 0.5) }), null, db);
    if (first === undefined) throw new Error('Cannot end the turn');
    const step = appended(db, first.runId, { kind: 'announce', announces: 1, state: 'starting' });
    endTurn(step, ending({ usage: usage(1000, 9) }), null, db);
    expect(listRuns({ limit: 1 }, db)[0]).toMatchObject({ turn: first, usage: usage(10, 0.5) });
    const shown = () => {
      const [listed] = listRuns({ limit: 1 }, db);
      expect(getRun(first.runId, db)?.turn).toEqual(listed?.turn as NonNullable<typeof listed>['turn']);
      return [listed?.turn.number, listed?.turn.state, listed?.waiting];
    };
    expect(shown()).toEqual([1, 'success', 0]);
    for (const _ of [1, 2]) appended(db, first.runId);
    expect(shown()).toEqual([1, 'success', 2]);
    expect(countRuns({ requester: A }, db)).toEqual({ active: 1, done: 0 });
    const [sent] = claimTurns(LANE, NOW_MS + 2000, db);
    expect(shown()).toEqual([3, 'starting', 1]);
    endTurn(sent ?? first, ending({ outcome: 'error', endedAtMs: NOW_MS + 9000 }), null, db);
    expect(shown()).toEqual([1, 'success', 1]);
    expect(listRuns({ limit: 1 }, db)[0]).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 1 },
      changedAtMs: NOW_MS + 9000,
    });
  });

  test('shows what works, and not the message that waits behind it', ({ db }) => {
    const { runId } = started(db);
    appended(db, runId);
    expect(listRuns({ limit: 1 }, db)[0]).toMatchObject({ turn: { state: 'running' }, waiting: 1 });
    expect(getRun(runId, db)?.turn.state).toBe('running');
  });

  test('does not know what a run has cost when it does not of one of its turns', ({ db }) => {
    const first = endTurn(started(db), ending({ usage: usage(10, 0.5) }), null, db);
    const second = appended(db, first?.runId ?? '', { state: 'starting' });
    const launched = changeTurn(second, { launchedAtMs: NOW_MS }, db);
    if (launched !== undefined) endTurn(launched, ending({ usage: usage(5, null) }), null, db);
    expect(listRuns({ limit: 1 }, db)[0]?.usage).toMatchObject({
      inputTokens: 15,
      costUsd: null,
      costSource: null,
    });
  });

  test('says of several turns what still waits before what is settled', ({ db }) => {
    const first = ended(db);
    const listener = { requester: A, session: null, owner: 'o', isPerson: false };
    const options = { nowMs: NOW_MS + 2000, leaseMs: 10, limit: 9 };
    const delivery = () => listRuns({ limit: 1 }, db)[0]?.delivery;
    expect(delivery()).toBe('pending');
    takeAnnouncements(listener, options, db);
    expect(delivery()).toBe('leased');
    takeAnnouncements(listener, options, db);
    expect(delivery()).toBe('acked');
    endTurn(appended(db, first.runId, { state: 'starting' }), ending(), announcement(), db);
    expect(delivery()).toBe('pending');
    takeAnnouncements(listener, options, db);
    expect(delivery()).toBe('leased');
    accepted(db);
    expect(listRuns({ limit: 1 }, db)[0]?.delivery).toBe('none');
  });
});

test('changeRun() enters what became known and leaves the rest', ({ db }) => {
  const { runId } = accepted(db);
  const before = getRun(runId, db)?.run;
  changeRun(runId, {}, db);
  expect(getRun(runId, db)?.run).toEqual(before as NonNullable<typeof before>);
  const worktree = { path: '/w', branch: 'subagent/1', repository: '/r' };
  const changes = {
    sessionId: 's',
    model: { observed: 'o', resolved: 'r' },
    warning: 'w',
    worktree,
    cwd: '/w',
  };
  changeRun(runId, changes, db);
  const { model } = changes;
  expect(getRun(runId, db)?.run).toMatchObject({ ...changes, model: { requested: null, ...model } });
  changeRun(runId, { worktree: null, warning: null }, db);
  expect(getRun(runId, db)?.run).toMatchObject({ worktree: null, warning: null, cwd: '/w' });
  expect(getRun('none', db)).toBeUndefined();
});
