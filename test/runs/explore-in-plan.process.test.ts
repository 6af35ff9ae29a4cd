import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { agentStatus } from '../../src/runs/model/profile.ts';
import { isTerminal } from '../../src/runs/model/turn.ts';
import { retryRun, spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { stopRuns, waitForRuns } from '../../src/runs/stop.ts';
import { readRuns, runEvents, withRuns } from '../../src/runs/store/rows.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { RUN_VARIABLE } from '../../src/system/process-identity.ts';
import { withMarker } from '../../src/system/processes.ts';
import { type Accepted, accepted, type RunsHome, runsHome } from './runs-home.ts';
import { ended } from './store/made-up.ts';

/** What a plan run has looked up: by runs of its own, one level deep, which end with it. */

setDefaultTimeout(60_000);

const EXPLORE = { profile: 'explore' } as const;
const runNamed = (here: RunsHome, { runId }: Accepted) => {
  const run = readRuns(here.home.paths, (db) => getRun(runId, db)?.run);
  if (run === undefined) throw new Error('There is no such run');
  return run;
};
/** As a process of the run's turn, which asks for others. */
const inside = ({ world }: RunsHome, { runId }: Accepted, turn = 1) => ({
  ...world,
  env: { ...world.env, [RUN_VARIABLE]: `${runId}/${turn}` },
});
const ask = (here: RunsHome, asker: Accepted, request: SpawnRequest, turn = 1) =>
  spawnRun(request, here.requester, inside(here, asker, turn));
const processesOf = ({ runId }: Accepted) => withMarker({ name: RUN_VARIABLE, value: `${runId}/1` });

/** A plan run at work. */
async function planning(here: RunsHome, task = '[[hang]]', request: Partial<SpawnRequest> = {}) {
  const plan = here.spawn({ task, profile: 'plan', ...request });
  await here.until('the plan works', () => here.turns(plan.runId)[0]?.state === 'running');
  return plan;
}

describe('an explore run of a plan', () => {
  test('is started by the supervisor of the plan, without a slot of its own, and is told to nobody else', async () => {
    const settings = { agents: { defaults: { subagents: { maxConcurrent: 1 } } } };
    await using here = runsHome({ announce: { mode: 'raw' }, ...settings });
    const plan = await planning(here, '[[hang]]', { thinking: 'high', model: 'haiku' });
    const permissions = { mode: 'plan', allow: [], deny: ['read(x)'] } as const;
    withRuns(here.home.paths, (db) =>
      db.run('UPDATE runs SET permissions = ? WHERE id = ?', JSON.stringify(permissions), plan.runId),
    );
    const { childKey, cwd } = runNamed(here, plan);
    const explore = accepted(ask(here, plan, { task: '[[answer found]]', ...EXPLORE, cwd: '/' }));
    const run = runNamed(here, explore);
    expect(run).toMatchObject({ cwd, permissions, client: 'claude', thinking: 'high', agentId: 'main' });
    expect(run.model.requested).toBe('haiku');
    expect(run.requester).toEqual({ key: childKey, session: null, client: 'claude', cwd });
    const name = { runId: explore.runId, turn: 1 };
    const options = { timeoutMs: 20_000, untilAnnounced: true };
    const { runs } = await waitForRuns([name], options, inside(here, plan));
    expect(runs).toMatchObject([{ turn: { state: 'success', result: 'found' } }]);
    expect(here.waiting()).toEqual([]);
    expect(here.turns(plan.runId)[0]?.state).toBe('running');
  });

  test('may take no more tokens and USD than the plan, and there are twenty at most', async () => {
    await using here = runsHome({ announce: { mode: 'raw' }, explore: { maxTokens: 5000, maxUsd: 9 } });
    const plan = await planning(here, '[[hang]]', { limits: { tokens: 7000, usd: 3 } });
    const explore = accepted(ask(here, plan, { task: '[[answer 0]]', ...EXPLORE }));
    expect(runNamed(here, explore).profile?.limits).toMatchObject({ tokens: 5000, usd: 3 });
    await here.ended(explore.runId);
    withRuns(here.home.paths, (db) => {
      const key = runNamed(here, plan).childKey;
      for (let count = 1; count < 20; count++) ended(db, { key });
    });
    expect(ask(here, plan, { task: 'x', ...EXPLORE })).toEqual({
      ...{ status: 'error', limit: true },
      error: '20 questions of this run were looked up, which is the most: go on with what is known',
    });
  });

  test('ends with the plan when that is stopped, named as one, and nothing of either is left', async () => {
    await using here = runsHome();
    const plan = await planning(here);
    const explore = accepted(ask(here, plan, { task: '[[fork x]] [[hang]]', ...EXPLORE }));
    await here.until('it works', () => here.turns(explore.runId)[0]?.state === 'running');
    const answer = await stopRuns({ kind: 'run', runId: plan.runId }, here.requester, 'a test', here.world);
    expect(answer).toMatchObject({
      stopped: [{ runId: plan.runId, work: true }],
      alreadyFinished: [],
      failedToStop: [],
      survivors: [],
    });
    const [turn] = here.turns(explore.runId);
    expect(turn && agentStatus(turn)).toBe('cancelled');
    expect([...processesOf(plan), ...processesOf(explore)]).toEqual([]);
    expect(readRuns(here.home.paths, (db) => db.all('SELECT run_id FROM outbox'))).toEqual([]);
  });

  test('ends with the plan that ends by itself, and with all of a session', async () => {
    await using here = runsHome();
    const ends = await planning(here, '[[until go]]');
    const left = accepted(ask(here, ends, { task: '[[hang]] left', ...EXPLORE }));
    await here.until('it works', () => here.turns(left.runId)[0]?.state === 'running');
    here.home.put('project/go', '');
    await here.ended(left.runId);
    expect(here.turns(left.runId)).toMatchObject([
      { state: 'stopped', stop: { reason: 'requested', by: 'the end of its plan run' } },
    ]);
    const plan = await planning(here, '[[hang]] of all');
    const other = accepted(ask(here, plan, { task: '[[hang]] other', ...EXPLORE }));
    await stopRuns({ kind: 'all' }, here.requester, 'a test', here.world);
    expect(here.turns(other.runId).every(({ state }) => isTerminal(state))).toBe(true);
  });

  test('whose result nobody took in waits for nobody once the plan has ended', async () => {
    await using here = runsHome();
    const plan = await planning(here, '[[until go]]');
    const explore = accepted(ask(here, plan, { task: '[[answer found]]', ...EXPLORE }));
    await here.ended(explore.runId);
    here.home.put('project/go', '');
    await here.ended(plan.runId);
    const rows = readRuns(here.home.paths, (db) =>
      db.all('SELECT run_id, state FROM outbox ORDER BY position'),
    );
    expect(rows).toEqual([
      { run_id: explore.runId, state: 'dismissed' },
      { run_id: plan.runId, state: 'pending' },
    ]);
    expect(runNamed(here, explore).archiveAtMs).not.toBeNull();
  });
});

describe('nothing else is started inside of a run', () => {
  test('by a plan but what only looks, nor when it is over, and each refusal is written down', async () => {
    await using here = runsHome();
    const plan = await planning(here);
    const refused = {
      status: 'forbidden' as const,
      error: expect.stringContaining('not allowed from sub-agent sessions'),
    };
    expect(ask(here, plan, { task: 'x' })).toEqual(refused);
    expect(ask(here, plan, { task: 'x', profile: 'plan' })).toEqual(refused);
    expect(ask(here, plan, { task: 'x', ...EXPLORE }, 2)).toEqual(refused);
    expect(ask(here, { ...plan, runId: '0'.repeat(32) }, { task: 'x', ...EXPLORE })).toEqual(refused);
    await stopRuns({ kind: 'run', runId: plan.runId }, here.requester, 'a test', here.world);
    expect(ask(here, plan, { task: 'x', ...EXPLORE })).toEqual(refused);
    const events = readRuns(here.home.paths, (db) => runEvents(plan.runId, 100, db)) ?? [];
    expect(events.filter(({ type }) => type === 'refused')).toHaveLength(4);
  });

  test('by an explore run, by a run for any task, or by a plan whose policy has no explore', async () => {
    const tools = { deny: ['mcp__self-generation__explore'] };
    await using here = runsHome({ tools: { subagents: { tools } } });
    for (const profile of ['explore', undefined, 'plan'] as const) {
      const run = here.spawn({ task: `[[hang]] ${profile}`, profile });
      await here.until('it works', () => here.turns(run.runId)[0]?.state === 'running');
      expect(ask(here, run, { task: 'x', ...EXPLORE })).toMatchObject({ status: 'forbidden' });
    }
  });

  test('and an explore run of a plan has no more than one level', async () => {
    await using here = runsHome();
    const plan = await planning(here);
    const explore = accepted(ask(here, plan, { task: '[[hang]]', ...EXPLORE }));
    await here.until('it works', () => here.turns(explore.runId)[0]?.state === 'running');
    expect(ask(here, explore, { task: 'x', ...EXPLORE })).toMatchObject({ status: 'forbidden' });
  });
});

test('a retry of a run that only looks is one again, with its limits', async () => {
  await using here = runsHome();
  const run = here.spawn({
    task: '[[error-result 1]]',
    ...EXPLORE,
    limits: { tokens: 9 },
    runTimeoutSeconds: 7,
  });
  await here.ended(run.runId);
  const again = runNamed(here, accepted(retryRun(run.runId, here.requester, here.world)));
  const { profile, policy, runTimeoutMs } = runNamed(here, run);
  expect(again).toMatchObject({ profile: profile ?? {}, policy, runTimeoutMs });
});
