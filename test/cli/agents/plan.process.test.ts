import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { planCommand } from '../../../src/cli/agents/plan.ts';
import { currentVersion, listPlans, type Plan } from '../../../src/runs/context/plan-store.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { listRuns } from '../../../src/runs/store/runs.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { PATH, type RunsHome, runsHome } from '../../runs/runs-home.ts';
import { runProgram } from '../../support/hook-process.ts';
import { BINARY } from '../../support/program.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { callIn, ENGLISH, typing, wholePlan } from '../agents.ts';

setDefaultTimeout(60_000);

const call = (here: RunsHome, words: readonly string[], changes = {}) =>
  callIn(here, planCommand, words, changes);
const stored = (here: RunsHome) => listPlans(null, here.home.paths);
/** The task whose answer is this plan. */
const taskOf = (here: RunsHome, plan = wholePlan()) => `[[answer-in ${here.home.put('plan.md', plan)}]]`;

describe('plan', () => {
  test('without a terminal prints the draft and says how to go on', async () => {
    await using here = runsHome(ENGLISH);
    const { code, stdout, stderr } = await call(here, ['--context', 'none', taskOf(here)]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `=== IMPLEMENTATION PLAN ===\n${wholePlan()}\n===========================\n`,
    });
    const [plan] = stored(here);
    expect(stderr).toEndWith(
      `Plan ${plan?.id} is a draft. "self-generation plan approve ${plan?.id}" approves it, "self-generation plan resume ${plan?.id} 'what to change'" goes on.\n`,
    );
    expect(here.waiting()).toEqual([]);
  });

  test('says that there is no conversation to hand over, and goes on without', async () => {
    await using here = runsHome(ENGLISH);
    const { code, stderr } = await call(here, [taskOf(here)]);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: Cannot find a session/),
    });
  });

  test('as JSON is one document with the result and the plan', async () => {
    await using here = runsHome(ENGLISH);
    const { stdout } = await call(here, ['--json', '--context', 'none', taskOf(here)]);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      output: wholePlan(),
      plan: { status: 'draft', current: 1, lacking: [], file: null, versions: [{ text: wholePlan() }] },
    });
  });

  test('says what a draft lacks once it was refined by itself', async () => {
    await using here = runsHome(ENGLISH);
    const { code, stderr } = await call(here, ['--context', 'none', '[[answer ## Architecture]]']);
    expect(code).toBe(0);
    expect(stderr).toContain('This version lacks: Task Analysis, Interface Specification, Architecture,');
    expect(stored(here)).toMatchObject([{ versions: [{}, {}], rounds: 0 }]);
    expect(here.waiting()).toEqual([]);
  });

  test('that fails has no plan to go on with', async () => {
    await using here = runsHome(ENGLISH);
    const { code, stdout, stderr } = await call(here, ['--context', 'none', '[[error-result 1]]']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Planning failed: the service is overloaded');
    expect(stderr).not.toContain('is a draft');
  });

  test('with --explore starts that many agents, three when no number is given, at most five', async () => {
    for (const [flags, count] of [
      [['--explore', '2', '--json'], 2],
      [['--json', '--explore'], 3],
    ] as const) {
      await using here = runsHome(ENGLISH);
      // Behind the flag without a number stands no word of the task.
      const task = flags.at(-1) === '--explore' ? ['--', taskOf(here)] : [taskOf(here)];
      expect((await call(here, ['--context', 'none', ...flags, ...task])).code).toBe(0);
      const runs =
        readRuns(here.world.paths, (db) => listRuns({ requester: here.requester.key, limit: 9 }, db)) ?? [];
      expect(runs.filter(({ run }) => run.profile?.kind === 'explore')).toHaveLength(count);
      expect(runs).toHaveLength(count + 1);
      expect(here.waiting()).toEqual([]);
    }
    await using here = runsHome(ENGLISH);
    for (const count of ['6', '-1', 'x'])
      expect((await call(here, [`--explore=${count}`, 'x'])).code).toBe(2);
  });
});

describe('a plan on a terminal', () => {
  test('is shown, refined by what is typed, and approved', async () => {
    await using here = runsHome(ENGLISH);
    const second = here.home.put('second.md', wholePlan('the second'));
    const terminal = typing('', 'show', `[[answer-in ${second}]]`, 'approve');
    const { code, stdout, stderr } = await call(here, ['--context', 'none', taskOf(here)], terminal);
    expect(code).toBe(0);
    const shown = `\n${wholePlan()}\n\n`;
    expect(stdout.startsWith(shown + shown)).toBe(true);
    expect(stdout).toContain(`\n${wholePlan('the second')}\n\n`);
    expect(stderr).toContain('Type approve, cancel, show, undo, or what is to be changed.\n');
    const [plan] = stored(here);
    expect(plan).toMatchObject({ status: 'approved', current: 2, rounds: 1, versions: [{}, { from: 1 }] });
    expect(stdout).toEndWith(
      `Plan ${plan?.id} is approved: ${plan?.approved?.file}\nsha256 ${plan?.approved?.hash}\n`,
    );
    expect(readFileSync(plan?.approved?.file ?? '', 'utf8')).toEndWith(`${wholePlan('the second')}\n`);
    expect(terminal.asked[0]).toBe(
      `plan ${plan?.id}, version 1 · approve, cancel, show, undo, or feedback: `,
    );
    expect(terminal.asked.at(-1)).toContain('version 2');
  });

  test('goes back by undo, and what is approved is what was shown last', async () => {
    await using here = runsHome(ENGLISH);
    await call(here, ['--context', 'none', taskOf(here)], typing('[[answer other]]', 'undo', 'undo', 'ok'));
    const [plan] = stored(here);
    expect(plan).toMatchObject({ status: 'approved', current: 1, versions: [{}, { text: 'other' }] });
    expect(readFileSync(plan?.approved?.file ?? '', 'utf8')).toEndWith(`${wholePlan()}\n`);
  });

  test('that is cancelled, or left, ends with a code for it, and is kept', async () => {
    await using here = runsHome(ENGLISH);
    const cancelled = await call(here, ['--context', 'none', taskOf(here)], typing('cancel'));
    expect(cancelled).toMatchObject({ code: 7, stdout: expect.stringContaining('is cancelled.') });
    const left = await call(here, ['--context', 'none', taskOf(here)], typing());
    expect(left).toMatchObject({ code: 130, stderr: expect.stringContaining('is a draft.') });
    expect(stored(here).map(({ status }) => status)).toEqual(['draft', 'cancelled']);
  });

  test('is as it was when a refinement fails', async () => {
    await using here = runsHome(ENGLISH);
    const { code, stderr } = await call(
      here,
      ['--context', 'none', taskOf(here)],
      typing('[[error-result 1]]', 'ok'),
    );
    expect(code).toBe(0);
    expect(stderr).toContain('Planning failed: the service is overloaded\nThe plan is as it was.\n');
    expect(stored(here)).toMatchObject([{ status: 'approved', current: 1, versions: [{}] }]);
  });

  test('that was changed elsewhere is shown anew, and nothing of it is lost or decided on unseen', async () => {
    await using here = runsHome(ENGLISH);
    const asked: number[] = [];
    const ask = async () => {
      asked.push(currentVersion(stored(here)[0] as Plan)?.number ?? 0);
      if (asked.length === 1) await call(here, ['resume', 'last', '[[answer other]]']);
      if (asked.length === 3) await call(here, ['approve', 'last']);
      return asked.length === 2 ? 'undo' : 'cancel';
    };
    const { code, stdout, stderr } = await call(here, ['--context', 'none', taskOf(here)], {
      isInteractive: true,
      ask,
    });
    expect(stderr).toContain('was changed elsewhere. It is draft, and reads:\n');
    expect(stdout).toContain('\nother\n');
    expect(asked).toEqual([1, 2, 1]);
    expect(stderr).toContain('was changed elsewhere. It is approved, and reads:\n');
    expect(code).toBe(1);
    expect(stored(here)).toMatchObject([
      { status: 'approved', current: 1, versions: [{}, { text: 'other' }] },
    ]);
  });

  test('is approved by no agent that has a terminal', async () => {
    await using here = runsHome(ENGLISH);
    const byAgent = { ...typing('approve'), agentMark: () => 'CLAUDECODE is set' };
    const { code, stderr } = await call(here, ['--context', 'none', taskOf(here)], byAgent);
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('an agent seems') });
    expect(stored(here)).toMatchObject([{ status: 'draft', approved: null }]);
  });

  test('that reached a limit is said to be incomplete where it is shown', async () => {
    await using here = runsHome(ENGLISH);
    const words = ['--context', 'none', '--max-iterations', '2', '[[calls 3 10]] [[hang]]'];
    const { stderr } = await call(here, words, typing('cancel'));
    expect(stderr).toContain('This draft is incomplete: limit reached: 2');
  });

  test('after its last round is not refined any more, and can be approved', async () => {
    await using here = runsHome({ ...ENGLISH, plan: { rounds: 1 } });
    const terminal = typing('[[answer one]]', '[[answer two]]', 'approve');
    const { stderr } = await call(here, ['--context', 'none', taskOf(here)], terminal);
    expect(stderr).toContain('It was refined 1 times');
    expect(stored(here)).toMatchObject([{ status: 'approved', current: 2, versions: [{}, { text: 'one' }] }]);
  });

  test('by hand: draft, feedback, approve, on a pseudo-terminal', async () => {
    await using here = runsHome(ENGLISH);
    const second = here.home.put('second.md', wholePlan('the second'));
    const env = { HOME: here.home.path, PATH, LANG: 'C.UTF-8' };
    const words = [BINARY, 'plan', '--context', 'none', taskOf(here)];
    await using terminal = startOnTerminal(words, { cwd: here.project, env });
    await here.until('the draft is shown', () => terminal.shown().includes('version 1 · approve'));
    terminal.type(`[[answer-in ${second}]]\r`);
    await here.until('the second is shown', () => terminal.shown().includes('version 2 · approve'));
    expect(terminal.shown()).toContain('1. the second');
    terminal.type('approve\r');
    expect(await terminal.exited).toBe(0);
    expect(terminal.shown()).toContain('is approved:');
    expect(stored(here)).toMatchObject([{ status: 'approved', current: 2 }]);
  });

  test('Ctrl-C during a draft stops it, and leaves no process', async () => {
    await using here = runsHome(ENGLISH);
    const note = `${here.home.path}/note`;
    const env = { HOME: here.home.path, PATH, LANG: 'C.UTF-8' };
    const words = [BINARY, 'plan', '--context', 'none', '--explore', '2', `[[note ${note}]] [[hang]]`];
    await using terminal = startOnTerminal(words, { cwd: here.project, env });
    await here.until(
      'both explore',
      () => existsSync(note) && readFileSync(note, 'utf8').trim().split('\n').length === 2,
    );
    terminal.type('\x03');
    expect(await terminal.exited).toBe(130);
    expect(terminal.shown()).toContain('Planning failed: stopped by Ctrl-C');
    await here.until('all are gone', () => withMarker({ name: 'HOME', value: here.home.path }).length === 0);
    expect(stored(here)).toEqual([]);
  });
});

describe('plans that were made', () => {
  test('are listed, shown in any version, and noticed when they were changed', async () => {
    await using here = runsHome(ENGLISH);
    expect((await call(here, ['list'])).stdout).toBe('There is no plan.\n');
    await call(here, ['--context', 'none', taskOf(here)]);
    const [{ id } = { id: '' }] = stored(here);
    expect((await call(here, ['resume', 'last', '[[answer', 'shorter]]'])).stdout).toContain('\nshorter\n');
    expect((await call(here, ['show', id])).stdout).toMatch(
      /^Plan \w+ · draft · version 2 of 2\nTask: .*\nFeedback: .*\n\nshorter\n$/,
    );
    expect((await call(here, ['show', id, '--version', '1'])).stdout).toEndWith(`\n\n${wholePlan()}\n`);
    expect(await call(here, ['show', id, '--version', '3'])).toMatchObject({ code: 3 });
    const env = { HOME: here.home.path, PATH };
    const words = [BINARY, 'plan', 'show', id, '--version', '1'];
    const first = await runProgram(words, { home: here.home.path, cwd: here.project, env });
    expect(first.stdout).toContain('version 1 of 2');
    expect((await call(here, ['list'])).stdout).toMatch(
      new RegExp(`\\n${id} +draft +2 +(?:just now|\\d+ s ago) +\\[\\[`),
    );
    const { code, stdout } = await call(here, ['approve', id.slice(0, 4)]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Plan ${id} is approved: `);
    expect((await call(here, ['list'])).stdout).toContain(' approved ');
    expect((await call(here, ['approve', id])).stdout).toBe(stdout);
    expect(readdirSync(here.home.paths.plans)).toHaveLength(2);
    const [file = ''] = readdirSync(here.home.paths.plans).filter((name) => name.endsWith('.md'));
    appendFileSync(`${here.home.paths.plans}/${file}`, 'more\n');
    expect((await call(here, ['list'])).stdout).toContain('approved, changed since');
    expect(JSON.parse((await call(here, ['show', '--json', id])).stdout)).toMatchObject({
      id,
      file: 'changed since',
    });
    expect(JSON.parse((await call(here, ['list', '--json'])).stdout)).toMatchObject({ plans: [{ id }] });
    expect(await call(here, ['resume', id, 'more'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is approved'),
    });
  });

  test('are refused where they cannot be meant, decided on or refined', async () => {
    await using here = runsHome({ ...ENGLISH, plan: { rounds: 1 } });
    const wrong = async (words: string[], changes = {}) => {
      const { code, stderr } = await call(here, words, changes);
      return [code, stderr.trim()];
    };
    expect(await wrong(['show', 'last'])).toEqual([
      3,
      '⚠️ Unknown plan: last. "plan list" shows those that there are',
    ]);
    expect(await wrong(['approve'])).toEqual([2, '⚙️ Usage: self-generation plan approve ID']);
    await call(here, ['--context', 'none', taskOf(here)]);
    expect((await wrong(['resume', 'last']))[0]).toBe(2);
    const byAgent = { agentMark: () => 'CLAUDECODE is set' };
    expect(await wrong(['approve', 'last'], byAgent)).toMatchObject([
      4,
      expect.stringContaining('an agent seems to run this'),
    ]);
    await call(here, ['resume', 'last', '[[answer one]]']);
    expect(await wrong(['resume', 'last', 'two'])).toMatchObject([
      5,
      expect.stringContaining('refined 1 times'),
    ]);
    expect(await wrong(['resume', 'last', '--context', 'full', 'x'])).toMatchObject([
      2,
      expect.stringContaining("unknown option '--context'"),
    ]);
    expect(stored(here)).toMatchObject([{ status: 'draft', current: 2 }]);
  });

  test('are gone on with on a terminal', async () => {
    await using here = runsHome(ENGLISH);
    await call(here, ['--context', 'none', taskOf(here)]);
    const { code, stdout } = await call(here, ['resume', 'last'], typing('approve'));
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('is approved') });
  });

  test('of another project are found by their id, and listed on request', async () => {
    await using here = runsHome(ENGLISH);
    await call(here, ['--context', 'none', taskOf(here)]);
    const elsewhere = { cwd: here.home.path };
    expect((await call(here, ['list'], elsewhere)).stdout).toBe('There is no plan.\n');
    const [{ id } = { id: '' }] = stored(here);
    expect((await call(here, ['list', '--all-projects'], elsewhere)).stdout).toContain(id);
    expect((await call(here, ['show', id], elsewhere)).code).toBe(0);
    const byAgent = { ...elsewhere, agentMark: () => 'CLAUDECODE is set' };
    for (const words of [
      ['show', id],
      ['resume', id, 'x'],
      ['approve', id],
    ])
      expect(await call(here, words, byAgent)).toMatchObject({ code: 3, stdout: '' });
    expect(await call(here, ['list', '--all-projects'], byAgent)).toMatchObject({ code: 4, stdout: '' });
  });
});
