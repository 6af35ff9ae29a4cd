import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Requester } from '../../src/runs/model/run.ts';
import { agentsFor, retryRun, seenByGit, spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { insertAnnouncement } from '../../src/runs/store/outbox.ts';
import { openRunsDb, withRuns } from '../../src/runs/store/rows.ts';
import { changeRun, getRun, listRuns } from '../../src/runs/store/runs.ts';
import { activeTurns } from '../../src/runs/store/turns.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { temporaryHome } from '../support/home.ts';
import { accepted, runsHome } from './runs-home.ts';
import { tell } from './told.ts';

/** Spawning up to the answer: nothing is started, because every slot is taken or the program is none. */

/** One slot, held by a run whose supervisor never comes. */
async function bench(settings: object = {}) {
  const runs = runsHome({
    announce: { mode: 'raw' },
    agents: { defaults: { subagents: { maxConcurrent: 1, ...settings } } },
  });
  const world: RunsWorld = { ...runs.world, executablePath: '/bin/true', isCompiled: true };
  const spawn = (request: Partial<SpawnRequest> = {}, requester: Partial<Requester> = {}) =>
    spawnRun({ task: 'quick', ...request }, { ...runs.requester, ...requester }, world);
  return { runs, world, spawn, [Symbol.asyncDispose]: () => runs[Symbol.asyncDispose]() };
}

describe('spawnRun()', () => {
  test('answers with a run that is on disk, and its place in the queue', async () => {
    await using made = await bench();
    const first = made.spawn();
    const second = made.spawn({ task: 'another', label: 'b', cleanup: 'delete', runTimeoutSeconds: 9 });
    expect(first).toMatchObject({ status: 'accepted', number: 1 });
    expect(first).not.toHaveProperty('queuePosition');
    expect(second).toMatchObject({ status: 'accepted', number: 2, queuePosition: 1 });
    const runId = 'runId' in second ? second.runId : '';
    const found = withRuns(made.runs.home.paths, (db) => getRun(runId, db));
    expect(found?.run).toMatchObject({
      label: 'b',
      cleanup: 'delete',
      runTimeoutMs: 9000,
      cwd: made.runs.project,
    });
    expect(found?.turn).toMatchObject({ number: 1, kind: 'task', state: 'queued', message: 'another' });
  });

  test('gives the same run for the same call again, also under a name', async () => {
    await using made = await bench();
    const first = made.spawn();
    expect(made.spawn()).toMatchObject({ runId: 'runId' in first ? first.runId : '', deduplicated: true });
    const named = made.spawn({ task: 'a', idempotencyKey: 'one' });
    expect(made.spawn({ task: 'b', idempotencyKey: 'one' })).toMatchObject({
      runId: 'runId' in named ? named.runId : '',
      deduplicated: true,
    });
    expect(made.spawn({}, { key: 'agent:main:other-1' })).not.toHaveProperty('deduplicated');
    expect(withRuns(made.runs.home.paths, activeTurns)).toHaveLength(3);
  });

  test('gives another session that makes the same call a run of its own, and says so where the name is the same', async () => {
    await using made = await bench();
    const [a, b] = [{ session: 'a' }, { session: 'b' }];
    expect([made.spawn({}, a), made.spawn({}, b)]).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(made.spawn({}, a)).toMatchObject({ number: 1, deduplicated: true });
    const named = { task: 'x', idempotencyKey: 'one', worktree: 'always' } as const;
    expect(made.spawn(named, a)).not.toHaveProperty('warning');
    expect(made.spawn(named, a)).not.toHaveProperty('warning');
    const words = 'another session has started this run and is told its result';
    expect(made.spawn(named, b)).toMatchObject({
      number: 3,
      deduplicated: true,
      warning: expect.stringContaining(words),
    });
  });

  test('refuses what is over the queue, and starts nothing of it', async () => {
    await using made = await bench({ maxQueued: 2 });
    for (const task of ['runs', 'waits', 'waits too']) expect(made.spawn({ task }).status).toBe('accepted');
    expect(made.spawn({ task: 'too many' })).toEqual({
      status: 'error',
      error: '2 turns wait already, the most is 2',
      limit: true,
    });
    expect(withRuns(made.runs.home.paths, activeTurns)).toHaveLength(3);
  });

  test('warns from 25 results on that nobody has taken in, and refuses from 50 on, with their ids', async () => {
    await using made = await bench();
    const first = made.spawn({ task: 'first', worktree: 'always' });
    const runId = 'runId' in first ? first.runId : '';
    const { paths } = made.runs.home;
    const tell = (count: number) => {
      const db = openRunsDb(paths);
      const turn = getRun(runId, db)?.turn;
      for (let index = 0; turn !== undefined && index < count; index++) {
        const waiting = Number(db.get('SELECT COUNT(*) AS n FROM outbox')?.n);
        const announcement = {
          id: `announcement-${waiting}`,
          status: 'success',
          result: 'done',
          notes: '- (none)',
          stats: 'stats',
          readyAtMs: 0,
        } as const;
        insertAnnouncement({ ...turn, number: waiting + 1 }, announcement, db);
      }
      db.close();
    };
    tell(24);
    expect(made.spawn({ task: 'at 24', cwd: made.runs.home.path })).not.toHaveProperty('warning');
    tell(1);
    const warned = made.spawn({ task: 'at 25' });
    expect(warned).toMatchObject({ status: 'accepted' });
    expect('warning' in warned ? warned.warning : '').toContain('25 results have not been taken in');
    tell(24);
    expect(made.spawn({ task: 'at 49' }).status).toBe('accepted');
    tell(1);
    const refused = made.spawn({ task: 'at 50' });
    expect(refused).toMatchObject({ status: 'error', limit: true });
    expect('error' in refused ? refused.error : '').toContain('announcement-0');
    expect('error' in refused ? refused.error : '').toContain('announcement-49');
  });

  test('warns when another run that may write works in the same directory, and no run that only looks', async () => {
    await using made = await bench();
    const spawn = (task: string, more: Partial<SpawnRequest> = {}) =>
      made.spawn({ task, permissions: ['edit'], ...more });
    expect(spawn('looks', { permissions: [] })).not.toHaveProperty('warning');
    expect(spawn('one')).not.toHaveProperty('warning');
    expect(spawn('two')).toMatchObject({
      warning: 'other sub-agents that may write work in the same directory: #2',
    });
    expect(spawn('three', { cwd: made.runs.home.path })).not.toHaveProperty('warning');
    expect(spawn('four', { worktree: 'always' })).not.toHaveProperty('warning');
    expect(spawn('looks too', { permissions: [] })).not.toHaveProperty('warning');
  });

  const rules: [files: string[], contextFiles: string[] | undefined, warned: string | null][] = [
    [['CLAUDE.md'], undefined, 'CLAUDE.md'],
    [['GEMINI.md', 'TOOLS.md'], undefined, 'GEMINI.md'],
    [['CLAUDE.md', 'GEMINI.md'], ['AGENTS.md', 'GEMINI.md'], null],
    [['CLAUDE.md', 'AGENTS.md'], undefined, null],
    [['CLAUDE.md'], ['TOOLS.md'], null],
    [['README.md'], undefined, null],
  ];
  for (const [files, contextFiles, warned] of rules) {
    const given = contextFiles === undefined ? 'the files as they are set' : contextFiles.join(', ');
    test(`${warned ? 'warns' : 'does not warn'} that rules are not given: of ${files.join(', ')} with ${given}`, async () => {
      await using made = await bench(contextFiles === undefined ? {} : { contextFiles });
      for (const file of files) writeFileSync(`${made.runs.project}/${file}`, 'rules');
      const answer = made.spawn();
      if (warned === null) return expect(answer).not.toHaveProperty('warning');
      const names = JSON.stringify(['AGENTS.md', 'TOOLS.md', warned]);
      expect(answer).toMatchObject({
        warning: `the project has ${warned} and no AGENTS.md, and sub-agents are not given it: "self-generation config set agents.defaults.subagents.contextFiles '${names}'" has them given it`,
      });
    });
  }

  test('warns of what is not committed when the run has a worktree of its own, and only then', async () => {
    await using made = await bench();
    const { project } = made.runs;
    Bun.spawnSync(['git', 'init', '--quiet'], { cwd: project });
    for (const name of ['a', 'b']) writeFileSync(`${project}/${name}`, 'new');
    const seen = async (request: Partial<SpawnRequest>) =>
      made.spawn(await seenByGit({ task: 'quick', ...request }, made.runs.requester, made.world));
    expect(await seen({ worktree: 'always' })).toMatchObject({
      warning: '2 files are not committed, and so not in its worktree: commit first what it needs',
    });
    expect(await seen({ worktree: 'never', task: 'another' })).not.toHaveProperty(
      'warning',
      expect.stringContaining('not committed'),
    );
    Bun.spawnSync(['rm', 'a', 'b'], { cwd: project });
    expect(await seen({ worktree: 'always', task: 'third' })).not.toHaveProperty('warning');
  });

  test('keeps the warnings with the run', async () => {
    await using made = await bench();
    const answer = made.spawn({ model: '--x' });
    const runId = 'runId' in answer ? answer.runId : '';
    const words = 'model "--x" is not used: a model has no such name; the default is used instead';
    expect(answer).toMatchObject({ warning: words });
    expect(withRuns(made.runs.home.paths, (db) => getRun(runId, db)?.run.warning)).toBe(words);
  });

  test('refuses a directory, and a client that is not there, before anything is written', async () => {
    await using made = await bench();
    const file = `${made.runs.home.path}/file`;
    writeFileSync(file, '');
    expect(made.spawn({ cwd: file })).toEqual({
      status: 'error',
      error: `cwd is no directory: "${file}"; make it, or start from another one`,
    });
    expect(made.spawn({ client: 'opencode' })).toMatchObject({ status: 'error' });
    expect(existsSync(made.runs.home.paths.runsDatabase)).toBe(false);
  });
});

/** Nothing is started: the program is none. */

test('a run that had a working tree is tried again from the same directory of its repository', async () => {
  await using here = runsHome();
  const { paths, path } = here.home;
  const world = { ...here.world, executablePath: '/bin/true', isCompiled: true };
  const nested = `${here.project}/packages/app`;
  mkdirSync(nested, { recursive: true });
  const tree = { path: `${path}/tree`, branch: 'b', repository: here.project };
  const places = [
    [`${tree.path}/packages/app`, nested],
    [tree.path, here.project],
    ['/elsewhere', here.project],
  ] as const;
  for (const [cwd, expected] of places) {
    tell(here.requester, paths);
    const [first] = withRuns(paths, (db) => listRuns({ limit: 1 }, db));
    const runId = first?.run.id ?? '';
    withRuns(paths, (db) => changeRun(runId, { worktree: tree, cwd }, db));
    const again = accepted(retryRun(runId, here.requester, world));
    expect(withRuns(paths, (db) => getRun(again.runId, db)?.run.cwd)).toBe(expected);
  }
});

test('agentsFor() lists what the requester may spawn, by the settings', () => {
  using home = temporaryHome();
  const world = { paths: home.paths } as RunsWorld;
  const own = { id: 'main', configured: true };
  expect(agentsFor('main', world)).toEqual({ requester: 'main', allowAny: false, agents: [own] });
  const writer = { id: 'writer', name: 'Writer' };
  home.writeConfig({ agents: { list: [{ id: 'main', subagents: { allowAgents: ['*'] } }, writer] } });
  expect(agentsFor('main', world)).toEqual({
    requester: 'main',
    allowAny: true,
    agents: [own, { ...writer, configured: true }],
  });
  expect(agentsFor('writer', world).agents).toEqual([{ ...writer, configured: true }]);
});
