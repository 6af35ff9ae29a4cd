import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { changeTurn } from '../../../src/runs/store/turns.ts';
import {
  currentBoot,
  identityOf,
  isAlive,
  isSameProcess,
  type ProcessIdentity,
} from '../../../src/system/process-identity.ts';
import { onlyTurn, outputOf, type SupervisorHome, supervisorHome } from './supervisor-home.ts';

/** Turns that are ended from outside: by a stop, by a limit, and never a process that is somebody else's. */

setDefaultTimeout(60_000);
const RAW = { announce: { mode: 'raw' } };

const hasSaid = (sup: SupervisorHome, turn: Turn) => outputOf(sup, turn).includes('hanging');

describe('a stop', () => {
  const clients: readonly [string, string, number][] = [
    ['that works', '[[hang]]', 1],
    ['that ignores every request to end', '[[ignore-term]] [[hang]]', 1],
    ['that has started another program', '[[fork]] [[hang]]', 2],
    ['that has started one in a session of its own', '[[setsid]] [[hang]]', 2],
    ['that has done all of this', '[[ignore-term]] [[fork]] [[setsid]] [[fork]] [[hang]]', 4],
  ];
  for (const [what, task, count] of clients)
    test(`leaves no process of a client ${what}, and keeps what it had said`, async () => {
      await using sup = supervisorHome(RAW);
      const turn = sup.accept(task);
      const supervisor = sup.supervise(turn);
      await sup.until(
        'its client is ready',
        () => hasSaid(sup, turn) && sup.processes(turn.runId).length === count,
      );
      sup.stop(turn.runId);
      await supervisor.exited;
      const story = sup.story(turn.runId);
      const stop = { reason: 'requested' } as const;
      expect(onlyTurn(story)).toMatchObject({ state: 'stopped', result: 'hanging', stop });
      expect(sup.processes(story.run.id)).toEqual([]);
      // Who stops a run needs no word of it.
      expect(story.outbox).toEqual([]);
    });

  test('before the client is started prevents that', async () => {
    await using sup = supervisorHome(RAW);
    const turn = sup.accept(`[[note ${sup.home.path}/starts]]`);
    sup.stop(turn.runId);
    await sup.supervise(turn).exited;
    expect(sup.row(turn)).toMatchObject({ state: 'stopped', launchedAtMs: null, result: null });
    expect(sup.starts()).toEqual([]);
  });

  test('by nobody but the supervisor itself, told to end, is announced', async () => {
    await using sup = supervisorHome(RAW);
    const turn = sup.accept('[[hang]]');
    const supervisor = sup.supervise(turn);
    await sup.until('the client works', () => hasSaid(sup, turn));
    supervisor.kill('SIGTERM');
    await supervisor.exited;
    const story = sup.story(turn.runId);
    expect(onlyTurn(story)).toMatchObject({ state: 'stopped', stop: { reason: 'shutdown' } });
    expect(story.outbox).toMatchObject([{ status: 'error', result: 'hanging' }]);
    expect(sup.processes(turn.runId)).toEqual([]);
  });

  test('during the announce step ends that, and the raw words are told: the work was done before', async () => {
    await using sup = supervisorHome();
    const turn = sup.accept('[[answer raw]] [[announce hang]]');
    const supervisor = sup.supervise(turn);
    await sup.until('it is asked for words', () => sup.story(turn.runId).turns[1]?.state === 'running');
    sup.stop(turn.runId);
    await supervisor.exited;
    const story = sup.story(turn.runId);
    expect(story.turns).toMatchObject([{ state: 'success' }, { kind: 'announce', state: 'stopped' }]);
    expect(story.outbox).toMatchObject([{ result: 'raw', state: 'pending', status: 'success' }]);
    expect(Number(story.outbox[0]?.ready_at)).toBeLessThanOrEqual(Date.now());
  });

  test('of what a client left behind is not needed: it is ended with it', async () => {
    await using sup = supervisorHome(RAW);
    const notes = `${sup.home.path}/sleepers`;
    const story = await sup.run(`[[fork ${notes}]] [[setsid ${notes}]] [[messages 1]]`);
    expect(onlyTurn(story).state).toBe('success');
    const pids = readFileSync(notes, 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(2);
    expect(pids.filter((pid) => identityOf(pid) !== undefined)).toEqual([]);
  });
});

describe('a program that a client leaves behind', () => {
  test('and that writes to its output without end keeps the turn from nothing', async () => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run('[[flood]]');
    expect(onlyTurn(story)).toMatchObject({ state: 'success', result: 'the work is done' });
    expect(sup.processes(story.run.id)).toEqual([]);
  });

  test('in a session of its own and with an empty environment, is found by its output and ended', async () => {
    await using sup = supervisorHome(RAW);
    const note = `${sup.home.path}/escaped`;
    const story = await sup.run(`[[escape ${note}]] [[until ${note}]]`);
    const pid = Number(readFileSync(note, 'utf8'));
    const isThere = identityOf(pid) !== undefined;
    if (isThere) process.kill(pid, 'SIGKILL');
    expect({ pid, isThere }).toEqual({ pid, isThere: false });
    expect(onlyTurn(story)).toMatchObject({ state: 'success', notes: [] });
  });
});

describe('a limit', () => {
  test('of time counts from the start of the client, and keeps what it had said', async () => {
    await using sup = supervisorHome(RAW);
    const turn = sup.accept('[[slow 60000]]', { runTimeoutMs: 1000, createdAtMs: Date.now() - 5000 });
    await sup.supervise(turn).exited;
    const ended = sup.row(turn);
    const stop = { reason: 'timeout', by: 'timed out after 1 s' } as const;
    expect(ended).toMatchObject({ state: 'timeout', stop });
    expect(ended.result).toMatch(/^piece \d+$/);
    const ranMs = (ended.stop?.atMs ?? 0) - (ended.startedAtMs ?? 0);
    expect(ranMs).toBeGreaterThanOrEqual(1000);
    expect(ranMs).toBeLessThan(10_000);
    expect(ended.deadlineAtMs).toBe((ended.startedAtMs ?? 0) + 1000);
    expect(sup.story(turn.runId).outbox).toMatchObject([{ status: 'timeout' }]);
  });

  test('of silence counts from the last output', async () => {
    const agents = { defaults: { subagents: { idleTimeoutSeconds: 1 } } };
    await using sup = supervisorHome({ ...RAW, agents });
    const ended = onlyTurn(await sup.run('[[slow 2000]] [[hang]]'));
    expect(ended).toMatchObject({ state: 'timeout', result: 'hanging', stop: { reason: 'idle' } });
  });

  test('of tokens ends the turn at the message that exceeds it, in an error that says so', async () => {
    await using sup = supervisorHome({ ...RAW, budget: { run: { tokens: 500, usd: null } } });
    const story = await sup.run('[[slow 60000]]');
    const turn = onlyTurn(story);
    expect(turn).toMatchObject({ state: 'error', stop: { reason: 'budget' } });
    expect(turn.stop?.by).toContain('budget exceeded: ');
    expect(turn.usage.inputTokens).toBeLessThan(20_000);
    expect(String(story.outbox[0]?.notes)).toContain('budget exceeded: ');
    expect(story.events.map(({ detail }) => detail).join()).toContain('near the budget');
  });

  test('of all runs of a requester counts what the others have taken', async () => {
    await using sup = supervisorHome({ ...RAW, budget: { requester: { tokens: 1000, usd: null } } });
    expect(onlyTurn(await sup.run('[[messages 6]]')).state).toBe('success');
    const second = onlyTurn(await sup.run('[[messages 1]] [[slow 60000]]'));
    expect(second).toMatchObject({ state: 'error', stop: { reason: 'budget' } });
  });
});

describe('nobody is signalled', () => {
  /** A process that is none of ours, in a group of its own. */
  function bystander() {
    return Bun.spawn(['setsid', 'sleep', '100'], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
  }

  /** A turn whose client was launched by a supervisor that is gone. */
  function launched(sup: SupervisorHome, process: ProcessIdentity) {
    const turn = sup.accept('do it');
    const [launchedAtMs, owner] = [Date.now(), { ...process, pid: 2 ** 22 + 1 }];
    const changes = { state: 'running', launchedAtMs, startedAtMs: launchedAtMs, owner, process } as const;
    withRuns(sup.home.paths, (db) => changeTurn(turn, changes, db));
    sup.home.put(`.self-generation/runs/${turn.runId}/turn-1.jsonl`, '');
    return turn;
  }

  test('for a process id that belongs to another process by now', async () => {
    await using sup = supervisorHome(RAW);
    const other = bystander();
    const turn = launched(sup, { pid: other.pid, start: '1', boot: currentBoot() });
    sup.stop(turn.runId);
    await sup.supervise(turn).exited;
    expect(sup.row(turn).state).toBe('stopped');
    expect(isAlive(other.pid)).toBe(true);
    expect(other.exitCode).toBeNull();
    other.kill();
  });

  test('after the system was started anew, even if a process with the same id and start is there', async () => {
    await using sup = supervisorHome(RAW);
    const other = bystander();
    const identity = identityOf(other.pid);
    if (identity === undefined) throw new Error('It has not started');
    const turn = launched(sup, { ...identity, boot: '00000000-0000-0000-0000-000000000000' });
    await sup.supervise(turn).exited;
    const story = sup.story(turn.runId);
    expect(onlyTurn(story)).toMatchObject({ state: 'lost', exit: null });
    expect(onlyTurn(story).error).toContain('started anew');
    expect(story.outbox).toMatchObject([{ status: 'unknown', result: '(not available)' }]);
    expect(isSameProcess(identity)).toBe(true);
    other.kill();
  });
});
