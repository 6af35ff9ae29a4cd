import { describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import type { Sqlite } from '../../src/database/sqlite.ts';
import { archiveRun } from '../../src/runs/archive.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import type { Ending, Turn } from '../../src/runs/model/turn.ts';
import { sendToRun } from '../../src/runs/send.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { waitForRuns } from '../../src/runs/stop.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { changeRun, getRun } from '../../src/runs/store/runs.ts';
import { endTurn, getTurn, turnsOf } from '../../src/runs/store/turns.ts';
import { madeEnding } from '../support/made-run.ts';
import { accepted, runsHome } from './runs-home.ts';

/** A run whose supervisor never comes; its turns are ended here. */
function bench(settings: object = {}) {
  const runs = runsHome(settings);
  const spawn = (task: string, request: Partial<SpawnRequest> = {}) =>
    accepted(spawnRun({ task, ...request }, runs.requester, runs.idle)).runId;
  const runId = spawn('quick', { label: 'tests' });
  const write = <T>(work: (db: Sqlite) => T) => withRuns(runs.home.paths, work);
  return {
    ...runs,
    runId,
    spawnIdle: spawn,
    write,
    send: (message: string, requester = runs.requester) => sendToRun(runId, message, requester, runs.idle),
    end: (changes: Partial<Ending> = {}, id = runId) =>
      write((db) => endTurn(getTurn(id, 1, db) as Turn, madeEnding(changes), null, db)),
    change: (changes: Parameters<typeof changeRun>[1]) => write((db) => changeRun(runId, changes, db)),
  };
}

describe('sendToRun()', () => {
  test('refuses a message that is none, and one that is too long', async () => {
    await using made = bench();
    expect(made.send(' \n')).toEqual({ status: 'error', error: 'message is required' });
    expect(made.send('x'.repeat(2 ** 20 + 1))).toMatchObject({ status: 'error' });
  });

  test('refuses a run that there is not, and one of another project', async () => {
    await using made = bench();
    const { requester } = made;
    const error = 'Unknown subagent id: abcd';
    expect(sendToRun('abcd', 'x', requester, made.idle)).toEqual({ status: 'error', error });
    expect(made.send('x', { ...requester, key: 'agent:main:other-1' }).status).toBe('forbidden');
  });

  test('notes for whom the reply is: the session that sends, or a person, whoever asked for the run', async () => {
    await using made = bench();
    const agent = { ...made.requester, client: 'claude', session: 's-1' } as const;
    made.send('of the one who asked');
    made.send('of an agent', agent);
    const sessions = made.write((db) => turnsOf(made.runId, db).map(({ session }) => session));
    expect(sessions).toEqual([null, '', 's-1']);
  });

  test('refuses a run that ended before it had a session, and names what can be done', async () => {
    await using made = bench();
    expect(made.send('while it has none yet')).toMatchObject({ status: 'accepted', turn: 2 });
    await using other = bench();
    other.end({ outcome: 'error' });
    const error = 'Subagent #1 (tests) has no session that could go on. Use retry to run its task again.';
    expect(other.send('x')).toEqual({ status: 'error', error });
    other.change({ sessionId: 'session-1' });
    expect(other.send('x')).toMatchObject({ status: 'accepted' });
  });

  test('refuses an agent whose rules the client of a run that a person started cannot keep to', async () => {
    await using made = bench();
    const { home, requester } = made;
    home.put('bin/codex', '#!/bin/sh\n');
    chmodSync(`${home.path}/bin/codex`, 0o700);
    const world = { ...made.idle, env: { ...made.idle.env, PATH: `${home.path}/bin` } };
    const { runId } = accepted(spawnRun({ task: 'quick', client: 'codex' }, requester, world));
    const agent = { ...requester, client: 'claude', session: 's-1' } as const;
    const send = (by: Requester = agent) => sendToRun(runId, 'go on', by, made.idle);
    expect(send()).toMatchObject({ status: 'accepted' });
    home.put('project/.claude/settings.json', '{"permissions":{"deny":["Bash(git push:*)"]}}');
    expect(send()).toMatchObject({ status: 'forbidden', error: expect.stringContaining('Bash(git push:*)') });
    expect(send(requester)).toMatchObject({ status: 'accepted' });
  });

  test('refuses a run whose files were put away', async () => {
    await using made = bench();
    made.end();
    made.change({ sessionId: 'session-1' });
    const run = made.write((db) => getRun(made.runId, db)?.run);
    if (run !== undefined) archiveRun(run, made.home.paths, new Date());
    const error =
      'Subagent #1 (tests) is archived: its session cannot go on. Use retry to run its task again.';
    expect(made.send('x')).toEqual({ status: 'error', error });
  });

  test('refuses more messages than anybody would read the answers to', async () => {
    await using made = bench();
    for (let index = 0; index < 20; index++) expect(made.send(`message ${index}`).status).toBe('accepted');
    const error = '20 messages to subagent #1 (tests) wait already: wait for an answer first, or stop it';
    expect(made.send('one more')).toEqual({ status: 'error', error, limit: true });
  });

  test('refuses a run that has taken what a run may take', async () => {
    await using made = bench({ budget: { run: { tokens: 1000 } } });
    made.change({ sessionId: 'session-1' });
    const usage = { ...madeEnding().usage, inputTokens: 900, outputTokens: 100 };
    made.end({ usage });
    expect(made.send('x')).toMatchObject({ status: 'error', limit: true });
  });
});

describe('waitForRuns()', () => {
  test('gives up when its time is over, or when it is called off, and says how things stand', async () => {
    await using made = bench();
    const turns = [{ runId: made.runId, turn: 1 }];
    const late = await waitForRuns(turns, { timeoutMs: 50 }, made.idle);
    expect(late).toMatchObject({ kind: 'timeout', runs: [{ turn: { state: 'starting' } }] });
    const calledOff = new AbortController();
    const waiting = waitForRuns(turns, { timeoutMs: null, signal: calledOff.signal }, made.idle);
    calledOff.abort();
    expect(await waiting).toMatchObject({ kind: 'timeout' });
  });

  test('ends when the last of the turns has, in the order in which they were asked for', async () => {
    await using made = bench();
    const other = made.spawnIdle('other');
    const turns = [other, made.runId, 'abcd'].map((runId) => ({ runId, turn: 1 }));
    const seen: string[] = [];
    const onProgress = (runs: readonly { turn: Turn }[]) =>
      seen.push(runs.map(({ turn }) => turn.state).join());
    const waiting = waitForRuns(turns, { timeoutMs: 20_000, onProgress }, made.idle);
    made.end();
    expect((await waitForRuns(turns, { timeoutMs: 50 }, made.idle)).kind).toBe('timeout');
    made.end({ outcome: 'error' }, other);
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
