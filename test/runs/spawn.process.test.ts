import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Sqlite } from '../../src/database/sqlite.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { sendToRun } from '../../src/runs/send.ts';
import { agentsFor, retryRun, seenByGit, spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { changeRun, getRun, listRuns } from '../../src/runs/store/runs.ts';
import { activeTurns, endTurn, getTurn } from '../../src/runs/store/turns.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { temporaryHome } from '../support/home.ts';
import { madeEnding } from '../support/made-run.ts';
import { accepted, runsHome } from './runs-home.ts';
import { tell } from './told.ts';
import { commitNothing } from './workspace/tree-place.ts';

/** Spawning up to the answer: nothing is started, because every slot is taken or the program is none. */

/** One slot, held by a run whose supervisor never comes. */
function bench(settings: object = {}) {
  const runs = runsHome({ agents: { defaults: { subagents: { maxConcurrent: 1, ...settings } } } });
  const spawn = (request: Partial<SpawnRequest> = {}, requester: Partial<Requester> = {}) =>
    spawnRun({ task: 'quick', ...request }, { ...runs.requester, ...requester }, runs.idle);
  const read = <T>(work: (db: Sqlite) => T) => withRuns(runs.home.paths, work);
  return { ...runs, spawn, read };
}

describe('spawnRun()', () => {
  test('answers with a run that is on disk, and its place in the queue', async () => {
    await using made = bench();
    const first = made.spawn();
    const second = accepted(
      made.spawn({ task: 'another', label: 'b', cleanup: 'delete', runTimeoutSeconds: 9 }),
    );
    expect(first).toMatchObject({ status: 'accepted', number: 1 });
    expect(first).not.toHaveProperty('queuePosition');
    expect(second).toMatchObject({ status: 'accepted', number: 2, queuePosition: 1 });
    expect(made.read((db) => getRun(second.runId, db))).toMatchObject({
      run: { label: 'b', cleanup: 'delete', runTimeoutMs: 9000, cwd: made.project },
      turn: { number: 1, kind: 'task', state: 'queued', message: 'another' },
    });
  });

  test('gives the same run for the same call again, also under a name', async () => {
    await using made = bench();
    const { runId } = accepted(made.spawn());
    expect(made.spawn()).toMatchObject({ runId, deduplicated: true });
    const named = accepted(made.spawn({ task: 'a', idempotencyKey: 'one' }));
    const again = made.spawn({ task: 'b', idempotencyKey: 'one' });
    expect(again).toMatchObject({ runId: named.runId, deduplicated: true });
    expect(made.spawn({}, { key: 'agent:main:other-1' })).not.toHaveProperty('deduplicated');
    expect(made.read(activeTurns)).toHaveLength(3);
  });

  test('gives another session that makes the same call a run of its own, and says so where the name is the same', async () => {
    await using made = bench();
    const [a, b] = [{ session: 'a' }, { session: 'b' }];
    expect([made.spawn({}, a), made.spawn({}, b)]).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(made.spawn({}, a)).toMatchObject({ number: 1, deduplicated: true });
    const named = { task: 'x', idempotencyKey: 'one', worktree: 'always' } as const;
    expect(made.spawn(named, a)).not.toHaveProperty('warning');
    expect(made.spawn(named, a)).not.toHaveProperty('warning');
    const warning = expect.stringContaining('another session has started this run and is told its result');
    expect(made.spawn(named, b)).toMatchObject({ number: 3, deduplicated: true, warning });
  });

  test('refuses what is over the queue, and starts nothing of it', async () => {
    await using made = bench({ maxQueued: 2 });
    for (const task of ['runs', 'waits', 'waits too']) expect(made.spawn({ task }).status).toBe('accepted');
    const error = '2 turns wait already, the most is 2';
    expect(made.spawn({ task: 'too many' })).toEqual({ status: 'error', error, limit: true });
    expect(made.read(activeTurns)).toHaveLength(3);
  });

  test('warns from 25 results on that nobody has taken in, and refuses from 50 on, with their ids', async () => {
    await using made = bench();
    const tellMany = (count: number) => {
      for (let index = 0; index < count; index++) ids.push(tell(made.requester, made.home.paths));
    };
    const ids: string[] = [];
    tellMany(24);
    expect(made.spawn({ task: 'at 24', cwd: made.home.path })).not.toHaveProperty('warning');
    tellMany(1);
    const untaken = expect.stringContaining('25 results have not been taken in');
    expect(made.spawn({ task: 'at 25' })).toMatchObject({ status: 'accepted', warning: untaken });
    tellMany(24);
    expect(made.spawn({ task: 'at 49' }).status).toBe('accepted');
    tellMany(1);
    const refused = made.spawn({ task: 'at 50' });
    expect(refused).toMatchObject({ status: 'error', limit: true });
    expect(ids.filter((id) => !JSON.stringify(refused).includes(id))).toEqual([]);
  });

  test('warns when another run that may write works in the same directory, and no run that only looks', async () => {
    await using made = bench();
    const spawn = (task: string, more: Partial<SpawnRequest> = {}) =>
      made.spawn({ task, permissions: ['edit'], ...more });
    expect(spawn('looks', { permissions: [] })).not.toHaveProperty('warning');
    expect(spawn('one')).not.toHaveProperty('warning');
    const warning = 'other sub-agents that may write work in the same directory: #2';
    expect(spawn('two')).toMatchObject({ warning });
    expect(spawn('three', { cwd: made.home.path })).not.toHaveProperty('warning');
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
      await using made = bench(contextFiles === undefined ? {} : { contextFiles });
      for (const file of files) writeFileSync(`${made.project}/${file}`, 'rules');
      const answer = made.spawn();
      if (warned === null) return expect(answer).not.toHaveProperty('warning');
      const names = JSON.stringify(['AGENTS.md', 'TOOLS.md', warned]);
      expect(answer).toMatchObject({
        warning: `the project has ${warned} and no AGENTS.md, and sub-agents are not given it: "self-generation config set agents.defaults.subagents.contextFiles '${names}'" has them given it`,
      });
    });
  }

  test('warns of what is not committed when the run has a worktree of its own, and only then', async () => {
    await using made = bench();
    const { project } = made;
    await commitNothing(project);
    for (const name of ['a', 'b']) writeFileSync(`${project}/${name}`, 'new');
    const seen = async (request: Partial<SpawnRequest>) =>
      made.spawn(await seenByGit({ task: 'quick', ...request }, made.requester, made.idle));
    expect(await seen({ worktree: 'always' })).toMatchObject({
      warning: '2 files are not committed, and so not in its worktree: commit first what it needs',
    });
    expect(await seen({ worktree: 'never', task: 'another' })).not.toMatchObject({
      warning: expect.stringContaining('not committed'),
    });
    Bun.spawnSync(['rm', 'a', 'b'], { cwd: project });
    expect(await seen({ worktree: 'always', task: 'third' })).not.toHaveProperty('warning');
  });

  test('refuses a worktree of its own where none can be made, with the reason, and takes "auto"', async () => {
    await using made = bench();
    const seen = async (worktree: 'always' | 'auto') =>
      made.spawn(await seenByGit({ task: 'quick', worktree }, made.requester, made.idle));
    for (const [prepare, reason] of [
      [
        [],
        /^Cannot make a worktree: "[^"]+" is in no git repository that can be used: .*not a git repository.*/,
      ],
      [['git', 'init', '--quiet'], /^Cannot make a worktree: "[^"]+" has no commit yet/],
    ] as const) {
      if (prepare.length > 0) Bun.spawnSync([...prepare], { cwd: made.project });
      const { error } = (await seen('always')) as { error: string };
      expect(error).toMatch(reason);
      expect(error).toEndWith('; mend that, or choose worktree "auto" or "never"');
    }
    expect(existsSync(made.home.paths.runsDatabase)).toBe(false);
    expect((await seen('auto')).status).toBe('accepted');
  });

  test('keeps the warnings with the run', async () => {
    await using made = bench();
    const { runId, warning } = accepted(made.spawn({ model: '--x' }));
    const words = 'model "--x" is not used: a model has no such name; the default is used instead';
    expect(warning).toBe(words);
    expect(made.read((db) => getRun(runId, db)?.run.warning)).toBe(words);
  });

  test('refuses a directory, and a client that is not there, before anything is written', async () => {
    await using made = bench();
    const file = `${made.home.path}/file`;
    writeFileSync(file, '');
    const error = `cwd is no directory: "${file}"; make it, or start from another one`;
    expect(made.spawn({ cwd: file })).toEqual({ status: 'error', error });
    expect(made.spawn({ client: 'opencode' })).toMatchObject({ status: 'error' });
    expect(existsSync(made.home.paths.runsDatabase)).toBe(false);
  });
});

test('a run that had a working tree is tried again from the same directory of its repository', async () => {
  await using made = bench();
  const nested = `${made.project}/packages/app`;
  mkdirSync(nested, { recursive: true });
  const worktree = { path: `${made.home.path}/tree`, branch: 'b', repository: made.project };
  for (const [cwd, expected] of [
    [`${worktree.path}/packages/app`, nested],
    [worktree.path, made.project],
    ['/elsewhere', made.project],
  ] as const) {
    tell(made.requester, made.home.paths);
    const runId = made.read((db) => listRuns({ limit: 1 }, db))[0]?.run.id ?? '';
    made.read((db) => changeRun(runId, { worktree, cwd }, db));
    const again = accepted(retryRun(runId, made.requester, made.idle));
    expect(made.read((db) => getRun(again.runId, db)?.run.cwd)).toBe(expected);
  }
});

test('agentsFor() lists what the requester may spawn, by the settings', () => {
  using home = temporaryHome();
  const world = { paths: home.paths } as RunsWorld;
  const own = { id: 'main', configured: true };
  expect(agentsFor('main', world)).toEqual({ requester: 'main', allowAny: false, agents: [own] });
  const writer = { id: 'writer', name: 'Writer' };
  home.writeConfig({ agents: { list: [{ id: 'main', subagents: { allowAgents: ['*'] } }, writer] } });
  const agents = [own, { ...writer, configured: true }];
  expect(agentsFor('main', world)).toEqual({ requester: 'main', allowAny: true, agents });
  expect(agentsFor('writer', world).agents).toEqual([{ ...writer, configured: true }]);
});

/** A run that has ended and could go on, and all that would start a client. */
function going() {
  const made = bench({ maxConcurrent: 8 });
  const { runId } = accepted(made.spawn());
  made.read((db) => {
    const turn = getTurn(runId, 1, db);
    if (turn !== undefined) endTurn(turn, madeEnding(), null, db);
    changeRun(runId, { sessionId: 's-1' }, db);
  });
  const actions = {
    spawn: () => made.spawn({ task: 'another' }),
    retry: () => retryRun(runId, made.requester, made.idle),
    send: () => sendToRun(runId, 'go on', made.requester, made.idle),
  };
  return { ...made, actions };
}

describe('what would start a client', () => {
  const bad: [what: string, text: string, names: string][] = [
    ['no JSON', '{"budget": {"day": {"usd": 5}}', 'no object of JSON or JSON5'],
    ['an empty file', '', 'no object of JSON or JSON5'],
    ['a list', '[]', 'no object of JSON or JSON5'],
    ['a word for a list of denied tools', '{"tools":{"subagents":{"tools":{"deny":"exec"}}}}', 'tools.deny'],
    [
      'a denied tool without a name',
      '{"tools":{"subagents":{"tools":{"deny":["exec",""]}}}}',
      'tools.subagents.tools.deny',
    ],
    [
      'a misspelt list of tools',
      '{"tools":{"subagents":{"tools":{"denied":["exec"]}}}}',
      'tools.subagents.tools.denied',
    ],
    ['no section of tools', '{"tools":["exec"]}', 'tools: expected an object'],
    [
      'a bad list of tools of one agent',
      '{"agents":{"list":[{"id":"main","subagents":{"tools":{"deny":[null]}}}]}}',
      'agents.list[0].subagents.tools.deny',
    ],
    ['no section of agents', '{"agents":[{"id":"main"}]}', 'agents: expected an object'],
    ['a budget in words', '{"budget":{"day":{"usd":"5"}}}', 'budget.day.usd'],
    ['a budget of no scope', '{"budget":5}', 'budget: expected an object'],
  ];
  for (const [what, text, names] of bad)
    test(`is refused with ${what} in the settings, which is named`, async () => {
      await using made = going();
      made.home.put('.self-generation/config.json', text);
      for (const act of Object.values(made.actions)) {
        const answer = act();
        expect(answer.status).toBe('error');
        const words = 'error' in answer ? answer.error : '';
        expect(words).toContain(names);
        expect(words).toMatch(/^.*self-generation doctor.*$/); // In one line.
      }
      expect(made.read(activeTurns)).toEqual([]);
    });

  test('is started with a warning when something else is wrong in the settings', async () => {
    await using made = going();
    made.home.writeConfig({
      agents: { defaults: { subagents: { maxQueued: 'many' } } },
      announce: { mode: 'loud' },
      language: 'fr',
    });
    const answer = accepted(made.actions.spawn() as never);
    expect(answer.warning).toContain('agents.defaults.subagents.maxQueued');
    expect(answer.warning).toContain('announce.mode');
    expect(answer.warning).not.toContain('language');
    expect(made.actions.send().status).toBe('accepted');
  });

  test('is started without settings', async () => {
    await using made = going();
    rmSync(made.home.paths.config);
    for (const act of Object.values(made.actions)) expect(act().status).toBe('accepted');
  });
});
