import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { readOrchestration } from '../../../src/orchestrate/engine.ts';
import { orchestrationsOf } from '../../../src/orchestrate/store.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { RUN_VARIABLE } from '../../../src/system/process-identity.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { ASKED, planText, subtask, verdictText } from '../../orchestrate/scripted.ts';
import { type TeamHome, teamHome } from '../../orchestrate/team-home.ts';
import { BINARY } from '../../support/program.ts';

setDefaultTimeout(60_000);

const PLAN = planText([subtask('ann')]);
const PASSES = { match: ASKED.review(1), answer: verdictText({ ann: true }, 'The site is built.') };
const stateOf = (here: TeamHome) => {
  const [one] = readRuns(here.world.paths, (db) => orchestrationsOf(here.requester.key, db)) ?? [];
  return one && readOrchestration(one.id, here.world);
};
/** The program in the background. */
function started(here: TeamHome, ...words: string[]) {
  const env = { ...here.world.env };
  return Bun.spawn([BINARY, ...words], {
    cwd: here.project,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

describe('who does it', () => {
  test('is one agent where a model says so: the prompt goes to the main conversation, whose answer is told', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.triage, answer: '{"label": "single", "evidence": "the thing", "size": "small"}' },
      { match: 'Rename the thing', answer: 'I renamed it.' },
    ]);
    const { exitCode, stdout } = await here.program(['orchestrate', 'Rename the thing.']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'I renamed it.\n' });
    expect(stateOf(here)).toMatchObject({ state: 'answered', triage: { label: 'single', by: 'model' } });
    expect(here.starts()).toHaveLength(2);
    expect((await here.program(['run', 'And now?'])).exitCode).toBe(0);
    expect(here.starts()[2]?.isResumed).toBe(true);
  });

  test('is one agent where the model gives no answer that can be read', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.triage, answer: 'I think that a team should do it.' },
      { match: '', answer: 'I did it.' },
    ]);
    expect((await here.program(['orchestrate', 'Rename the thing.'])).stdout).toBe('I did it.\n');
    expect(stateOf(here)?.triage).toMatchObject({ label: 'single', by: 'default' });
  });

  test('is the main agent with --direct, and no orchestration', async () => {
    await using here = await teamHome();
    here.script([{ match: '', answer: 'I did it.' }]);
    expect((await here.program(['orchestrate', '--direct', 'Build it as a team.'])).stdout).toBe(
      'I did it.\n',
    );
    expect(stateOf(here)).toBeUndefined();
  });

  test('is said with its reason by --explain, which starts nothing', async () => {
    await using here = await teamHome();
    const wish = await here.program(['orchestrate', '--explain', '팀으로 나눠서 로그인 기능을 만들어줘']);
    expect(wish.stdout).toStartWith('a team does it: your words: ');
    const { stdout } = await here.program(['orchestrate', '--explain', '--json', 'Rename it']);
    expect(JSON.parse(stdout)).toMatchObject({ label: 'single', by: 'default', needsOrchestration: false });
    expect(here.starts()).toEqual([]);
  });
});

describe('a message of `run` while an employee works', () => {
  test('waits until the orchestration has ended, and is answered then', async () => {
    await using here = await teamHome();
    const go = `${here.home.path}/go`;
    here.script([
      { match: ASKED.plan, answer: PLAN },
      { match: ASKED.work('ann'), until: go, answer: 'ann wrote it' },
      { ...PASSES },
      { match: 'How far is it', answer: 'All of it is there.' },
    ]);
    const team = started(here, 'orchestrate', '--pipeline', 'Build the site.');
    await here.until('ann works', () => here.starts().length === 2);
    const asked = started(here, 'run', 'How far is it?');
    await Bun.sleep(1500);
    expect(here.starts()).toHaveLength(2);
    here.home.put('go', '');
    expect(await team.exited).toBe(0);
    expect(await asked.stdout.text()).toBe('All of it is there.\n');
    expect(here.starts().map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });
});

describe('Ctrl-C', () => {
  test('while it is planned stops the planner and leaves no process; --continue plans anew', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, times: 1, until: '/nonexistent' },
      { match: ASKED.plan, answer: PLAN },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      PASSES,
    ]);
    const team = started(here, 'orchestrate', '--pipeline', 'Build the site.');
    await here.until('it plans', () => here.starts().length === 1);
    team.kill('SIGINT');
    expect(await team.exited).toBe(130);
    expect(await team.stderr.text()).toContain('orchestrate --continue');
    const [asked] = stateOf(here)?.asked.get('plan') ?? [];
    const run = asked?.kind === 'turn' ? asked.run.id : '';
    expect(withMarker({ name: RUN_VARIABLE, value: `${run}/1` })).toEqual([]);
    const { exitCode, stdout } = await here.program(['orchestrate', 'continue']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'The site is built.\n' });
  });

  test('twice leaves at once, and it can be continued', async () => {
    await using here = await teamHome();
    const go = `${here.home.path}/go`;
    here.script([
      { match: ASKED.plan, answer: PLAN },
      { match: ASKED.work('ann'), times: 1, until: go, answer: 'ann wrote it' },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      PASSES,
    ]);
    const team = started(here, 'orchestrate', '--pipeline', 'Build the site.');
    await here.until('ann works', () => here.starts().length === 2);
    const everything = withMarker({ name: 'HOME', value: here.home.path });
    const supervisors = everything.filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('supervise'),
    );
    // So that the first one takes a while; not while one of them writes, which would keep others from it.
    await Bun.sleep(1000);
    for (const pid of supervisors) process.kill(pid, 'SIGSTOP');
    team.kill('SIGINT');
    await here.until('it is stopping', () => stateOf(here)?.stop === 'Ctrl-C');
    team.kill('SIGINT');
    expect(await team.exited).toBe(130);
    for (const pid of supervisors) process.kill(pid, 'SIGCONT');
    expect(await team.stderr.text()).toEndWith(
      'left; "self-generation orchestrate --continue 1" goes on with it\n',
    );
    const { stdout, stderr } = await here.program(['worklog']);
    expect(stdout).toContain('- Status: stopping\n');
    expect(stderr).toStartWith('nobody carries it on: ');
    expect((await here.program(['worklog', '--list'])).stdout).toContain('1  left');
    expect((await here.program(['orchestrate', '--continue'])).stdout).toBe('The site is built.\n');
  });
});

describe('orchestrate --no-wait', () => {
  test('goes on in the background', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: PLAN },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      PASSES,
    ]);
    const { stdout } = await here.program(['orchestrate', '--pipeline', '--no-wait', 'Build the site.']);
    expect(stdout).toContain('Orchestration 1 has begun.');
    await here.until('it is done', () => stateOf(here)?.ended?.state === 'done');
  });
});

describe('what cannot be, or is only asked about', () => {
  test('is said before anything is started', async () => {
    await using here = await teamHome();
    here.script([{ match: '', answer: 'no plan' }]);
    const said = async (words: readonly string[], env: Record<string, string> = {}) => {
      const { exitCode, stderr } = await here.program(['orchestrate', ...words], env);
      return { exitCode, stderr };
    };
    const asAgent = { CLAUDECODE: '1' };
    expect(await said(['--pipeline', '--permissions', 'all', 'x'], asAgent)).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('only a person grants permissions'),
    });
    expect(await said(['--pipeline', '--permissions', 'Bash(', 'x'])).toMatchObject({ exitCode: 1 });
    expect(stateOf(here)).toBeUndefined();
    expect((await said(['--pipeline', 'x'])).exitCode).toBe(1);
    const starts = here.starts().length;
    for (const words of [
      ['--continue', '--pipeline'],
      ['--continue', '--permissions', 'all'],
      ['--direct', '계속'],
    ])
      expect(await said(words)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('was fixed when it began'),
      });
    const { stdout } = await here.program(['orchestrate', '--explain', 'continue']);
    expect(stdout).toBe('it goes on with orchestration 1 (failed): x\n');
    expect(here.starts()).toHaveLength(starts);
  });
});

describe('orchestrate --continue', () => {
  test('says why there is nothing to go on with', async () => {
    await using here = await teamHome();
    here.script([{ match: ASKED.plan, answer: '{"direct_answer": "Hello."}' }]);
    const none = await here.program(['orchestrate', '--continue']);
    expect(none).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('this project has had none') });
    expect((await here.program(['orchestrate', '--pipeline', 'Say hello.'])).stdout).toBe('Hello.\n');
    expect(await here.program(['orchestrate', '--continue'])).toMatchObject({ exitCode: 3 });
    const done = await here.program(['orchestrate', '--continue', '1']);
    expect(done).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('it is answered') });
  });

  test('tries again what was given up, and nothing else', async () => {
    await using here = await teamHome({
      agents: { list: ['ann', 'bob'].map((id) => ({ id, role: 'custom' })) },
      orchestrate: { attempts: 1 },
    });
    here.script([
      { match: ASKED.plan, answer: planText([subtask('ann'), subtask('bob')]) },
      { match: ASKED.retry('bob wrote it'), answer: 'bob mended it' },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      { match: ASKED.work('bob'), answer: 'bob wrote it' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: false }) },
      { match: ASKED.review(2), answer: verdictText({ bob: true }, 'Both are there.') },
    ]);
    const first = await here.program(['orchestrate', '--pipeline', 'Build the site.']);
    expect(first.exitCode).toBe(6);
    expect(first.stdout).toContain("Done:\n- ann: Do ann's part.\n\nNot done:\n- bob: Do bob's part.");
    expect(await here.program(['orchestrate', '--continue'])).toMatchObject({
      exitCode: 0,
      stdout: 'Both are there.\n',
    });
    expect(here.starts().map(({ index }) => index)).toEqual([0, 2, 3, 4, 1, 5]);
  });
});

test('a client of the main agent that is not there is said, and stands in the worklog; it can be continued', async () => {
  await using here = await teamHome({ run: { client: 'codex' } });
  here.script([{ match: '', answer: 'I did it.' }]);
  const { exitCode, stderr } = await here.program(['orchestrate', 'Do it yourself.']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('⚠️ codex is not on') });
  expect(stateOf(here)?.ended).toMatchObject({ state: 'failed', text: expect.stringContaining('codex') });
  here.home.writeConfig({ language: 'en' });
  expect((await here.program(['orchestrate', '--continue'])).stdout).toBe('I did it.\n');
});

test('a client that is not there is said, and nothing is begun twice', async () => {
  await using here = await teamHome({ agents: { defaults: { subagents: { client: 'codex' } } } });
  here.script([]);
  const { exitCode, stderr } = await here.program(['orchestrate', '--pipeline', 'Build the site.']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('there is no plan: codex is not on the PATH');
});

test('whoever reads no more of the output ends nothing', async () => {
  await using here = await teamHome();
  here.script([
    { match: ASKED.plan, answer: PLAN },
    { match: ASKED.work('ann'), answer: 'ann wrote it' },
    PASSES,
  ]);
  const words = `${BINARY} orchestrate --pipeline --json 'Build the site.' | head -1`;
  const { exitCode } = Bun.spawnSync(['sh', '-c', words], { cwd: here.project, env: here.world.env });
  expect(exitCode).toBe(0);
  expect(stateOf(here)?.ended?.state).toBe('done');
});
