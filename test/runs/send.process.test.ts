import { describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import { relative } from 'node:path';
import { archiveRun } from '../../src/runs/archive.ts';
import type { Turn } from '../../src/runs/model/turn.ts';
import { sendToRun } from '../../src/runs/send.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import { waitForRuns } from '../../src/runs/stop.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { changeRun, getRun } from '../../src/runs/store/runs.ts';
import { endTurn, getTurn, turnsOf } from '../../src/runs/store/turns.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { madeEnding } from '../support/made-run.ts';
import { accepted, runsHome } from './runs-home.ts';

/** A run whose supervisor never comes; its turns are ended here. */
async function bench(settings: object = {}) {
  const runs = runsHome(settings as Record<string, unknown>);
  const { paths } = runs.home;
  const world: RunsWorld = { ...runs.world, executablePath: '/bin/true', isCompiled: true };
  const { runId } = accepted(spawnRun({ task: 'quick', label: 'tests' }, runs.requester, world));
  return {
    runs,
    world,
    runId,
    paths,
    send: (message: string, requester = runs.requester) => sendToRun(runId, message, requester, world),
    end: (changes: Parameters<typeof madeEnding>[0] = {}) =>
      withRuns(paths, (db) => {
        const turn = getTurn(runId, 1, db) as Turn;
        return endTurn(turn, madeEnding(changes), null, db);
      }),
    change: (changes: Parameters<typeof changeRun>[1]) =>
      withRuns(paths, (db) => changeRun(runId, changes, db)),
    [Symbol.asyncDispose]: () => runs[Symbol.asyncDispose](),
  };
}

describe('sendToRun()', () => {
  test('refuses a message that is none, and one that is too long', async () => {
    await using made = await bench();
    expect(made.send(' \n')).toEqual({ status: 'error', error: 'message is required' });
    expect(made.send('x'.repeat(2 ** 18 + 1))).toMatchObject({ status: 'error' });
  });

  test('refuses a run that there is not, and one of another project', async () => {
    await using made = await bench();
    const { requester } = made.runs;
    expect(sendToRun('abcd', 'x', requester, made.world)).toEqual({
      status: 'error',
      error: 'Unknown subagent id: abcd',
    });
    expect(made.send('x', { ...requester, key: 'agent:main:other-1' })).toMatchObject({
      status: 'forbidden',
    });
  });

  test('notes for whom the reply is: the session that sends, or a person, whoever asked for the run', async () => {
    await using made = await bench();
    const agent = { ...made.runs.requester, client: 'claude', session: 's-1' } as const;
    made.send('of the one who asked');
    made.send('of an agent', agent);
    const sessions = withRuns(made.paths, (db) => turnsOf(made.runId, db).map(({ session }) => session));
    expect(sessions).toEqual([null, '', 's-1']);
  });

  test('refuses a run that ended before it had a session, and names what can be done', async () => {
    await using made = await bench();
    expect(made.send('while it has none yet')).toMatchObject({ status: 'accepted', turn: 2 });
    await using other = await bench();
    other.end({ outcome: 'error' });
    expect(other.send('x')).toEqual({
      status: 'error',
      error: 'Subagent #1 (tests) has no session that could go on. Use retry to run its task again.',
    });
    other.change({ sessionId: 'session-1' });
    expect(other.send('x')).toMatchObject({ status: 'accepted' });
  });

  test('refuses an agent whose rules the client of a run that a person started cannot keep to', async () => {
    await using made = await bench();
    const { home, requester, project } = made.runs;
    home.put('bin/codex', '#!/bin/sh\n');
    chmodSync(`${home.path}/bin/codex`, 0o700);
    const world = { ...made.world, env: { ...made.world.env, PATH: `${home.path}/bin` } };
    const own = accepted(spawnRun({ task: 'quick', client: 'codex' }, requester, world));
    const agent = { ...requester, client: 'claude', session: 's-1' } as const;
    const send = () => sendToRun(own.runId, 'go on', agent, made.world);
    expect(send()).toMatchObject({ status: 'accepted' });
    home.put(
      `${relative(home.path, project)}/.claude/settings.json`,
      '{"permissions":{"deny":["Bash(git push:*)"]}}',
    );
    expect(send()).toMatchObject({ status: 'forbidden', error: expect.stringContaining('Bash(git push:*)') });
    expect(sendToRun(own.runId, 'go on', requester, made.world)).toMatchObject({ status: 'accepted' });
  });

  test('refuses a run whose files were put away', async () => {
    await using made = await bench();
    made.end();
    made.change({ sessionId: 'session-1' });
    const run = withRuns(made.paths, (db) => getRun(made.runId, db)?.run);
    if (run !== undefined) archiveRun(run, made.paths, new Date());
    expect(made.send('x')).toMatchObject({
      status: 'error',
      error: 'Subagent #1 (tests) is archived: its session cannot go on. Use retry to run its task again.',
    });
  });

  test('refuses more messages than anybody would read the answers to', async () => {
    await using made = await bench();
    for (let index = 0; index < 20; index++) expect(made.send(`message ${index}`).status).toBe('accepted');
    expect(made.send('one more')).toEqual({
      status: 'error',
      error: '20 messages to subagent #1 (tests) wait already: wait for an answer first, or stop it',
      limit: true,
    });
  });

  test('refuses a run that has taken what a run may take', async () => {
    await using made = await bench({ budget: { run: { tokens: 1000 } } });
    made.change({ sessionId: 'session-1' });
    const usage = { ...madeEnding().usage, inputTokens: 900, outputTokens: 100 };
    made.end({ usage });
    expect(made.send('x')).toMatchObject({ status: 'error', limit: true });
  });
});

describe('waitForRuns()', () => {
  test('gives up when its time is over, or when it is called off, and says how things stand', async () => {
    await using made = await bench();
    const turns = [{ runId: made.runId, turn: 1 }];
    const late = await waitForRuns(turns, { timeoutMs: 50 }, made.world);
    expect(late).toMatchObject({ kind: 'timeout', runs: [{ turn: { state: 'starting' } }] });
    const calledOff = new AbortController();
    const waiting = waitForRuns(turns, { timeoutMs: null, signal: calledOff.signal }, made.world);
    calledOff.abort();
    expect(await waiting).toMatchObject({ kind: 'timeout' });
  });

  test('ends when the last of the turns has, in the order in which they were asked for', async () => {
    await using made = await bench();
    const other = accepted(spawnRun({ task: 'other' }, made.runs.requester, made.world));
    const turns = [
      { runId: other.runId, turn: 1 },
      { runId: made.runId, turn: 1 },
      { runId: 'abcd', turn: 1 },
    ];
    const seen: string[] = [];
    const onProgress = (runs: readonly { turn: Turn }[]) =>
      seen.push(runs.map(({ turn }) => turn.state).join());
    const waiting = waitForRuns(turns, { timeoutMs: 20_000, onProgress }, made.world);
    made.end();
    withRuns(made.paths, (db) => {
      const turn = getTurn(other.runId, 1, db) as Turn;
      endTurn(turn, madeEnding({ outcome: 'error' }), null, db);
    });
    const answer = await waiting;
    expect(answer.kind).toBe('ended');
    expect(answer.runs.map(({ run }) => run.number)).toEqual([2, 1]);
    expect(seen.at(-1)).toBe('error,success');
  });

  test('waits for nothing where there are no runs', async () => {
    await using runs = runsHome();
    const turns = [{ runId: 'abcd', turn: 1 }];
    expect(await waitForRuns(turns, { timeoutMs: null }, runs.world)).toEqual({ kind: 'ended', runs: [] });
  });
});
