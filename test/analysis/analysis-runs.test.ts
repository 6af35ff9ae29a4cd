import { describe, expect, test } from 'bun:test';
import {
  type Abandonment,
  abandonedRuns,
  claimRun,
  endAbandonedRun,
  endRun,
  enterClient,
  listAnalysisRuns,
  type RunEnd,
  type RunLimits,
  type RunRequest,
  refusedRun,
} from '../../src/analysis/analysis-store.ts';
import type { ProcessIdentity } from '../../src/system/process-identity.ts';
import { databasePerTest, homePerTest } from '../support/per-test.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const SHOP = { project: 'shop', projectPath: '/home/dev/shop' };
const HOLDER = { pid: 42, start: 'Sun Nov 22 18:00:00 2026', boot: 'boot/7' };
const ASKED = { trigger: 'command', days: 7, cli: 'claude', model: 'sonnet' } as const;
const REQUEST = { ts: NOW, process: HOLDER, ...ASKED, ...SHOP };
const DAY_BEFORE = '2026-11-19T12:00:00.000Z';
const LIMITS: RunLimits = { notSince: null, budgetSince: DAY_BEFORE, budgetUsd: 1, runsMax: 24 };
const COST = { promptBytes: 1000, inputTokens: 300, outputTokens: 50, costUsd: 0.25, suggestionCount: 2 };
const DONE: RunEnd = { ts: NOW, status: 'done', reason: null, model: 'claude-sonnet-5-5', ...COST };

const db = databasePerTest(homePerTest());

const STALE_BEFORE = '2026-11-20T11:45:00.000Z';
const GONE = { isGone: () => true };

/** As whoever comes next does it, once nothing of the run is left. */
function endAbandoned(changes: Partial<Abandonment>): void {
  const abandonment = { staleBefore: STALE_BEFORE, isGone: () => false, ...changes };
  for (const run of abandonedRuns(abandonment, db)) endAbandonedRun(run, NOW, db);
}

function claim(request: Partial<RunRequest> = {}, limits: Partial<RunLimits> = {}) {
  return claimRun({ ...REQUEST, ...request }, { ...LIMITS, ...limits }, db);
}

function claimed(...args: Parameters<typeof claim>): number {
  const result = claim(...args);
  if (result.kind === 'refused') throw new Error(result.why);
  return result.id;
}

describe('claimRun()', () => {
  test('counts a replay neither against the budget of analyses nor against their rest', () => {
    endRun(claimed({ trigger: 'replay' }, { budgetUsd: 50 }), { ...DONE, costUsd: 40 }, db);
    expect(claim({}, { notSince: DAY_BEFORE })).toMatchObject({ kind: 'claimed', budgetLeftUsd: 1 });
  });

  test('lets one analysis run at a time', () => {
    const id = claimed();
    expect(claim()).toMatchObject({ kind: 'refused', why: 'running' });
    endRun(id, DONE, db);
    expect(claim()).toMatchObject({ kind: 'claimed', budgetLeftUsd: 0.75 });
  });

  test('refuses another analysis of the same project too soon, failed ones counted, and not of another one', () => {
    endRun(claimed(), { ...DONE, status: 'failed' }, db);
    const soon = { notSince: '2026-11-20T11:00:00.000Z' };
    expect(claim({}, soon)).toMatchObject({ kind: 'refused', why: 'too-soon' });
    expect(claim({ projectPath: '/home/dev/other' }, soon).kind).toBe('claimed');
  });

  test('refuses when the costs of the day have come to the budget', () => {
    for (let run = 0; run < 4; run++) endRun(claimed(), DONE, db);
    expect(claim()).toEqual({ kind: 'refused', why: 'budget', spentUsd: 1, assumedUsd: 0 });
    expect(claim({}, { budgetSince: '2026-11-20T12:00:00.001Z' }).kind).toBe('claimed');
  });

  test('refuses after so many runs of a day', () => {
    for (let run = 0; run < 3; run++) endRun(claimed(), { ...DONE, costUsd: 0 }, db);
    expect(claim({}, { runsMax: 3 })).toEqual({ kind: 'refused', why: 'runs', spentUsd: 0, assumedUsd: 0 });
  });

  test('counts an unknown cost as what the run was granted', () => {
    endRun(claimed({}, { grantUsdMax: 0.3 }), { ...DONE, status: 'failed', costUsd: null }, db);
    expect(claim({}, { grantUsdMax: 0.9 })).toMatchObject({ grantedUsd: 0.7, budgetLeftUsd: 0.7 });
    endRun(2, { ...DONE, costUsd: null }, db);
    expect(claim()).toEqual({ kind: 'refused', why: 'budget', spentUsd: 1, assumedUsd: 1 });
  });

  test('lets as many runs of unknown cost start as parts of the budget are granted', () => {
    const limits = { budgetUsd: 0.3, grantUsdMax: 0.3 / 8 };
    for (let run = 0; run < 8; run++) endRun(claimed({}, limits), { ...DONE, costUsd: null }, db);
    expect(claim({}, limits)).toMatchObject({ kind: 'refused', why: 'budget' });
  });
});

describe('abandonedRuns() and endAbandonedRun()', () => {
  test('let the lock go of a run whose process is gone, or that began too long ago, and of no other', () => {
    claimed();
    endAbandoned({});
    expect(claim()).toMatchObject({ kind: 'refused', why: 'running' });
    endAbandoned(GONE);
    claimed();
    endAbandoned({ staleBefore: '2026-11-20T12:45:00.000Z' });
    claimed();
    expect(listAnalysisRuns(9, db).map(({ status, reason }) => [status, reason])).toEqual([
      ['running', null],
      ['failed', 'ended without a word'],
      ['failed', 'ended without a word'],
    ]);
  });

  test('know the process by its start too, whoever has its id now', () => {
    const holders: ProcessIdentity[] = [];
    const isGone = (holder: ProcessIdentity) => {
      holders.push(holder);
      return holder.start !== 'now';
    };
    claimed({ process: { pid: process.pid, start: 'now', boot: '' } });
    endAbandoned({ isGone });
    expect(claim()).toMatchObject({ kind: 'refused', why: 'running' });
    db.sqlite.run("UPDATE analysis_runs SET pid = replace(pid, 'now', 'an hour ago')");
    endAbandoned({ isGone });
    expect(claim().kind).toBe('claimed');
    expect(holders).toEqual(['now', 'an hour ago'].map((start) => ({ pid: process.pid, start, boot: '' })));
  });

  test('take a run of an earlier version, which has nothing but an id, for running until it is too old', () => {
    claimed();
    db.sqlite.run('UPDATE analysis_runs SET pid = 42');
    endAbandoned(GONE);
    expect(claim()).toMatchObject({ kind: 'refused', why: 'running' });
    endAbandoned({ staleBefore: '2026-11-20T12:45:00.000Z' });
    expect(claim().kind).toBe('claimed');
  });

  test('count such a run as nothing before its client was started, as its grant after', () => {
    const client = { pid: 4242, start: '77', boot: 'boot' };
    claimed({}, { grantUsdMax: 0.4 });
    endAbandoned(GONE);
    const id = claimed({}, { grantUsdMax: 0.4 });
    expect(listAnalysisRuns(9, db)[1]?.costUsd).toBe(0);
    enterClient(id, client, db);
    endAbandoned(GONE);
    expect(claim()).toMatchObject({ budgetLeftUsd: 0.6 });
  });

  test('name the client by which it is ended, but not where nobody knows when it started', () => {
    const abandoned = () => abandonedRuns({ staleBefore: STALE_BEFORE, ...GONE }, db);
    const id = claimed();
    expect(abandoned()).toEqual([{ id, ts: NOW, process: null, owner: REQUEST.process }]);
    enterClient(id, { pid: 4242, start: '', boot: 'boot' }, db);
    expect(abandoned()).toMatchObject([{ process: null }]);
    const client = { pid: 4242, start: '77', boot: 'boot/7' };
    enterClient(id, client, db);
    expect(abandoned()).toMatchObject([{ process: client }]);
  });

  test('leave a replay running for as long as its process lives', () => {
    claimed({ trigger: 'replay' });
    endAbandoned({ staleBefore: '2026-11-20T12:45:00.000Z' });
    expect(claim()).toMatchObject({ kind: 'refused', why: 'running' });
    endAbandoned(GONE);
    expect(claim().kind).toBe('claimed');
  });

  test('leave a run alone that has ended in the meantime', () => {
    const id = claimed();
    endRun(id, DONE, db);
    endAbandonedRun({ id }, NOW, db);
    expect(listAnalysisRuns(1, db)).toMatchObject([{ status: 'done', costUsd: 0.25 }]);
  });
});

test('refusedRun() says what claimRun() would say, and enters nothing', () => {
  expect(refusedRun(REQUEST, LIMITS, db)).toBeUndefined();
  expect(listAnalysisRuns(9, db)).toEqual([]);
  claimed();
  expect(refusedRun(REQUEST, LIMITS, db)).toMatchObject({ why: 'running' });
});

test('endRun() keeps what it cost, or why it failed, for status', () => {
  endRun(claimed(), DONE, db);
  const failed = { reason: 'no answer', costUsd: null, suggestionCount: null };
  endRun(claimed(), { ...DONE, status: 'failed', ...failed }, db);
  const { ts: endedTs, ...done } = DONE;
  expect(listAnalysisRuns(9, db)).toMatchObject([
    { status: 'failed', ...failed },
    { ...done, endedTs },
  ]);
  expect(listAnalysisRuns(1, db)).toHaveLength(1);
});
