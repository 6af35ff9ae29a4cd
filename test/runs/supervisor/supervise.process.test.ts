import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { temporaryHome } from '../../support/home.ts';
import { inNamespace, NO_NAMESPACES } from '../../support/namespace.ts';
import { notTested } from '../../support/program.ts';
import { onlyTurn, outputOf, type Story, supervisorHome } from './supervisor-home.ts';

/** How turns end, with a stand-in for the client: real processes, a real database. */

setDefaultTimeout(60_000);
const RAW = { announce: { mode: 'raw' } };

describe('a turn ends', () => {
  test('in success when the client says so and ends well; usage, session, model and exit are kept', async () => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run('[[messages 2]] [[answer all is well]]');
    expect(onlyTurn(story)).toMatchObject({
      state: 'success',
      result: 'all is well',
      error: null,
      exit: { code: 0, signal: null },
      usage: { inputTokens: 300, outputTokens: 60, costUsd: 0.03, costSource: 'client' },
    });
    expect(story.run.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(story.run.model.observed).toBe('fake-default');
    expect(story.outbox).toMatchObject([{ status: 'success', result: 'all is well', state: 'pending' }]);
    expect(story.log).toBe('');
    expect(sup.processes(story.run.id)).toEqual([]);
  });

  const overloaded = { error: 'the service is overloaded', result: 'half of it' };
  const killed = { exit: { code: null, signal: 'SIGKILL' } };
  const endings: [what: string, task: string, expected: object][] = [
    ['0 without a result', '[[messages 1]] [[no-result]]', { result: 'message 0', exit: { code: 0 } }],
    ['3 without a result', '[[no-result 3]]', { result: null, exit: { code: 3 } }],
    ['0 and an error result', '[[error-result]]', { ...overloaded, exit: { code: 0 } }],
    ['1 and an error result', '[[error-result 1]]', { ...overloaded, exit: { code: 1 } }],
    ['a signal of somebody', '[[messages 1]] [[die SIGKILL]]', killed],
    ['1 because its only model is refused', '[[no-model]]', { exit: { code: 1 } }],
  ];
  test.each(endings)('in an error when the client exits with %s', async (_, task, expected) => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run(task);
    expect(onlyTurn(story)).toMatchObject({ state: 'error', ...expected });
    expect(story.outbox).toMatchObject([{ status: 'error' }]);
    expect(sup.processes(story.run.id)).toEqual([]);
  });

  test('in an error that says why when the client cannot be started', async () => {
    await using sup = supervisorHome(RAW);
    const [missing, elsewhere] = await Promise.all([
      sup.run('do it', { client: 'opencode' }),
      sup.run('do it', { cwd: '/nowhere/at/all' }),
    ]);
    expect(onlyTurn(missing)).toMatchObject({ state: 'error', launchedAtMs: null, process: null });
    expect(onlyTurn(missing).error).toContain('there is no such program on the PATH');
    expect(onlyTurn(elsewhere).error).toContain('/nowhere/at/all');
    expect(missing.outbox).toHaveLength(1);
  });

  test('without anything run that only stands in the directory where it works', async () => {
    await using sup = supervisorHome(RAW);
    const mark = `${sup.home.path}/mark`;
    for (const name of ['claude', 'codex', 'bun'])
      chmodSync(sup.home.put(`app/bin/${name}`, `#!/bin/sh\necho ${name} >> "${mark}"\n`), 0o755);
    sup.env.PATH = `bin:./bin:${sup.env.PATH}`;
    const cwd = `${sup.home.path}/app`;
    const story = await sup.run('[[answer all is well]]', { cwd });
    const missing = await sup.run('do it', { cwd, client: 'codex' });
    expect(existsSync(mark)).toBe(false);
    expect(onlyTurn(story)).toMatchObject({ state: 'success', result: 'all is well' });
    const error = 'Cannot start "codex": there is no such program on the PATH';
    expect(onlyTurn(missing)).toMatchObject({ state: 'error', error });
  });

  test('in success by its result when the client says it and does not end', async () => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run('[[linger]]');
    const turn = onlyTurn(story);
    expect(turn).toMatchObject({ state: 'success', result: 'done, but here', stop: null });
    expect(turn.notes.join()).toContain('did not end after its result');
    expect((turn.endedAtMs ?? 0) - (turn.startedAtMs ?? 0)).toBeGreaterThanOrEqual(10_000);
    expect(sup.processes(story.run.id)).toEqual([]);
  });

  test('in success when the client has closed its output and ends later', async () => {
    await using sup = supervisorHome(RAW);
    const file = `${sup.home.path}/go`;
    const turn = sup.accept(`[[close-stdout ${file}]]`);
    const supervisor = sup.supervise(turn);
    await sup.until('the result is stored', () => sup.row(turn).usage.costUsd != null);
    expect(supervisor.exitCode).toBeNull();
    sup.home.put('go', '');
    await supervisor.exited;
    expect(sup.row(turn)).toMatchObject({ state: 'success', result: 'closed', exit: { code: 0 } });
  });
});

describe('the output', () => {
  test('is read whole: slow pieces, cut characters, line ends that are none, garbage, a line of 10 MB, 120 MB of lines', async () => {
    await using sup = supervisorHome(RAW);
    const task = '[[garbage]] [[line 10]] [[stream 120]] [[garbage]] [[slow 200]] [[split 끝]]';
    const result = '끝\u2028가나다\u2029\u0085😀';
    const ended = { state: 'success', result, usage: { inputTokens: 700 } } as const;
    expect(onlyTurn(await sup.run(task))).toMatchObject(ended);
  });

  test('leaves no secret in the database, whichever way the turn ends', async () => {
    await using sup = supervisorHome();
    const secret = `sk-ant-${'a1B2c3D4'.repeat(5)}`;
    const file = sup.home.put('secret', `the key is ${secret}`);
    const said = await sup.run(`[[answer-in ${file}]] [[slow 1200]]`);
    await sup.run(`[[answer-in ${file}]] [[stderr-in ${file}]] [[messages 1]] [[no-result 1]]`);
    expect(said.turns[0]?.result).toBe('the key is [REDACTED]');
    expect(said.turns).toHaveLength(2);
    expect(said.turns[1]?.message).toContain('the key is [REDACTED]');
    expect(outputOf(sup, said.turns[0] as Turn)).toContain(secret);
    const { runsDatabase } = sup.home.paths;
    const files = [runsDatabase, `${runsDatabase}-wal`].filter(existsSync);
    expect(files.filter((path) => readFileSync(path).includes(secret))).toEqual([]);
  });
});

describe('a disk that becomes full', () => {
  test('while the client works delays the end of the turn, and loses nothing of it', async () => {
    if (NO_NAMESPACES !== undefined) return void notTested('a full disk', NO_NAMESPACES);
    using home = temporaryHome();
    mkdirSync(`${home.path}/small`);
    const script = 'mount -t tmpfs -o size=4m,mode=0700 tmpfs "$1"; TMPDIR="$1" exec "$2" "$3" "$4"';
    const main = `${import.meta.dir}/full-disk.main.ts`;
    const words = ['full-disk', `${home.path}/small`, process.execPath, main, `${home.path}/sign`];
    const child = Bun.spawn(inNamespace(script, words), { stdio: ['ignore', 'pipe', 'inherit'] });
    const story = JSON.parse(await new Response(child.stdout).text()) as Story & { isAlive: boolean };
    expect(story.isAlive).toBe(true);
    expect(onlyTurn(story)).toMatchObject({ state: 'success', result: 'the work is done' });
    expect(story.outbox).toMatchObject([{ status: 'success' }]);
  });
});

describe('a price in the settings', () => {
  test('counts while the client works, also for one that does not say which model answers', async () => {
    const cost = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 };
    const providers = { acme: { models: [{ id: 'large', cost }] } };
    await using sup = supervisorHome({ ...RAW, models: { providers } });
    const part = { id: 'prt_1', reason: 'tool-calls', cost: 0, tokens: { input: 100_000, output: 0 } };
    const line = JSON.stringify({ type: 'step_finish', sessionID: 'ses_1', part });
    const script = `#!/bin/sh\ncat > /dev/null\necho '${line}'\nexec sleep 1000\n`;
    chmodSync(sup.home.put('bin/opencode', script), 0o755);
    sup.env.PATH = `${sup.home.path}/bin:${sup.env.PATH}`;
    const model = { requested: null, resolved: 'acme/large' };
    const turn = sup.accept('do it', { client: 'opencode', model });
    const supervisor = sup.supervise(turn);
    const usage = () => sup.row(turn).usage;
    await sup.until('its tokens are known', () => usage().inputTokens === 100_000);
    expect(usage()).toMatchObject({ model: 'acme/large', costUsd: 1 });
    sup.stop(turn.runId);
    await supervisor.exited;
  });
});

describe('a model that is refused', () => {
  const model = { requested: 'opus-99', resolved: 'opus-99' };

  test("is followed by the client's own, once, with a warning in the run and in the notes", async () => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run(`[[note ${sup.home.path}/starts]] [[only-default]]`, {
      model,
    });
    const ended = { state: 'success', result: 'the work is done', usage: { inputTokens: 100 } } as const;
    expect(onlyTurn(story)).toMatchObject(ended);
    expect(story.run.model).toEqual({ requested: 'opus-99', resolved: null, observed: 'fake-default' });
    expect(story.run.warning).toContain('"opus-99" was refused');
    expect(String(story.outbox[0]?.notes)).toContain('"opus-99" was refused');
    expect(sup.starts()).toEqual(['work opus-99', 'work fake-default']);
  });

  test('is warned of without the secrets in what the client says, also where the warning is cut', async () => {
    await using sup = supervisorHome(RAW);
    const resolved = `opus-${'x'.repeat(800)} sk-ant-${'a1B2c3D4'.repeat(30)}`;
    const { run } = await sup.run('[[only-default]]', { model: { requested: null, resolved } });
    expect(run.warning).not.toContain('a1B2c3D4');
    expect(run.warning).toContain('was refused');
  });

  test('is not followed by a third one, and not by any when none was asked for', async () => {
    await using sup = supervisorHome(RAW);
    const stories = await Promise.all([
      sup.run(`[[note ${sup.home.path}/first]] [[no-model]]`, { model }),
      sup.run(`[[note ${sup.home.path}/second]] [[no-model]]`),
    ]);
    expect(stories.map((story) => onlyTurn(story).state)).toEqual(['error', 'error']);
    expect(sup.starts('first')).toEqual(['work opus-99', 'work fake-default']);
    expect(sup.starts('second')).toEqual(['work fake-default']);
  });

  test('is final when the client had begun to work', async () => {
    await using sup = supervisorHome(RAW);
    const story = await sup.run(`[[note ${sup.home.path}/starts]] [[messages 1]] [[no-model]]`, { model });
    expect(onlyTurn(story).state).toBe('error');
    expect(sup.starts()).toEqual(['work opus-99']);
  });
});
