import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Json } from '../../src/core/guards.ts';
import { runEvents } from '../../src/store/runs/run-events.ts';
import { withRuns } from '../../src/store/runs/runs-db.ts';
import { issueToken } from '../../src/store/runs/tokens.ts';
import { ended, started } from '../store/runs/made-up.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { type ConnectOptions, connect, keyOf, projectIn, SERVER } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const CALLS: readonly [string, Json][] = [
  ['sessions_spawn', { task: 'x' }],
  ['sessions_list', {}],
  ['sessions_history', { sessionKey: 'last' }],
  ['sessions_send', { sessionKey: 'last', message: 'x' }],
  ['agents_list', {}],
  ['subagents', {}],
  ['subagents', { action: 'stop', target: 'all' }],
];

function tokenFor(
  home: Home,
  role: 'main' | 'subagent',
  runId: string | null,
  expiresAtMs: number | null = null,
) {
  const request = { role, runId, client: 'claude', nowMs: Date.now(), expiresAtMs };
  return withRuns(home.paths, (db) => issueToken(request, db));
}

/** A server that is started below a process with this environment, and has itself only what a client leaves it. */
function startedBelow(environment: string): readonly string[] {
  const quoted = SERVER.map((word) => `'${word}'`).join(' ');
  const kept = 'HOME="$HOME" PATH="$PATH"';
  return ['/usr/bin/env', environment, 'sh', '-c', `env -i ${kept} ${quoted}; exit $?`];
}

/** Everything is refused and written down, nothing is started, and nothing of what waits is told. */
async function checkRefused(home: Home, options: ConnectOptions, why: string, runId: string | null) {
  const before = withRuns(home.paths, (db) => {
    ended(db, { key: keyOf(projectIn(home)) });
    return db.all('SELECT * FROM turns');
  });
  await using connected = await connect(home, options);
  expect((await connected.client.listTools()).tools).toEqual([]);
  expect(connected.client.getInstructions()).toBeUndefined();
  for (const [tool, args] of CALLS) {
    const told = await connected.call(tool, args);
    expect(told).toMatchObject({
      isError: true,
      news: undefined,
      value: { status: 'forbidden', error: `${tool} is not allowed from sub-agent sessions` },
    });
  }
  withRuns(home.paths, (db) => {
    expect(db.all('SELECT * FROM turns')).toEqual(before);
    const events = runEvents(runId, 100, db).filter(({ type }) => type === 'refused');
    expect(events.map(({ actor, detail }) => `${actor} ${detail}`)).toEqual(
      CALLS.map(([tool]) => `mcp ${tool}: ${why}`),
    );
  });
}

describe('a sub-agent', () => {
  test('by its token is told of no tool and refused every call', async () => {
    using home = temporaryHome();
    const { runId } = withRuns(home.paths, (db) => started(db, { key: keyOf(projectIn(home)) }));
    const SELF_GENERATION_TOKEN = tokenFor(home, 'subagent', runId);
    await checkRefused(home, { env: { SELF_GENERATION_TOKEN } }, 'the token of a sub-agent', runId);
  });

  test('by the mark in its own environment is one, whatever token it has', async () => {
    using home = temporaryHome();
    const { runId } = withRuns(home.paths, (db) => started(db, { key: keyOf(projectIn(home)) }));
    const env = { SELF_GENERATION_TOKEN: tokenFor(home, 'main', null), SELF_GENERATION_RUN: `${runId}/1` };
    await checkRefused(home, { env }, 'inside a run', runId);
  });

  test('by the mark of a process above it is one, with an empty environment of its own', async () => {
    using home = temporaryHome();
    await checkRefused(home, { command: startedBelow('SELF_GENERATION_RUN=x/1') }, 'inside a run', null);
  });

  test('with a token that nobody issued, or that has run out, is refused like one', async () => {
    using home = temporaryHome();
    const forged = { env: { SELF_GENERATION_TOKEN: 'forged' } };
    await checkRefused(home, forged, 'its token is not known', null);
    using other = temporaryHome();
    const SELF_GENERATION_TOKEN = tokenFor(other, 'main', null, 1);
    await checkRefused(other, { env: { SELF_GENERATION_TOKEN } }, 'its token is not known', null);
  });
});

describe('a token', () => {
  test('that cannot be looked up is worth nothing', async () => {
    using home = temporaryHome();
    home.put('.self-generation/data/runs.db', 'no database at all, but of some length');
    await using connected = await connect(home, { env: { SELF_GENERATION_TOKEN: 'x' } });
    expect((await connected.client.listTools()).tools).toEqual([]);
    expect((await connected.call('agents_list')).value).toMatchObject({ status: 'forbidden' });
  });
});

describe('a main session', () => {
  test('has no token, or one of its own', async () => {
    using home = temporaryHome();
    for (const env of [{}, { SELF_GENERATION_TOKEN: tokenFor(home, 'main', null) }]) {
      await using connected = await connect(home, { env });
      expect((await connected.client.listTools()).tools).toHaveLength(6);
      expect((await connected.call('agents_list')).isError).toBe(false);
    }
  });

  test('is one below a process without the mark', async () => {
    using home = temporaryHome();
    await using connected = await connect(home, { command: startedBelow('SELF_GENERATION_OTHER=x/1') });
    expect((await connected.call('agents_list')).isError).toBe(false);
  });
});
