import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { inboxMark } from '../../src/runs/model/run.ts';
import { reconcileAndArchive } from '../../src/runs/reconcile.ts';
import { sendToRun } from '../../src/runs/send.ts';
import { retryRun, spawnRun } from '../../src/runs/spawn.ts';
import { stopRuns, waitForRuns } from '../../src/runs/stop.ts';
import { readRuns } from '../../src/runs/store/rows.ts';
import { listRuns } from '../../src/runs/store/runs.ts';
import { withMarker } from '../../src/system/processes.ts';
import { accepted, runsHome } from './runs-home.ts';

/** Runs from their spawn to the conversation of whoever asked: real processes, stand-ins for the clients. */

setDefaultTimeout(80_000);
const SESSION = 'session-1';
const prompt = { hook_event_name: 'UserPromptSubmit', session_id: SESSION, prompt: 'go on' };
const toolUse = {
  hook_event_name: 'PostToolUse',
  session_id: SESSION,
  tool_name: 'Read',
  tool_input: { file_path: 'a.ts' },
  tool_response: {},
};

test('a run is spawned, succeeds, is told in the next hook of the session, and is settled by the one after it', async () => {
  await using runs = runsHome();
  const answer = runs.spawn({ task: '[[answer the tests pass now]]', label: 'tests' });
  expect(answer).toMatchObject({ status: 'accepted', number: 1 });
  expect(answer.childSessionKey).toBe(
    `agent:main:subagent:${answer.runId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`,
  );
  const [turn] = await runs.ended(answer.runId);
  expect(turn).toMatchObject({ state: 'success', result: 'the tests pass now' });
  const mark = inboxMark(runs.requester.key, runs.home.paths);
  await runs.until('the mark is there', () => existsSync(mark));

  const told = await runs.hook(toolUse);
  expect(told).toContain('Status: success');
  expect(told).toContain('the tests pass now');
  expect(told).toContain(answer.childSessionKey);
  expect(runs.waiting()).toMatchObject([{ state: 'leased' }]);
  expect(await runs.hook(toolUse)).toBeUndefined();
  expect(runs.waiting()).toEqual([]);
  expect(existsSync(mark)).toBe(false);
});

test('a message to a run that has ended resumes its session and is announced; one to a running run waits for its turn', async () => {
  await using runs = runsHome();
  const go = `${runs.home.path}/go`;
  const { runId } = runs.spawn({ task: `[[until ${go}]] [[answer first]]` });
  await runs.until('it runs', () => runs.turns(runId)[0]?.state === 'running');
  const sent = sendToRun(runId, '[[answer second]]', runs.requester, runs.world);
  expect(sent).toEqual({ status: 'accepted', runId, turn: 2 });
  expect(runs.turns(runId).map(({ state }) => state)).toEqual(['running', 'queued']);
  await Bun.write(go, '');
  const progress: string[] = [];
  const waited = await waitForRuns(
    [{ runId, turn: 2 }],
    { timeoutMs: 20_000, onProgress: ([run]) => progress.push(run?.turn.state ?? '') },
    runs.world,
  );
  expect(waited).toMatchObject({ kind: 'ended', runs: [{ turn: { number: 2, state: 'success' } }] });
  expect(progress[0]).toBe('queued');
  expect(progress.at(-1)).toBe('success');
  const third = sendToRun(runId, '[[answer third]]', runs.requester, runs.world);
  expect(third).toMatchObject({ status: 'accepted', turn: 3 });
  const turns = await runs.ended(runId);
  const told = turns.map(({ kind, result }) => `${kind} ${result}`);
  expect(told).toEqual(['task first', 'send second', 'send third']);
  expect(runs.waiting().map(({ result }) => result)).toEqual(['first', 'second', 'third']);
});

test('a run is retried as a new one with its task and settings; twice at once is one, and once more when that failed', async () => {
  await using runs = runsHome();
  const first = runs.spawn({ task: '[[no-result 3]]', label: 'flaky', model: 'opus' });
  expect(retryRun(first.runId, runs.requester, runs.world)).toMatchObject({ status: 'error' });
  await runs.ended(first.runId);
  const again = accepted(retryRun(first.runId, runs.requester, runs.world));
  expect(again).toMatchObject({ number: 2, resolvedModel: 'opus' });
  expect(again.runId).not.toBe(first.runId);
  const repeated = accepted(retryRun(first.runId, runs.requester, runs.world));
  expect(repeated).toMatchObject({ runId: again.runId, deduplicated: true });
  const [turn] = await runs.ended(again.runId);
  expect(turn).toMatchObject({ message: '[[no-result 3]]', state: 'error' });
  expect(retryRun(first.runId, runs.requester, runs.world)).toMatchObject({ number: 3 });
});

describe('stopRuns()', () => {
  test('ends what runs and what waits, says which, and tells the requester nothing more', async () => {
    const agents = { defaults: { subagents: { maxConcurrent: 2 } } };
    await using runs = runsHome({ announce: { mode: 'raw' }, agents });
    const note = `${runs.home.path}/note`;
    const done = runs.spawn({ task: 'quick' });
    await runs.ended(done.runId);
    const one = runs.spawn({ task: '[[hang]] one' });
    const two = runs.spawn({ task: '[[ignore-term]] [[fork]] [[hang]] two' });
    const waits = runs.spawn({ task: `[[note ${note}]] three` });
    expect(waits.queuePosition).toBe(1);
    await runs.until('both run', () =>
      [one, two].every(({ runId }) => runs.turns(runId)[0]?.state === 'running'),
    );
    const single = await stopRuns({ kind: 'run', runId: done.runId }, runs.requester, 'a test', runs.world);
    expect(single).toMatchObject({ stopped: [], alreadyFinished: [{ number: 1 }] });

    const answer = await stopRuns({ kind: 'all' }, runs.requester, 'a test', runs.world);
    expect(answer).toMatchObject({ status: 'done', alreadyFinished: [], failedToStop: [], survivors: [] });
    const numbers = 'stopped' in answer ? answer.stopped.map(({ number }) => number).sort() : [];
    expect(numbers).toEqual([2, 3, 4]);
    for (const { runId } of [one, two, waits]) {
      expect(runs.turns(runId)).toMatchObject([{ state: 'stopped' }]);
      expect(withMarker({ name: 'SELF_GENERATION_RUN', value: `${runId}/1` })).toEqual([]);
    }
    expect(existsSync(note)).toBe(false);
    expect(runs.waiting().map(({ number }) => number)).toEqual([1]);
  });

  test('leaves nothing running of what was asked for before it, however processes that spawn and stop race', async () => {
    await using runs = runsHome();
    const spawners = ['a', 'b'].map((name) =>
      Bun.spawn([process.execPath, `${import.meta.dir}/spawn-loop.main.ts`, name], {
        cwd: runs.project,
        env: runs.world.env,
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
    const all = () =>
      readRuns(runs.home.paths, (db) => listRuns({ requester: runs.requester.key, limit: 1000 }, db)) ?? [];
    let seen = 0;
    for (let round = 0; round < 3; round++) {
      await runs.until('some more run', () => all().length > seen + 5);
      seen = all().length;
      const atMs = Date.now();
      const answer = await stopRuns({ kind: 'all' }, runs.requester, 'a test', runs.world);
      expect(answer).toMatchObject({ failedToStop: [], survivors: [] });
      for (const { run, turn } of all().filter((one) => one.run.createdAtMs < atMs)) {
        expect(`#${run.number} ${turn.state}`).toBe(`#${run.number} stopped`);
        expect(withMarker({ name: 'SELF_GENERATION_RUN', value: `${run.id}/1` })).toEqual([]);
      }
    }
    for (const spawner of spawners) spawner.kill('SIGKILL');
    await Promise.all(spawners.map((spawner) => spawner.exited));
    await stopRuns({ kind: 'all' }, runs.requester, 'a test', runs.world);
    expect(all().map(({ turn }) => turn.state)).toEqual(all().map(() => 'stopped'));
  });

  test('says what cannot be stopped, and finds nothing to stop where nothing is', async () => {
    await using runs = runsHome();
    const stop = (target: Parameters<typeof stopRuns>[0], requester = runs.requester) =>
      stopRuns(target, requester, 'a test', runs.world);
    const nothing = { status: 'done', stopped: [], alreadyFinished: [], failedToStop: [], survivors: [] };
    const unknown = { status: 'error', error: 'Unknown subagent id: abcd' };
    expect(await stop({ kind: 'all' })).toMatchObject(nothing);
    expect(await stop({ kind: 'run', runId: 'abcd' })).toEqual(unknown as never);
    const { runId } = runs.spawn({ task: 'quick' });
    await runs.ended(runId);
    expect(await stop({ kind: 'all' })).toMatchObject(nothing);
    expect(await stop({ kind: 'run', runId: 'abcd' })).toEqual(unknown as never);
    const others = { ...runs.requester, key: 'agent:main:other-1' };
    expect(await stop({ kind: 'run', runId }, others)).toMatchObject({ status: 'forbidden' });
  });
});

describe('reconcileAndArchive()', () => {
  test('leaves the mark that whoever wrote an announcement did not live to leave', async () => {
    await using runs = runsHome();
    const world = { ...runs.world, env: { ...runs.world.env, SELF_GENERATION_CRASH_AT: 'after-end' } };
    const { runId } = accepted(spawnRun({ task: 'quick' }, runs.requester, world));
    await runs.ended(runId);
    await runs.until(
      'the supervisor is gone',
      () => withMarker({ name: 'HOME', value: runs.home.path }).length === 0,
    );
    const mark = inboxMark(runs.requester.key, runs.home.paths);
    expect(existsSync(mark)).toBe(false);
    // A prompt comes at the pace of a person: its hook looks after runs, and the next one sees the mark.
    expect(await runs.hook(prompt)).toBeUndefined();
    expect(existsSync(mark)).toBe(true);
    expect(await runs.hook(prompt)).toContain('the work is done');
  });

  test('does nothing and makes nothing when there are no runs', async () => {
    await using runs = runsHome();
    reconcileAndArchive(runs.world);
    expect(existsSync(runs.home.paths.runsDatabase)).toBe(false);
    expect(existsSync(`${runs.home.paths.home}/logs/runs.log`)).toBe(false);
  });
});

test('nothing is spawned, sent, stopped or told inside a run, by its own environment or that above it', async () => {
  await using runs = runsHome();
  const marked = { ...runs.world, env: { ...runs.world.env, SELF_GENERATION_RUN: 'a/1' } };
  const error =
    'sessions_spawn is not allowed from sub-agent sessions: say in your result what is to be done';
  const forbidden = { status: 'forbidden' as const, error };
  expect(spawnRun({ task: 'x' }, runs.requester, marked)).toEqual(forbidden);
  const once = `env -i PATH="$PATH" HOME="$HOME" ${process.execPath} ${import.meta.dir}/spawn-once.main.ts; :`;
  const options = { env: marked.env, cwd: runs.project, stderr: 'inherit' } as const;
  const above = Bun.spawnSync(['sh', '-c', once], options);
  expect(JSON.parse(above.stdout.toString())).toEqual(forbidden);
  expect(existsSync(runs.home.paths.runsDatabase)).toBe(false);
});
