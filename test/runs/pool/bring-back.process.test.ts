import { describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { PoolPlace } from '../../../src/runs/model/pool-role.ts';
import type { Run } from '../../../src/runs/model/run.ts';
import { bringBack, targetFor } from '../../../src/runs/pool/bring-back.ts';
import { temporaryHome } from '../../support/home.ts';
import { commit, git } from './pool-home.ts';

const BRANCH = 'subagent/task-1a2b3c4d';

/** A repository, and a run whose machine has put a line into its file. */
function world() {
  const home = temporaryHome();
  const repository = `${home.path}/project`;
  mkdirSync(repository);
  git(repository, 'init', '--quiet', '--initial-branch=main', '.');
  writeFileSync(`${repository}/file`, 'one\ntwo\n');
  commit(repository, 'first');
  const base = git(repository, 'rev-parse', 'HEAD').trim();
  writeFileSync(`${repository}/file`, 'one\nand a half\ntwo\n');
  const patch = `${home.path}/patch`;
  writeFileSync(patch, git(repository, 'diff'));
  git(repository, 'checkout', '--quiet', '--', 'file');
  const worktree = { path: `${home.path}/tree`, repository, branch: BRANCH, base };
  const run = { id: '1a2b3c4d', cwd: repository, worktree, pool: { commit: base } } as Run & {
    pool: PoolPlace;
  };
  const here = { paths: home.paths, env: { PATH: process.env.PATH, HOME: home.path } };
  const commits = () => git(repository, 'log', '--format=%s', BRANCH, '--').trim().split('\n');
  return { home, repository, patch, run, here, commits, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

describe('bringBack()', () => {
  test('adds the changes as one commit, and touches neither what is checked out nor the index', async () => {
    using made = world();
    const { repository, patch, run, here } = made;
    await bringBack(patch, 1, await targetFor(made.home.path, 1, run, here), run, here);
    expect(made.commits()).toEqual(['Changes of a sub-agent on another machine, turn 1', 'first']);
    expect(git(repository, 'show', `${BRANCH}:file`)).toBe('one\nand a half\ntwo\n');
    expect(readFileSync(`${repository}/file`, 'utf8')).toBe('one\ntwo\n');
    expect(git(repository, 'status', '--porcelain')).toBe('');
  });

  test('adds those of a turn once, also when it is done again', async () => {
    using made = world();
    const { patch, run, here } = made;
    for (let time = 0; time < 2; time++)
      await bringBack(patch, 1, await targetFor(made.home.path, 1, run, here), run, here);
    expect(made.commits()).toHaveLength(2);
  });

  test('adds them to what somebody has put into the branch meanwhile', async () => {
    using made = world();
    const { repository, patch, run, here } = made;
    const target = await targetFor(made.home.path, 1, run, here);
    git(repository, 'checkout', '--quiet', '-b', BRANCH);
    writeFileSync(`${repository}/other`, 'by a person\n');
    commit(repository, 'by a person');
    git(repository, 'checkout', '--quiet', 'main');
    await bringBack(patch, 1, target, run, here);
    expect(made.commits().slice(1)).toEqual(['by a person', 'first']);
    expect(git(repository, 'ls-tree', '--name-only', BRANCH)).toBe('file\nother\n');
  });

  test('says that they could not be added, and leaves the branch as it is', async () => {
    using made = world();
    const { repository, patch, run, here } = made;
    git(repository, 'checkout', '--quiet', '-b', BRANCH);
    rmSync(`${repository}/file`);
    commit(repository, 'without it');
    git(repository, 'checkout', '--quiet', 'main');
    const target = await targetFor(made.home.path, 1, run, here);
    await expect(bringBack(patch, 1, target, run, here)).rejects.toThrow(
      `they could not be added to the branch ${BRANCH}`,
    );
    expect(made.commits()).toEqual(['without it', 'first']);
  });
});
