import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Part } from '../../src/runs/model/part.ts';
import { inboxMark, type TurnName, turnFiles } from '../../src/runs/model/run.ts';
import { isTerminal, NEWER, type Turn } from '../../src/runs/model/turn.ts';
import { reconcile } from '../../src/runs/reconcile.ts';
import { type Place, sendToRun } from '../../src/runs/send.ts';
import { retryRun, spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { dropTurns, stopRuns } from '../../src/runs/stop.ts';
import { partRuns } from '../../src/runs/store/parts.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { CHECKPOINT_VARIABLE } from '../../src/runs/world.ts';
import { identityNow, type ProcessIdentity } from '../../src/system/process-identity.ts';
import { accepted, type RunsHome, runsHome } from './runs-home.ts';

/** Runs that are parts of a conversation or an orchestration, with real processes. */

setDefaultTimeout(60_000);

const ID = 'c1';
const part = (name: string): Part => ({ kind: 'conversation', id: ID, name });

/** A conversation whose first turn is at work, with a session, until `go()`, or stopped. */
async function talking(request: Partial<SpawnRequest> = {}) {
  const runs = runsHome();
  const gate = `${runs.home.path}/gate`;
  const task = `[[until ${gate}]]`;
  const { runId } = runs.spawn({
    task,
    part: part('1'),
    instructions: 'You are the main agent.',
    ...request,
  });
  await runs.until('it works', () => runs.turns(runId)[0]?.state === 'running');
  // A turn behind one that never had a session is given its task too, which would keep it at work.
  await runs.until('it has a session', () =>
    withRuns(runs.home.paths, (db) => getRun(runId, db)?.run.sessionId != null),
  );
  return {
    ...runs,
    runId,
    go: () => writeFileSync(gate, ''),
    send: (message: string, place?: Place) => sendToRun(runId, message, runs.requester, runs.world, place),
    /** In the order in which they were at work; what never was is left out. */
    order: async () => {
      const ended = await runs.ended(runId);
      const begun = ended.filter((turn) => turn.startedAtMs !== null);
      for (const [index, turn] of begun.toSorted(byStart).entries())
        expect(turn.startedAtMs).toBeGreaterThanOrEqual(begun.toSorted(byStart)[index - 1]?.endedAtMs ?? 0);
      return begun.toSorted(byStart).map(({ number, state }) => `${number} ${state}`);
    },
  };
}

const byStart = (one: Turn, other: Turn) => (one.startedAtMs ?? 0) - (other.startedAtMs ?? 0);

/** A message by a process of its own, which dies at this place if one is named. */
async function steer(here: RunsHome, words: readonly string[], crashAt?: string) {
  const env = { ...here.world.env, ...(crashAt === undefined ? {} : { [CHECKPOINT_VARIABLE]: crashAt }) };
  const command = [process.execPath, `${import.meta.dir}/supervisor/act.main.ts`, 'steer', ...words];
  const child = Bun.spawn(command, { cwd: here.project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = await new Response(child.stdout).text();
  await child.exited;
  expect(child.signalCode).toBe(crashAt === undefined ? null : 'SIGKILL');
  return said.trim() === '' ? undefined : JSON.parse(said);
}

/** An orchestration that this process carries on. */
function own({ home, requester }: RunsHome, { pid, start, boot }: ProcessIdentity): void {
  withRuns(home.paths, (db) =>
    db.run(
      `INSERT INTO orchestrations(id, number, requester, cwd, prompt, options, state, created_at, owner_pid,
         owner_start, owner_boot) VALUES ('o1', 1, ?, '/', '', '{}', 'open', 1, ?, ?, ?)`,
      ...[requester.key, pid, start, boot],
    ),
  );
}

/** As those who come later do it, with a clock that is ahead. */
const later = (here: RunsHome) => reconcile({ ...here.world, now: () => new Date(Date.now() + 11_000) });

describe('a part', () => {
  test('is one run, whatever is asked for again, and from whichever process', async () => {
    await using here = await talking();
    const again = { task: 'something else', part: part('1'), client: 'no client' as never };
    expect(spawnRun(again, here.requester, here.world)).toMatchObject({
      ...{ status: 'accepted', runId: here.runId, deduplicated: true },
    });
    const other = { ...here.requester, key: 'agent:main:other-1' };
    expect(spawnRun(again, other, here.world).status).toBe('forbidden');
    // A sub-agent with the same task is another run.
    expect(here.spawn({ task: here.turns(here.runId)[0]?.message ?? '' }).runId).not.toBe(here.runId);
  });

  test('tells nobody of its end, marks no inbox, and has no announce step', async () => {
    const settings = { announce: { mode: 'turn' } };
    await using here = runsHome(settings);
    const { runId } = here.spawn({ task: 'quick', part: part('1'), instructions: 'You are the main agent.' });
    expect(await here.ended(runId)).toMatchObject([{ kind: 'task', state: 'success' }]);
    reconcile(here.world);
    expect(here.waiting()).toEqual([]);
    expect(existsSync(inboxMark(here.requester.key, here.home.paths))).toBe(false);
    const prompt = readFileSync(turnFiles(here.home.paths, runId, 1).prompt, 'utf8').trimStart();
    expect(prompt).toStartWith('You are the main agent.\n\n');
    expect(prompt).toEndWith('\n\n[Current Message]\nquick');
    expect(prompt).not.toContain('[Subagent Task]');
    // Tried again it is a sub-agent, since the part is there.
    const retried = accepted(retryRun(runId, here.requester, here.world));
    expect(retried.runId).not.toBe(runId);
    await here.ended(retried.runId);
    expect(here.waiting()).toHaveLength(1);
  });

  test('of a question is given the task alone, and a limit that ends it is an error', async () => {
    await using here = runsHome();
    const ask = (name: string, request: Partial<SpawnRequest>) =>
      here.spawn({ task: 'say [[answer yes]]', profile: 'ask', part: part(name), ...request }).runId;
    const runId = ask('memory.1', {});
    expect(await here.ended(runId)).toMatchObject([{ state: 'success', result: 'yes' }]);
    const prompt = readFileSync(turnFiles(here.home.paths, runId, 1).prompt, 'utf8').trimStart();
    expect(prompt).toBe('say [[answer yes]]');
    const limited = ask('memory.2', { task: '[[calls 9 10]] [[hang]]', limits: { iterations: 1 } });
    expect(await here.ended(limited)).toMatchObject([{ state: 'error', stop: { reason: 'limit' } }]);
  });

  test('that never came to have a session begins one with all that it was told', async () => {
    await using here = await talking();
    const { runId } = here.spawn({ task: 'never begun', part: part('2') });
    const name: TurnName = { runId, turn: 1 };
    expect(dropTurns([name], here.requester, 'the user', here.world)).toMatchObject({ dropped: [name] });
    expect(sendToRun(runId, 'but this', here.requester, here.world)).toMatchObject({ turn: 2 });
    here.go();
    expect(await here.ended(runId)).toMatchObject([{ state: 'stopped' }, { state: 'success' }]);
    const prompt = readFileSync(turnFiles(here.home.paths, runId, 2).prompt, 'utf8');
    expect(prompt).toEndWith('[Current Message]\nbut this');
    expect(sendToRun(runId, '[[where]]', here.requester, here.world)).toMatchObject({ turn: 3 });
    expect((await here.ended(runId))[2]).toMatchObject({ state: 'success' });
  });
});

test('a part whose model is refused begins its session anew, with the whole prompt', async () => {
  await using here = runsHome();
  const task = '[[only-default]] [[answer done]]';
  const { runId } = here.spawn({
    task,
    model: 'haiku',
    part: part('1'),
    instructions: 'You are the main agent.',
  });
  expect(await here.ended(runId)).toMatchObject([{ state: 'success', result: 'done' }]);
  const prompt = readFileSync(turnFiles(here.home.paths, runId, 1).prompt, 'utf8').trimStart();
  expect(prompt).toBe(`You are the main agent.\n\n[Current Message]\n${task}`);
});

describe('a message', () => {
  test('that goes ahead stops what is at work, and the others wait for it', async () => {
    await using here = await talking();
    here.send('first');
    here.send('second');
    expect(here.send('[[answer steered]]', { place: 'ahead' })).toMatchObject({ turn: 4 });
    expect(await here.order()).toEqual(['1 stopped', '4 success', '2 success', '3 success']);
    expect(here.turns(here.runId)[3]).toMatchObject({ result: 'steered', ahead: true });
    expect(here.turns(here.runId)[0]?.stop).toMatchObject({ reason: 'requested', by: 'a newer message' });
  });

  test('that goes alone stops also what waits', async () => {
    await using here = await talking();
    here.send('first');
    expect(here.send('alone', { place: 'alone' })).toMatchObject({ turn: 3 });
    expect(await here.order()).toEqual(['1 stopped', '3 success']);
    expect(here.turns(here.runId)[1]).toMatchObject({ state: 'stopped', startedAtMs: null });
  });

  test('that is joined is part of the newest that waits, of its own session and permissions only', async () => {
    await using here = await talking();
    const joined = { place: 'joined' } as const;
    expect(here.send('one', joined)).toMatchObject({ turn: 2 });
    expect(here.send('two', joined)).toMatchObject({ turn: 2 });
    const agent = { ...here.requester, client: 'claude', session: 's-1' } as const;
    expect(sendToRun(here.runId, 'of an agent', agent, here.world, joined)).toMatchObject({ turn: 3 });
    here.go();
    expect(await here.order()).toEqual(['1 success', '2 success', '3 success']);
    expect(here.turns(here.runId)[1]?.message).toBe('one\n\n---\n\ntwo');
  });

  test('of a name is one turn, whoever asks for it at once', async () => {
    await using here = await talking();
    const asked = [1, 2, 3].map(() => steer(here, [here.runId, 'try again', 'attempt.2']));
    const answers = await Promise.all(asked);
    expect(answers.map(({ turn }) => turn)).toEqual([2, 2, 2]);
    expect(answers.filter(({ deduplicated }) => deduplicated === true)).toHaveLength(2);
    expect(await here.order()).toEqual(['1 stopped', '2 success']);
  });

  test('of each of two processes that steer at once is answered, one after the other', async () => {
    await using here = await talking();
    here.send('waits');
    const answers = await Promise.all(['left', 'right'].map((word) => steer(here, [here.runId, word])));
    expect(new Set(answers.map(({ turn }) => turn))).toEqual(new Set([3, 4]));
    const order = await here.order();
    expect(order.filter((words) => !words.startsWith('3 '))).toEqual(['1 stopped', '4 success', '2 success']);
    // The first may have been at work already, or about to be, when the second came.
    const first = here.turns(here.runId)[2];
    expect(first?.state === 'success' || first?.stop?.by === NEWER).toBe(true);
    if (first?.startedAtMs != null) expect(order[1]).toStartWith('3 ');
  });

  test('stops nothing when its process is killed before it is accepted', async () => {
    await using here = await talking();
    expect(await steer(here, [here.runId, 'lost'], 'within-send')).toBeUndefined();
    expect(here.turns(here.runId)).toMatchObject([{ state: 'running', stop: null }]);
    here.go();
    expect(await here.order()).toEqual(['1 success']);
  });

  test('goes ahead although its process was killed as soon as it was accepted', async () => {
    await using here = await talking();
    here.send('waits');
    expect(await steer(here, [here.runId, 'steered'], 'after-send')).toBeUndefined();
    expect(await here.order()).toEqual(['1 stopped', '3 success', '2 success']);
  });

  test('goes ahead also where the supervisor of what is at work is gone', async () => {
    await using here = await talking();
    here.send('waits');
    process.kill(here.turns(here.runId)[0]?.owner?.pid ?? 0, 'SIGKILL');
    expect(await steer(here, [here.runId, 'steered'], 'after-send')).toBeUndefined();
    later(here);
    expect(await here.order()).toEqual(['1 stopped', '3 success', '2 success']);
  });
});

describe('the sessions of a conversation', () => {
  test('are at work one after another, and a message to one goes ahead of what another does', async () => {
    await using here = await talking();
    const next = here.spawn({ task: 'in a new session', part: part('2') });
    const memory = here.spawn({ task: 'quick', profile: 'ask', part: part('memory.1') });
    const agent = here.spawn({ task: 'quick' });
    // Neither what is remembered nor a sub-agent waits for the session.
    await Promise.all([memory, agent].map(({ runId }) => here.ended(runId)));
    expect(here.turns(next.runId)).toMatchObject([{ state: 'queued' }]);
    sendToRun(next.runId, 'now', here.requester, here.world, { place: 'ahead' });
    expect((await here.ended(here.runId))[0]).toMatchObject({ state: 'stopped' });
    await here.ended(next.runId);
    // What went ahead has begun the session, and the task goes on in it.
    const prompts = [2, 1].map((turn) =>
      readFileSync(turnFiles(here.home.paths, next.runId, turn).prompt, 'utf8'),
    );
    expect(prompts.map((prompt) => prompt.trim())).toEqual(['[Current Message]\nnow', 'in a new session']);
    const runs = withRuns(here.home.paths, (db) => partRuns({ kind: 'conversation', id: ID }, db));
    expect(runs.map(({ run }) => run.part.name)).toEqual(['1', '2', 'memory.1']);
    expect(runs[1]?.turns.map(({ number, state }) => `${number} ${state}`)).toEqual([
      '1 success',
      '2 success',
    ]);
  });

  test('wait for an orchestration that somebody carries on, and start when that process is gone', async () => {
    await using here = runsHome();
    const child = Bun.spawn(['sleep', '1000'], { stdio: ['ignore', 'ignore', 'ignore'] });
    own(here, identityNow(child.pid));
    const waiting = here.spawn({ task: 'quick', part: part('1') });
    const work = here.spawn({ task: 'quick', part: { kind: 'orchestration', id: 'o1', name: 'plan' } });
    const agent = here.spawn({ task: 'quick' });
    await Promise.all([work, agent].map(({ runId }) => here.ended(runId)));
    later(here);
    expect(here.turns(waiting.runId)).toMatchObject([{ state: 'queued' }]);
    child.kill('SIGKILL');
    await child.exited;
    reconcile(here.world);
    expect(await here.ended(waiting.runId)).toMatchObject([{ state: 'success' }]);
  });
});

test('a conversation waits for an orchestration in a container as long as that gives a sign of life', async () => {
  await using here = runsHome();
  const [boot = ''] = identityNow(process.pid).boot.split('/');
  own(here, { pid: 7, start: '70', boot: `${boot}/pid:[1]` });
  const gate = `${here.home.path}/gate`;
  const plan = { kind: 'orchestration', id: 'o1', name: 'plan' } as const;
  const work = here.spawn({ task: `[[until ${gate}]]`, part: plan });
  const { runId } = here.spawn({ task: 'quick', part: part('1') });
  later(here);
  expect(here.turns(runId)).toMatchObject([{ state: 'queued' }]);
  writeFileSync(gate, '');
  await here.ended(work.runId);
  reconcile(here.world);
  expect(here.turns(runId)).toMatchObject([{ state: 'queued' }]);
  reconcile({ ...here.world, now: () => new Date(Date.now() + 700_000) });
  expect(await here.ended(runId)).toMatchObject([{ state: 'success' }]);
});

test('stopRuns() of a turn stops it alone, and what waits behind it comes next', async () => {
  await using here = await talking();
  here.send('next');
  const target = { kind: 'turn', runId: here.runId, turn: 1 } as const;
  const answer = await stopRuns(target, here.requester, 'the user', here.world);
  expect(answer).toMatchObject({
    status: 'done',
    stopped: [{ runId: here.runId, work: true }],
    survivors: [],
  });
  expect(await here.order()).toEqual(['1 stopped', '2 success']);
});

test('dropTurns() stops what waits, and nothing that has begun or belongs to others', async () => {
  await using here = await talking();
  here.send('dropped');
  here.send('kept');
  const names = [1, 2].map((turn) => ({ runId: here.runId, turn }));
  const other = { ...here.requester, key: 'agent:main:other-1' };
  expect(dropTurns(names, other, 'the user', here.world).status).toBe('forbidden');
  expect(dropTurns(names, here.requester, 'the user', here.world)).toEqual({
    ...{ status: 'done', dropped: [{ runId: here.runId, turn: 2 }] },
  });
  here.go();
  expect(await here.order()).toEqual(['1 success', '3 success']);
  expect(here.turns(here.runId).every(({ state }) => isTerminal(state))).toBe(true);
});

test('stopRuns() of all that a project asked for stops parts too', async () => {
  await using here = await talking();
  here.send('waits');
  const answer = await stopRuns({ kind: 'project' }, here.requester, 'the user', here.world);
  expect(answer).toMatchObject({ stopped: [{ runId: here.runId, work: true, waitingMessages: 1 }] });
});
