import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readOrchestration } from '../../src/orchestrate/engine.ts';
import { orchestrationsOf } from '../../src/orchestrate/store.ts';
import { readRuns } from '../../src/runs/store/rows.ts';
import { CHECKPOINT_VARIABLE } from '../../src/runs/world.ts';
import { ASKED, planText, subtask, verdictText } from './scripted.ts';
import { MENDED, MENDED_STARTS, type TeamHome, teamHome } from './team-home.ts';

setDefaultTimeout(120_000);

function newest(here: TeamHome) {
  const [one] = readRuns(here.world.paths, (db) => orchestrationsOf(here.requester.key, db)) ?? [];
  return one && readOrchestration(one.id, here.world);
}

describe('an orchestration whose process is killed', () => {
  test.each([
    'orchestrate record triage',
    ...['after-accept', 'orchestrate ask plan 1', 'orchestrate record plan', 'orchestrate record layout'],
    ...['orchestrate snapshot', 'orchestrate ask work.ann.3 1', 'orchestrate changes'],
    ...['orchestrate ask work.bob.3 1', 'orchestrate ask review.1 1', 'orchestrate record verdict.1'],
    ...['orchestrate ask work.bob.3 2', 'orchestrate ask review.2 1', 'orchestrate record verdict.2'],
  ])('after "%s" comes to the same end when it is continued, and nothing is done twice', async (place) => {
    await using here = await teamHome();
    here.script(MENDED);
    const killed = await here.program(['orchestrate', '--pipeline', 'Build the site.'], {
      [CHECKPOINT_VARIABLE]: place,
    });
    expect(killed.exitCode).toBeNull();
    expect(newest(here)?.ended).toBeNull();
    const { exitCode, stdout } = await here.program(['orchestrate', '--continue']);
    expect(stdout).toBe('The site is built.\n');
    expect(exitCode).toBe(0);
    expect(here.starts().map(({ index }) => index)).toEqual(MENDED_STARTS);
    expect(here.read('src/ann.txt') + here.read('src/bob.txt')).toBe('ann\nbob bob\n');
    const state = newest(here);
    expect(state?.ended).toEqual({ state: 'done', text: 'The site is built.' });
    expect(state?.works.map(({ attempts }) => attempts.length)).toEqual([1, 2]);
  });
});

describe('work at the same time whose process is killed', () => {
  const BOTH = planText([
    subtask('ann', { parallel: true }),
    subtask('bob', { parallel: true }),
    subtask('cleo'),
  ]);

  test.each([
    ...['orchestrate layout', 'orchestrate ask work.ann.3 1', 'orchestrate overlap', 'orchestrate merge'],
  ])('after "%s" is brought in once when it is continued', async (place) => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: BOTH },
      { match: ASKED.work('ann'), write: { 'README.md': 'a project\nof ann\n' }, answer: 'ann wrote it' },
      { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n' }, answer: 'bob wrote it' },
      { match: ASKED.work('cleo'), write: { 'src/cleo.txt': 'cleo\n' }, answer: 'cleo wrote it' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
      { match: ASKED.review(2), answer: verdictText({ cleo: true }, 'The site is built.') },
    ]);
    const call = ['orchestrate', '--pipeline', 'Build the site.'];
    expect((await here.program(call, { [CHECKPOINT_VARIABLE]: place })).exitCode).toBeNull();
    expect((await here.program(['orchestrate', '--continue'])).stdout).toBe('The site is built.\n');
    expect(['README.md', 'src/bob.txt', 'src/cleo.txt'].map(here.read).join('')).toBe(
      'a project\nof ann\nbob\ncleo\n',
    );
    expect(here.starts()).toHaveLength(6);
    expect(here.git('worktree', 'list').split('\n')).toHaveLength(1);
  });
});
