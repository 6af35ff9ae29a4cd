import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { WorktreeMode } from '../../../src/runs/model/run.ts';
import { leaveWorktree, type Prepared, prepareWorktree } from '../../../src/runs/workspace/worktree.ts';
import { putFile } from '../../support/tree.ts';
import { gitAt, place, withTree } from './tree-place.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

const ID = '0123456789abcdef0123456789abcdef';

describe('prepareWorktree()', () => {
  const rows: [WorktreeMode, boolean, Prepared['kind']][] = [
    ['never', true, 'none'],
    ['auto', false, 'none'],
    ['auto', true, 'made'],
    ['always', false, 'made'],
  ];
  for (const [worktreeMode, isShared, kind] of rows)
    test(`gives ${kind} for "${worktreeMode}" when the directory is ${isShared ? '' : 'not '}shared`, async () => {
      using here = await place();
      expect((await here.prepare(here.runOf(ID, { worktreeMode }), isShared)).kind).toBe(kind);
    });

  test('makes a private tree of HEAD on a branch of the run, at the same place below it', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID, { cwd: `${here.repository}/sub` }));
    const { path, branch, repository } = run.worktree;
    expect({ branch, repository }).toEqual({ branch: 'subagent/01234567', repository: here.repository });
    expect(run.worktree.base).toBe(await here.git('rev-parse', 'HEAD'));
    expect(path).toMatch(new RegExp(`^${here.home.paths.worktrees}/[0-9a-f]{16}/${ID}$`));
    expect(run.cwd).toBe(`${path}/sub`);
    expect(readFileSync(`${path}/sub/b.txt`, 'utf8')).toBe('two\n');
    expect(await gitAt(path, ['branch', '--show-current'], here.env)).toBe(branch);
    expect(await here.git('status', '--porcelain')).toBe('');
  });

  const branches: [label: string, branch: string][] = [
    ['Fix the tests!', 'subagent/fix-the-tests-01234567'],
    ['결제 / 테스트.lock', 'subagent/결제-테스트-lock-01234567'],
    ['--..~^:?*[\\@{', 'subagent/01234567'],
    [`${'a'.repeat(39)} tail`, `subagent/${'a'.repeat(39)}-01234567`],
  ];
  for (const [label, branch] of branches)
    test(`names the branch ${branch} after the label "${label}"`, async () => {
      using here = await place();
      const run = await here.made(here.runOf(ID, { label }));
      expect(await gitAt(run.worktree.path, ['branch', '--show-current'], here.env)).toBe(branch);
    });

  test('makes a removed tree again with the branch that it had, also one of an earlier name', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID, { label: 'new name' }));
    const branch = `subagent/${ID}`;
    await gitAt(run.worktree.path, ['branch', '-m', branch], here.env);
    await here.commit(run.worktree.path);
    rmSync(run.worktree.path, { recursive: true });
    await here.git('worktree', 'prune');
    const { path, repository } = run.worktree;
    const again = await here.made({ ...run, worktree: { path, repository, branch } });
    expect(again.worktree).toMatchObject({ path, branch });
    expect(await gitAt(path, ['log', '--format=%s', '-1'], here.env)).toBe('work');
  });

  test('keeps a run in its tree where a link stands in the place of its directory', async () => {
    using here = await place();
    const outside = `${realpathSync(here.home.path)}/outside`;
    mkdirSync(outside);
    symlinkSync(outside, `${here.repository}/out`);
    symlinkSync('sub', `${here.repository}/in`);
    await here.git('add', 'out', 'in');
    await here.git('commit', '--quiet', '-m', 'links');
    for (const name of ['out', 'in']) {
      rmSync(`${here.repository}/${name}`);
      mkdirSync(`${here.repository}/${name}`);
    }
    const out = await here.made(here.runOf('a', { cwd: `${here.repository}/out` }));
    expect(out.cwd).toBe(out.worktree.path);
    const inside = await here.made(here.runOf('b', { cwd: `${here.repository}/in` }));
    expect(inside.cwd).toBe(`${inside.worktree.path}/in`);
  });

  test('gives the tree again when it is there already', async () => {
    using here = await place();
    const first = await here.prepare(here.runOf(ID));
    expect(await here.prepare(here.runOf(ID))).toEqual(first);
  });

  test('makes the trees of twelve runs that begin at once', async () => {
    using here = await place();
    const runs = Array.from({ length: 12 }, (_, index) => here.runOf(`run-${index}`));
    const prepared = await Promise.all(runs.map((run) => here.prepare(run)));
    expect(prepared.map(({ kind }) => kind)).toEqual(runs.map(() => 'made'));
    expect((await here.git('worktree', 'list')).split('\n')).toHaveLength(13);
  });

  test('fails without a repository when it has to be one, and does without it otherwise', async () => {
    using here = await place();
    const cwd = here.home.path;
    const failed = await here.prepare(here.runOf(ID, { cwd }));
    expect(failed).toMatchObject({ kind: 'failed', reason: expect.stringContaining('not a git repository') });
    expect(await here.prepare(here.runOf(ID, { cwd, worktreeMode: 'auto' }), true)).toEqual({ kind: 'none' });
  });

  test('fails when there is no commit yet', async () => {
    using here = await place();
    const cwd = `${here.home.path}/empty`;
    mkdirSync(cwd);
    await gitAt(cwd, ['init', '--quiet'], here.env);
    const failed = await here.prepare(here.runOf(ID, { cwd }));
    expect(failed).toMatchObject({ kind: 'failed', reason: expect.stringContaining('has no commit yet') });
  });

  test('refuses an id that would lead to another path', async () => {
    using here = await place();
    expect(await here.prepare(here.runOf('../../out'))).toMatchObject({ kind: 'failed' });
    expect(existsSync(here.home.paths.worktrees)).toBe(false);
  });
});

describe('leaveWorktree()', () => {
  test('says nothing for a run without a tree', async () => {
    using here = await place();
    expect(await leaveWorktree(here.runOf(ID), { env: here.env })).toBeNull();
  });

  test('removes a clean tree, its branch and its record', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    mkdirSync(`${run.worktree.path}/node_modules/x`, { recursive: true });
    writeFileSync(`${run.worktree.path}/node_modules/x/index.js`, '');
    expect(await leaveWorktree(run, { env: here.env })).toBeNull();
    expect(existsSync(run.worktree.path)).toBe(false);
    expect(await here.git('branch', '--list', 'subagent/*')).toBe('');
    expect(await here.git('worktree', 'list')).not.toContain(ID);
    expect(readdirSync(`${here.repository}/.git`)).not.toContain('worktrees');
  });

  type Leaves = (path: string, git: (...args: string[]) => Promise<string>) => unknown;
  const kept: [what: string, leaves: Leaves, reason: string][] = [
    ['a changed file', (path) => appendFileSync(`${path}/a.txt`, 'x'), '1 file is not committed'],
    ['a new file', (path) => writeFileSync(`${path}/new.txt`, 'x'), '1 file is not committed'],
    ['a removed file', (path) => rmSync(`${path}/a.txt`), '1 file is not committed'],
    [
      'a staged file whose change was undone outside of the index',
      async (path, git) => {
        appendFileSync(`${path}/a.txt`, 'x');
        await git('add', 'a.txt');
        writeFileSync(`${path}/a.txt`, 'one\n');
      },
      '1 file is not committed',
    ],
    [
      'files in a new directory',
      (path) => ['one', 'two'].map((name) => putFile(`${path}/docs/${name}.md`, 'x')),
      '2 files are not committed',
    ],
    ['an ignored file', (path) => writeFileSync(`${path}/result.log`, 'x'), '1 ignored file is left'],
    [
      'a commit',
      (_path, git) => git('commit', '--quiet', '--allow-empty', '-m', 'work'),
      '1 commit is in no other branch',
    ],
    [
      'a commit on no branch at all',
      async (_path, git) => {
        await git('checkout', '--quiet', '--detach');
        await git('commit', '--quiet', '--allow-empty', '-m', 'work');
      },
      '1 commit is in no other branch',
    ],
    [
      'new files that the configuration hides',
      async (path, git) => {
        await git('config', 'status.showUntrackedFiles', 'no');
        writeFileSync(`${path}/new.txt`, 'x');
      },
      '1 file is not committed',
    ],
  ];
  for (const [what, leaves, reason] of kept)
    test(`keeps a tree with ${what} and says where it is`, async () => {
      using here = await place();
      const run = await here.made(here.runOf(ID));
      const { path, branch } = run.worktree;
      await leaves(path, (...args) => gitAt(path, args, here.env));
      const before = await gitAt(path, ['status', '--porcelain', '--ignored'], here.env);
      expect(await leaveWorktree(run, { env: here.env })).toBe(
        `worktree kept: ${path} (branch ${branch}): ${reason}`,
      );
      expect(await gitAt(path, ['status', '--porcelain', '--ignored'], here.env)).toBe(before);
      expect(await here.git('branch', '--list', branch)).toContain(branch);
    });

  test('removes a tree whose commit is in another branch', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    await here.commit(run.worktree.path);
    await here.git('merge', '--quiet', '--ff-only', run.worktree.branch);
    expect(await leaveWorktree(run, { env: here.env })).toBeNull();
    expect(existsSync(run.worktree.path)).toBe(false);
    expect(await here.git('log', '--format=%s', '-1')).toBe('work');
  });

  test('keeps both of two trees that hold the same commit', async () => {
    using here = await place();
    const [one, other] = [await here.made(here.runOf('one')), await here.made(here.runOf('other'))];
    await here.commit(one.worktree.path);
    await gitAt(other.worktree.path, ['merge', '--quiet', '--ff-only', one.worktree.branch], here.env);
    for (const run of [one, other])
      expect(await leaveWorktree(run, { env: here.env })).toContain('1 commit is in no other branch');
  });

  test('keeps the branch of a tree that somebody removed, as long as it has a commit of its own', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    const { path, branch } = run.worktree;
    await here.commit(path);
    rmSync(path, { recursive: true });
    expect(await leaveWorktree(run, { env: here.env })).toStartWith(`branch kept: ${branch}`);
    await here.git('merge', '--quiet', '--ff-only', branch);
    expect(await leaveWorktree(run, { env: here.env })).toBeNull();
    expect(await here.git('branch', '--list', 'subagent/*')).toBe('');
  });

  test('makes a removed tree again at the same place, with what its branch holds', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    await here.commit(run.worktree.path);
    rmSync(run.worktree.path, { recursive: true });
    await leaveWorktree(run, { env: here.env });
    const again = await here.made(here.runOf(ID));
    expect(again.worktree).toEqual(run.worktree);
    expect(await gitAt(again.worktree.path, ['log', '--format=%s', '-1'], here.env)).toBe('work');
  });

  test('keeps everything when the repository cannot be read', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    rmSync(`${here.repository}/.git/HEAD`);
    expect(await leaveWorktree(run, { env: here.env })).toStartWith(`worktree kept: ${run.worktree.path}`);
    expect(existsSync(`${run.worktree.path}/a.txt`)).toBe(true);
  });
});

/** Programs that leave a mark where they are run. */
function traps({ home }: Awaited<ReturnType<typeof place>>) {
  const marks = `${home.path}/marks`;
  mkdirSync(marks);
  const trap = (name: string, at = `${home.path}/traps/${name}`) =>
    putFile(at, `#!/bin/sh\ntouch "${marks}/${name}"\ncat\n`, 0o755);
  return { marks, trap };
}

test('nothing that the repository or the environment names is run', async () => {
  using here = await place();
  const { marks, trap } = traps(here);
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change'])
    trap(hook, `${here.repository}/.git/hooks/${hook}`);
  writeFileSync(`${here.repository}/.gitattributes`, '*.txt filter=trap\n*.md filter=a=b\n');
  writeFileSync(`${here.repository}/c.md`, 'three\n');
  await here.git('add', '.gitattributes', 'c.md');
  await here.git('-c', 'core.hooksPath=/dev/null', 'commit', '--quiet', '-m', 'attributes');
  await here.git('config', 'core.fsmonitor', trap('fsmonitor'));
  for (const key of ['smudge', 'clean', 'process']) await here.git('config', `filter.trap.${key}`, trap(key));
  await here.git('config', 'filter.trap.required', 'true');
  writeFileSync(`${here.home.path}/included`, `[filter "a=b"]\n\tsmudge = ${trap('included')}\n`);
  await here.git('config', 'include.path', `${here.home.path}/included`);
  for (const name of readdirSync(marks)) rmSync(`${marks}/${name}`);

  const env = { ...here.env, GIT_EXTERNAL_DIFF: trap('environment'), GIT_DIR: '/nowhere' };
  const prepared = await prepareWorktree(here.runOf(ID), here.home.paths, { env, isShared: false });
  const run = withTree(here.runOf(ID), prepared);
  expect(readFileSync(`${run.worktree.path}/a.txt`, 'utf8')).toBe('one\n');
  // Of the same length, so that the file has to be read to see it.
  writeFileSync(`${run.worktree.path}/a.txt`, 'eno\n');
  expect(await leaveWorktree(run, { env })).toContain('1 file is not committed');
  writeFileSync(`${run.worktree.path}/a.txt`, 'one\n');
  expect(await leaveWorktree(run, { env })).toBeNull();
  expect(readdirSync(marks)).toEqual([]);
  // The traps are good ones: git itself falls into them.
  await here.git('worktree', 'add', '--quiet', `${dirname(run.worktree.path)}/other`).catch(() => {});
  expect(readdirSync(marks)).toContain('reference-transaction');
  expect(readdirSync(marks)).toContain('process');
});

for (const condition of ['gitdir:**/worktrees/**', 'onbranch:subagent/**'])
  test(`nothing is run that the repository names for such trees alone, by ${condition}`, async () => {
    using here = await place();
    const { marks, trap } = traps(here);
    writeFileSync(`${here.repository}/.gitattributes`, '*.txt filter=trap\n');
    await here.git('add', '.gitattributes');
    await here.git('commit', '--quiet', '-m', 'attributes');
    const filter = `smudge = ${trap('smudge')}\n\tclean = ${trap('clean')}\n\trequired = true`;
    const included = here.home.put('included', `[filter "trap"]\n\t${filter}\n`);
    await here.git('config', `includeIf.${condition}.path`, included);

    const run = await here.made(here.runOf(ID));
    expect(readFileSync(`${run.worktree.path}/a.txt`, 'utf8')).toBe('one\n');
    expect(readdirSync(marks)).toEqual([]);
    // So that the file has to be read again to see that it is unchanged.
    utimesSync(`${run.worktree.path}/a.txt`, 1, 1);
    expect(await leaveWorktree(run, { env: here.env })).toBeNull();
    expect(existsSync(run.worktree.path)).toBe(false);
    expect(readdirSync(marks)).toEqual([]);
    // The traps are good ones: git itself falls into them.
    const other = `${dirname(run.worktree.path)}/other`;
    await here.git('worktree', 'add', '--quiet', '-b', 'subagent/other', other);
    await gitAt(other, ['reset', '--quiet', '--hard'], here.env);
    utimesSync(`${other}/a.txt`, 1, 1);
    await gitAt(other, ['status'], here.env);
    expect(readdirSync(marks)).toContain('clean');
  });

test('a tree that was not filled before its maker died is filled', async () => {
  using here = await place();
  const run = await here.made(here.runOf(ID));
  const { path } = run.worktree;
  const index = await gitAt(path, ['rev-parse', '--path-format=absolute', '--git-path', 'index'], here.env);
  for (const left of [index, `${path}/a.txt`]) rmSync(left);
  await here.made(here.runOf(ID));
  expect(await gitAt(path, ['status', '--porcelain'], here.env)).toBe('');
});

test('a filter of the user himself is used', async () => {
  using here = await place();
  appendFileSync(
    `${here.home.path}/.gitconfig`,
    '[filter "upper"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n',
  );
  writeFileSync(`${here.repository}/.gitattributes`, 'a.txt filter=upper\n');
  await here.git('add', '.gitattributes');
  await here.git('commit', '--quiet', '-m', 'attributes');
  const run = await here.made(here.runOf(ID));
  expect(readFileSync(`${run.worktree.path}/a.txt`, 'utf8')).toBe('ONE\n');
  expect(await leaveWorktree(run, { env: here.env })).toBeNull();
});
