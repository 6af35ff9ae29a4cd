import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Json } from '../../src/core/guards.ts';
import { profilePolicy } from '../../src/runs/model/profile.ts';
import type { ToolPolicy } from '../../src/runs/model/tool-policy.ts';
import { runEvents, withRuns } from '../../src/runs/store/rows.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { requestStop } from '../../src/runs/store/turns.ts';
import { ended, started } from '../runs/store/made-up.ts';
import { homePerTest } from '../support/per-test.ts';
import { type ConnectOptions, connect, keyOf, projectIn, SERVER } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const home = homePerTest();
const CALLS: readonly [string, Json][] = [
  ['sessions_spawn', { task: 'x' }],
  ['sessions_list', {}],
  ['sessions_history', { sessionKey: 'last' }],
  ['sessions_send', { sessionKey: 'last', message: 'x' }],
  ['agents_list', {}],
  ['explore', { query: 'x' }],
  ['plan', { task: 'x' }],
  ['orchestrate', { task: 'x' }],
  ['worklog', {}],
  ['known_errors', { query: 'x' }],
  ['subagents', {}],
  ['subagents', { action: 'stop', target: 'all' }],
];

/** A server that is started below a process with this environment, and has itself only what a client leaves it. */
function startedBelow(environment: string): readonly string[] {
  const quoted = SERVER.map((word) => `'${word}'`).join(' ');
  const kept = 'HOME="$HOME" PATH="$PATH"';
  return ['/usr/bin/env', environment, 'sh', '-c', `env -i ${kept} ${quoted}; exit $?`];
}

/** Everything is refused and written down, nothing is started, and nothing of what waits is told. */
async function checkRefused(options: ConnectOptions, runId: string | null) {
  const before = withRuns(home.paths, (db) => {
    ended(db, { key: keyOf(projectIn(home)) });
    return db.all('SELECT * FROM turns');
  });
  await using connected = await connect(home, options);
  expect((await connected.client.listTools()).tools).toEqual([]);
  expect(connected.client.getInstructions()).toBeUndefined();
  for (const [tool, args] of CALLS) {
    const error = `${tool} is not allowed from sub-agent sessions: say in your result what is to be done`;
    const value = { status: 'forbidden', error };
    expect(await connected.call(tool, args)).toMatchObject({ isError: true, news: undefined, value });
  }
  withRuns(home.paths, (db) => {
    expect(db.all('SELECT * FROM turns')).toEqual(before);
    const events = runEvents(runId, 100, db).filter(({ type }) => type === 'refused');
    expect(events.map(({ actor, detail }) => `${actor} ${detail}`)).toEqual(
      CALLS.map(([tool]) => `mcp ${tool}: inside a run`),
    );
  });
}

describe('a sub-agent', () => {
  test('by the mark in its own environment is told of no tool and refused every call', async () => {
    const { runId } = withRuns(home.paths, (db) => started(db, { key: keyOf(projectIn(home)) }));
    await checkRefused({ env: { SELF_GENERATION_RUN: `${runId}/1` } }, runId);
  });

  test('by the mark of a process above it is one, with an empty environment of its own', async () => {
    await checkRefused({ command: startedBelow('SELF_GENERATION_RUN=x/1') }, null);
  });
});

describe('a plan run', () => {
  /** A plan run at work, and a server inside of it. */
  const plan = (policy: ToolPolicy = profilePolicy('plan', [])) => {
    const limits = { iterations: null, tokens: null, usd: null, observationChars: null };
    const { runId } = withRuns(home.paths, (db) => {
      const run = { key: keyOf(projectIn(home)), profile: { kind: 'plan', limits }, policy } as const;
      return started(db, { ...run, cwd: projectIn(home) });
    });
    return { runId, env: { SELF_GENERATION_RUN: `${runId}/1` } };
  };

  test('is offered explore alone, which starts a run of its own, and is refused all else', async () => {
    const { runId, env } = plan();
    await using connected = await connect(home, { env });
    const { tools } = await connected.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['explore']);
    for (const [tool, args] of CALLS.filter(([name]) => name !== 'explore'))
      expect(await connected.call(tool, args)).toMatchObject({
        isError: true,
        value: { status: 'forbidden' },
      });
    const { value } = await connected.call('explore', { query: 'Where is it?', timeoutSeconds: 0.1 });
    expect(value).toMatchObject({ status: 'timeout' });
    const rows = withRuns(home.paths, (db) =>
      db.all(
        "SELECT task, requester, json_extract(profile, '$.kind') AS kind FROM runs WHERE id <> ?",
        runId,
      ),
    );
    const key = withRuns(home.paths, (db) => getRun(runId, db)?.run.childKey);
    expect(rows).toEqual([{ task: 'Where is it?', requester: key, kind: 'explore' }]);
    // Nothing of it is started from in here.
    const states = withRuns(home.paths, (db) => db.all('SELECT state FROM turns WHERE run_id <> ?', runId));
    expect(states).toEqual([{ state: 'queued' }]);
  });

  test('has no conversation to hand on, and asks for none', async () => {
    const { env } = plan();
    await using connected = await connect(home, { env });
    const asked = { query: 'Where is it?', timeoutSeconds: 0.1, context: 'summary' };
    expect((await connected.call('explore', asked)).value).toMatchObject({ status: 'timeout' });
  });

  test('whose policy has no explore is a sub-agent like any other, and so is one that is over', async () => {
    const { env } = plan({ ...profilePolicy('plan', []), deny: ['mcp'] });
    await checkRefused({ env }, env.SELF_GENERATION_RUN.slice(0, 32));
    const over = plan();
    const stop = { reason: 'requested', by: 'x', atMs: 1 } as const;
    withRuns(home.paths, (db) => requestStop(over.runId, stop, db));
    await using connected = await connect(home, { env: over.env });
    expect((await connected.client.listTools()).tools).toEqual([]);
  });
});

describe('a main session', () => {
  test('is one below a process without the mark', async () => {
    await using connected = await connect(home, { command: startedBelow('SELF_GENERATION_OTHER=x/1') });
    expect((await connected.call('agents_list')).isError).toBe(false);
  });
});
