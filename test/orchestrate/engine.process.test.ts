import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type { EngineOptions } from '../../src/orchestrate/engine.ts';
import { carryOn } from '../../src/orchestrate/engine.ts';
import type { OrchestrationState } from '../../src/orchestrate/model/state.ts';
import { worklogMarkdown } from '../../src/orchestrate/worklog.ts';
import { turnMark } from '../../src/runs/model/turn.ts';
import { withMarker } from '../../src/system/processes.ts';
import { ASKED, planText, subtask, verdictText } from './scripted.ts';
import { MENDED, MENDED_STARTS, type TeamHome, teamHome } from './team-home.ts';

setDefaultTimeout(120_000);

const TEAM = planText([subtask('ann'), subtask('bob')]);

async function carriedOn(
  here: TeamHome,
  { id }: { id: string },
  options: EngineOptions = {},
): Promise<OrchestrationState> {
  const state = await carryOn(id, options, here.world);
  if ('status' in state) throw new Error(state.error);
  return state;
}

function turnOf(state: OrchestrationState, key: string): string {
  const [asked] = state.asked.get(key) ?? [];
  return asked?.kind === 'turn' ? turnMark(asked.turn) : '';
}

describe('an orchestration', () => {
  test('plans, has the work done, reviewed, mended with the feedback, and passed; the files are changed', async () => {
    await using here = await teamHome();
    here.script(MENDED);
    const state = await carriedOn(here, here.begin());
    expect(state.ended).toEqual({ state: 'done', text: 'The site is built.' });
    expect(here.read('src/ann.txt') + here.read('src/bob.txt')).toBe('ann\nbob bob\n');
    expect(here.starts().map(({ index }) => index)).toEqual(MENDED_STARTS);
    const [, , bob, first, retry, second] = here.starts().map(({ prompt }) => prompt);
    // The second is told what the first has done; the reviewer is shown the diff; the retry, what is to be mended.
    expect(bob).toContain('ann wrote it');
    expect(bob).toContain('Changed: src/ann.txt');
    expect(first).toMatch(/\+ann\n[\s\S]*\+bob\n/);
    expect(retry).toContain('bob has to say it twice');
    expect(retry).toContain('src/bob.txt:1');
    expect(second).toContain('+bob bob');
    expect(second).not.toContain('ann wrote it');
    expect(second).toContain("belong into the summary):\n- ann: Do ann's part.\n");
    expect(first).not.toContain('belong into the summary');
    expect(here.starts()[4]?.isResumed).toBe(true);
  });
});

test('that the branch is another one after the work is told to the reviewer, and stands in the worklog', async () => {
  await using here = await teamHome();
  const commit = here.git('rev-parse', 'HEAD');
  here.script([
    { match: ASKED.plan, answer: planText([subtask('ann'), subtask('bob')]) },
    {
      match: ASKED.work('ann'),
      write: { '.git/refs/heads/other': `${commit}\n`, '.git/HEAD': 'ref: refs/heads/other\n' },
      answer: 'ann wrote it',
    },
    { match: ASKED.work('bob'), answer: 'bob wrote it' },
    { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
  ]);
  const state = await carriedOn(here, here.begin());
  const short = here.git('rev-parse', '--short', 'HEAD');
  const moved = `main ${short} → other ${short}`;
  expect(
    here
      .starts()
      .at(-1)
      ?.prompt.match(/have changed: .*\./g),
  ).toEqual([expect.stringContaining(moved)]);
  expect(worklogMarkdown(state).match(/^- Branch and commit: .*$/gm)).toEqual([
    `- Branch and commit: ${moved}`,
  ]);
});

test('where there is no repository nothing is called unchanged', async () => {
  await using here = await teamHome();
  rmSync(`${here.project}/.git`, { recursive: true });
  here.script([
    { match: ASKED.plan, answer: planText([subtask('ann')]) },
    { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, answer: 'ann wrote it' },
    { match: ASKED.review(1), answer: verdictText({ ann: true }) },
  ]);
  const state = await carriedOn(here, here.begin());
  expect(here.starts()[2]?.prompt).toContain('Diff: not known');
  expect(worklogMarkdown(state)).toContain('- Files: (not known)');
});

describe('what cannot be used', () => {
  test('an agent that there is not, and words in place of verdicts, are said to who said them, once', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: planText([subtask('zoe')]) },
      { match: `${ASKED.repair}.*zoe`, answer: `Sorry.\n${planText([subtask('ann')])}\nThat is all.` },
      { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, answer: 'ann wrote it' },
      { match: ASKED.review(1), answer: '3 PASS, 1 FAIL. Verdict: PASS' },
      { match: ASKED.repair, answer: `Now:\n${verdictText({ ann: true })}\nEnd.` },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(here.starts().map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(here.starts()[1]?.prompt).toContain('There are: ann, bob, cleo');
    expect(here.starts()[4]?.prompt).toContain('there is no verdict on "ann"');
    expect(state.ended?.state).toBe('done');
  });

  test('a reviewer that never comes to a verdict ends it, and who was reviewed does nothing again', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: planText([subtask('ann')]) },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      { match: ASKED.review(1), answer: '3 PASS, 1 FAIL. Verdict: PASS' },
      { match: ASKED.repair, answer: 'All of them PASS.' },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(here.starts()).toHaveLength(4);
    expect(state.ended?.state).toBe('partial');
    expect(state.ended?.text).toContain('review 1 could not be had');
  });

  test('an agent whose client is not there is given up, with the reason, and the others go on', async () => {
    const list = [
      { id: 'ann', role: 'custom', subagents: { client: 'codex' } },
      { id: 'bob', role: 'custom' },
    ];
    await using here = await teamHome({ agents: { list } });
    here.script([
      { match: ASKED.plan, answer: TEAM },
      { match: ASKED.work('bob'), answer: 'bob wrote it' },
      { match: ASKED.review(1), answer: verdictText({ bob: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(state.works.map(({ status }) => status)).toEqual(['given up', 'done']);
    expect(state.ended).toMatchObject({
      state: 'partial',
      text: expect.stringContaining('codex is not on the PATH'),
    });
    expect(here.starts()).toHaveLength(3);
  });

  test('a client that has answered and does not exit is not waited for', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: planText([subtask('ann')]) },
      { match: ASKED.work('ann'), answer: 'ann wrote it', linger: true },
      { match: ASKED.review(1), answer: verdictText({ ann: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(state.ended?.state).toBe('done');
  });

  test('an employee whose client dies is asked again, without a review of nothing', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: planText([subtask('ann')]) },
      { match: ASKED.work('ann'), times: 1, exit: 3 },
      { match: '', answer: 'ann wrote it', times: 1 },
      { match: ASKED.review(2), answer: verdictText({ ann: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(here.starts().map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(here.starts()[2]?.prompt).toContain("Do ann's part.");
    expect(state.ended?.state).toBe('done');
  });
});

describe('work at the same time', () => {
  const BOTH = planText([
    subtask('ann', { parallel: true }),
    subtask('bob', { parallel: true }),
    subtask('cleo'),
  ]);

  test('is done in trees of their own, brought in together, and seen by who comes after', async () => {
    await using here = await teamHome();
    const go = `${here.home.path}/go`;
    here.script([
      { match: ASKED.plan, answer: BOTH },
      { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, until: go, answer: 'ann wrote it' },
      { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n', [go]: '' }, answer: 'bob wrote it' },
      { match: ASKED.work('cleo'), write: { 'src/cleo.txt': 'cleo\n' }, answer: 'cleo wrote it' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
      { match: ASKED.review(2), answer: verdictText({ cleo: true }) },
    ]);
    // Ann goes on when Bob has begun: one after the other they would wait for ever.
    const state = await carriedOn(here, here.begin());
    expect(state.ended?.state).toBe('done');
    expect(state.works.map(({ merge }) => merge?.kind ?? null)).toEqual(['merged', 'merged', null]);
    expect(['ann', 'bob', 'cleo'].map((name) => here.read(`src/${name}.txt`)).join('')).toBe(
      'ann\nbob\ncleo\n',
    );
    const cwds = here
      .starts()
      .slice(1, 3)
      .map(({ cwd }) => cwd);
    expect(cwds.every((cwd) => cwd !== here.project)).toBe(true);
    expect(here.git('worktree', 'list').split('\n')).toHaveLength(1);
    const review = here.starts().find(({ index }) => index === 4)?.prompt ?? '';
    expect(review).toContain('+ann');
    expect(review).toContain('+bob');
  });

  test('is mended in the tree that it was begun in', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, answer: BOTH },
      { match: ASKED.retry('bob wrote it'), write: { 'src/more.txt': 'more\n' }, answer: 'bob mended it' },
      { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, answer: 'ann wrote it' },
      { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n' }, answer: 'bob wrote it' },
      { match: ASKED.work('cleo'), answer: 'cleo looked' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: false }) },
      { match: ASKED.review(2), answer: verdictText({ bob: true }) },
      { match: ASKED.review(3), answer: verdictText({ cleo: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(state.ended?.state).toBe('done');
    const [first, again] = here.starts().filter(({ index }) => index === 3 || index === 1);
    expect(again?.cwd).toBe(first?.cwd ?? '');
    expect(here.read('src/bob.txt') + here.read('src/more.txt')).toBe('bob\nmore\n');
    // The second review is shown all that was changed in that tree.
    expect(here.starts().find(({ index }) => index === 6)?.prompt).toMatch(/\+bob[\s\S]*\+more/);
  });

  test('that changes the same file after all is not brought in: nothing is lost, and it is said which file', async () => {
    await using here = await teamHome();
    here.script([
      {
        match: ASKED.plan,
        answer: planText([subtask('ann', { parallel: true }), subtask('bob', { parallel: true })]),
      },
      {
        match: ASKED.work('ann'),
        write: { 'src/ann.txt': 'ann\n', 'shared.txt': 'of ann\n' },
        answer: 'ann wrote it',
      },
      {
        match: ASKED.work('bob'),
        write: { 'src/bob.txt': 'bob\n', 'shared.txt': 'of bob\n' },
        answer: 'bob wrote it',
      },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(state.ended).toMatchObject({
      state: 'partial',
      text: expect.stringContaining('shared.txt: changed by bob as well'),
    });
    expect(here.git('status', '--porcelain')).toBe('');
    const trees = here.git('worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? [];
    expect(trees).toHaveLength(3);
    const [one, other] = trees.slice(1).map((line) => here.home.path && line.slice('worktree '.length));
    expect([one, other].map((path) => Bun.file(`${path}/shared.txt`).size)).toEqual([7, 7]);
    // Who has seen that continues: the first is brought in, and git keeps the second out.
    const again = await carriedOn(here, state);
    expect(here.read('shared.txt')).toBe('of ann\n');
    expect(again.works.map(({ status }) => status)).toEqual(['done', 'given up']);
    expect(here.starts()).toHaveLength(4);
  });

  test('that changes what was changed in the project meanwhile is not brought in', async () => {
    await using here = await teamHome();
    here.script([
      {
        match: ASKED.plan,
        answer: planText([subtask('ann', { parallel: true }), subtask('bob', { parallel: true })]),
      },
      {
        match: ASKED.work('ann'),
        write: { 'README.md': 'of ann\n', [`${here.project}/README.md`]: 'of me\n' },
        answer: 'a',
      },
      { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n' }, answer: 'b' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(here.read('README.md')).toBe('of me\n');
    expect(here.read('src/bob.txt')).toBe('bob\n');
    expect(state.works[0]).toMatchObject({
      status: 'given up',
      reason: expect.stringContaining('the project'),
    });
    expect(state.works[1]?.status).toBe('done');
  });

  test('is done where nothing had to be changed, whatever was committed in the project between two attempts', async () => {
    await using here = await teamHome();
    const go = `${here.home.path}/go`;
    here.script([
      {
        match: ASKED.plan,
        answer: planText([subtask('ann', { parallel: true }), subtask('bob', { parallel: true })]),
      },
      { match: ASKED.retry('bob looked'), write: { 'src/bob.txt': 'bob\n' }, answer: 'bob wrote it' },
      { match: ASKED.work('ann'), answer: 'ann looked' },
      { match: ASKED.work('bob'), answer: 'bob looked' },
      { match: ASKED.review(1), until: go, answer: verdictText({ ann: true, bob: false }) },
      { match: ASKED.review(2), answer: verdictText({ bob: true }) },
    ]);
    const going = carriedOn(here, here.begin());
    await here.until('it is reviewed', () => here.starts().length === 4);
    expect(here.starts()[3]?.prompt.match(/git sees no change/g)).toHaveLength(2);
    here.home.put('project/mine.txt', 'mine\n');
    here.git('add', '.');
    here.git('commit', '-q', '-m', 'mine');
    here.home.put('go', '');
    const state = await going;
    expect(state.works.map(({ status, merge }) => [status, merge?.kind])).toEqual([
      ['done', 'nothing'],
      ['done', 'merged'],
    ]);
    expect(here.starts()[5]?.prompt).not.toContain('mine.txt');
    expect(here.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  test('is brought in beside files whose names look like patterns', async () => {
    await using here = await teamHome();
    here.script([
      {
        match: ASKED.plan,
        answer: planText([subtask('ann', { parallel: true }), subtask('bob', { parallel: true })]),
      },
      { match: ASKED.work('ann'), write: { 'app/[id]/한글 b.ts': 'ann\n' }, answer: 'a' },
      { match: ASKED.work('bob'), write: { 'app/other.ts': 'bob\n', 'run.log': 'x' }, answer: 'b' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
    ]);
    here.git('-c', 'core.excludesFile=', 'config', 'core.excludesFile', `${here.home.path}/ignore`);
    here.home.put('ignore', '*.log\n');
    const state = await carriedOn(here, here.begin());
    expect(state.works.map(({ status }) => status)).toEqual(['done', 'done']);
    // What git ignores is brought in by nobody: its tree stays, and that is said.
    expect(here.git('worktree', 'list').split('\n')).toHaveLength(2);
    expect(worklogMarkdown(state).match(/^- Working tree: .*$/gm)).toEqual([
      '- Working tree: stays, 1 ignored file is left',
    ]);
    const review = here.starts().at(-1)?.prompt ?? '';
    expect(review).toContain('+++ b/app/[id]/한글 b.ts');
    for (const { cwd } of here.starts().slice(1, 3)) expect(review).toContain(`in the working tree ${cwd}.`);
  });

  test('is done one after the other where files are not committed', async () => {
    await using here = await teamHome();
    here.home.put('project/new.txt', 'mine\n');
    here.script([
      {
        match: ASKED.plan,
        answer: planText([subtask('ann', { parallel: true }), subtask('bob', { parallel: true })]),
      },
      { match: ASKED.work('ann|bob'), answer: 'done' },
      { match: ASKED.review(1), answer: verdictText({ ann: true, bob: true }) },
    ]);
    const state = await carriedOn(here, here.begin());
    expect(state.layout).toMatchObject({ parallel: [], reason: expect.stringContaining('not committed') });
    expect(
      here
        .starts()
        .slice(1, 3)
        .every(({ cwd }) => cwd === here.project),
    ).toBe(true);
  });
});

describe('a stop', () => {
  test('during planning leaves no process; continued, it is planned anew', async () => {
    await using here = await teamHome();
    here.script([
      { match: ASKED.plan, times: 1, until: '/nonexistent' },
      { match: ASKED.plan, answer: planText([subtask('ann')]) },
      { match: ASKED.work('ann'), answer: 'ann wrote it' },
      { match: ASKED.review(1), answer: verdictText({ ann: true }) },
    ]);
    const stop = new AbortController();
    const begun = here.begin();
    const going = carriedOn(here, begun, { signal: stop.signal });
    await here.until('it plans', () => here.starts().length === 1);
    stop.abort();
    const state = await going;
    expect(state.ended).toEqual({ state: 'stopped', text: 'Ctrl-C' });
    expect(withMarker({ name: 'SELF_GENERATION_RUN', value: `${turnOf(state, 'plan')}` })).toEqual([]);
    expect((await carriedOn(here, state)).ended?.state).toBe('done');
    expect(here.starts().map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });

  test('is what `subagents stop` of its run comes to', async () => {
    await using here = await teamHome();
    here.script([{ match: ASKED.plan, until: '/nonexistent' }]);
    const going = carriedOn(here, here.begin());
    await here.until('it plans', () => here.starts().length === 1);
    expect((await here.program(['subagents', 'stop', 'all'])).exitCode).toBe(0);
    expect((await going).ended?.state).toBe('stopped');
  });
});

test('one of a project is carried on at a time', async () => {
  await using here = await teamHome();
  const go = `${here.home.path}/go`;
  here.script([{ match: ASKED.plan, until: go, answer: '{"direct_answer": "Hello."}' }]);
  const begun = here.begin();
  const going = carriedOn(here, begun);
  await here.until('it plans', () => here.starts().length === 1);
  expect(() => here.begin()).toThrow('orchestration 1 of this project is at work');
  expect(await carryOn(begun.id, {}, here.world)).toMatchObject({ status: 'error' });
  here.home.put('go', '');
  expect((await going).ended).toEqual({ state: 'answered', text: 'Hello.' });
});
