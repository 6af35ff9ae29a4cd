import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { changesBetween, headOf, snapshotTree } from '../../../src/runs/workspace/snapshot.ts';
import { gitAt, place } from './tree-place.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

async function treeOf({ env }: Awaited<ReturnType<typeof place>>, cwd: string): Promise<string> {
  const tree = await snapshotTree(cwd, env);
  if (tree === undefined) throw new Error(`Cannot take a snapshot of "${cwd}"`);
  return tree;
}

test('headOf() is the branch and the commit, or that there is no branch; nothing where there is no commit', async () => {
  using here = await place();
  const { repository, git, env } = here;
  const [branch, commit] = [await git('branch', '--show-current'), await git('rev-parse', '--short', 'HEAD')];
  await git('tag', 'v1');
  expect(await headOf(repository, env)).toBe(`${branch.trim()} ${commit.trim()}`);
  await git('checkout', '-q', '--detach');
  expect(await headOf(repository, env)).toBe(`(no branch) ${commit.trim()}`);
  mkdirSync(`${here.path}/none`);
  expect(await headOf(`${here.path}/none`, env)).toBeUndefined();
});

describe('snapshotTree()', () => {
  test('has what is committed, what is not and what is new, and leaves the index and the branch alone', async () => {
    using here = await place();
    const { repository, git } = here;
    writeFileSync(`${repository}/a.txt`, 'changed\n');
    writeFileSync(`${repository}/staged.txt`, 'staged\n');
    await git('add', 'staged.txt');
    writeFileSync(`${repository}/odd "name"\n.txt`, 'new\n');
    writeFileSync(`${repository}/build.log`, 'ignored\n');
    rmSync(`${repository}/sub/b.txt`);
    const [status, index] = [await git('status', '--porcelain'), readFileSync(`${repository}/.git/index`)];
    const tree = await treeOf(here, `${repository}/sub`);
    const names = (await git('ls-tree', '-r', '-z', '--name-only', tree)).split('\0').filter(Boolean);
    expect(names.sort()).toEqual(['.gitignore', 'a.txt', 'odd "name"\n.txt', 'staged.txt']);
    expect(await git('show', `${tree}:a.txt`)).toBe('changed');
    expect(await git('status', '--porcelain')).toBe(status);
    expect(readFileSync(`${repository}/.git/index`).equals(index)).toBe(true);
    // The same tree has the same id.
    expect(await treeOf(here, repository)).toBe(tree);
  });

  test('takes a repository without a commit, and leaves out repositories in it and files of data', async () => {
    using here = await place();
    const root = `${here.path}/fresh`;
    mkdirSync(`${root}/inner`, { recursive: true });
    for (const path of [root, `${root}/inner`]) await gitAt(path, ['init', '--quiet'], here.env);
    writeFileSync(`${root}/small.txt`, 'small\n');
    writeFileSync(`${root}/data.bin`, '');
    truncateSync(`${root}/data.bin`, 33 * 1024 * 1024);
    const tree = await treeOf(here, root);
    expect(await gitAt(root, ['ls-tree', '-r', '--name-only', tree], here.env)).toBe('small.txt');
  });

  test('is undefined outside of a repository, and where there is no git', async () => {
    using here = await place();
    mkdirSync(`${here.path}/plain`);
    expect(await snapshotTree(`${here.path}/plain`, here.env)).toBeUndefined();
    expect(await snapshotTree(here.repository, { ...here.env, PATH: '/nowhere' })).toBeUndefined();
  });
});

describe('changesBetween()', () => {
  test('names each file with what happened to it, and shows the difference', async () => {
    using here = await place();
    const { repository, env } = here;
    const before = await treeOf(here, repository);
    writeFileSync(`${repository}/a.txt`, 'one\ntwo\n');
    rmSync(`${repository}/sub/b.txt`);
    writeFileSync(`${repository}/new\ttab.txt`, 'new\n');
    writeFileSync(`${repository}/picture.bin`, Uint8Array.of(0, 1, 2));
    const after = await treeOf(here, repository);
    const changes = await changesBetween(`${repository}/sub`, before, after, env);
    expect(changes.files.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
      { path: 'a.txt', how: 'changed', added: 1, deleted: 0 },
      { path: 'new\ttab.txt', how: 'added', added: 1, deleted: 0 },
      { path: 'picture.bin', how: 'added', added: null, deleted: null },
      { path: 'sub/b.txt', how: 'deleted', added: 0, deleted: 1 },
    ]);
    expect(changes.patch).toContain('+two');
    expect(changes.isCut).toBe(false);
    expect(await changesBetween(repository, after, after, env)).toEqual({
      files: [],
      patch: '',
      isCut: false,
    });
  });

  test('shows no secret and no control character, and cuts what is long', async () => {
    using here = await place();
    const { repository, env } = here;
    const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    const before = await treeOf(here, repository);
    writeFileSync(`${repository}/a.txt`, `token=${secret}\n\x1b[31mred\n${'한국어 '.repeat(200_000)}\n`);
    const changes = await changesBetween(repository, before, await treeOf(here, repository), env);
    expect(changes.patch).not.toContain(secret);
    expect(changes.patch).not.toContain('\x1b');
    expect(changes.patch.length).toBeLessThanOrEqual(256 * 1024);
    expect(changes.isCut).toBe(true);
  });

  test('says why where git cannot, as for what is no tree', async () => {
    using here = await place();
    const tree = await treeOf(here, here.repository);
    for (const other of ['--output=/tmp/x', '0'.repeat(40)])
      expect(await changesBetween(here.repository, tree, other, here.env)).toEqual({
        files: [],
        patch: expect.stringContaining('(git cannot show what has changed: '),
        isCut: true,
      });
  });
});
