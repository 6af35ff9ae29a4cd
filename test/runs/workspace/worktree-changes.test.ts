import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { lossOf } from '../../../src/runs/workspace/worktree.ts';
import { mergeChanges, readChanges } from '../../../src/runs/workspace/worktree-changes.ts';
import { gitAt, place } from './tree-place.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

const ID = '0123456789abcdef0123456789abcdef';

/** A run whose tree differs from its repository in every way. */
async function changedPlace() {
  const here = await place();
  const run = await here.made(here.runOf(ID));
  const { path } = run.worktree;
  const world = { paths: here.home.paths, env: here.env };
  const inside = (...args: string[]) => gitAt(path, args, here.env);
  writeFileSync(`${path}/committed.txt`, 'committed\n');
  await inside('add', 'committed.txt');
  await inside('commit', '--quiet', '-m', 'work');
  writeFileSync(`${path}/a.txt`, 'one\nchanged\n');
  rmSync(`${path}/sub/b.txt`);
  writeFileSync(`${path}/new.sh`, '#!/bin/sh\n');
  chmodSync(`${path}/new.sh`, 0o755);
  writeFileSync(`${path}/odd "name".bin`, Uint8Array.of(0, 1, 0xff, 10, 0xe9, 10));
  writeFileSync(`${path}/latin.txt`, Uint8Array.of(0xe9, 10));
  writeFileSync(`${path}/build.log`, 'ignored\n');
  return { here, run, path, world, inside };
}

const namesIn = (patch: string) =>
  [...patch.matchAll(/^diff --git "?a\/(.*?)\\?"? "?b\//gm)].map(([, name]) => name);

async function changesOf(
  given: Pick<Awaited<ReturnType<typeof changedPlace>>, 'run' | 'world'>,
): Promise<string> {
  const changes = await readChanges(given.run, given.world);
  if (changes.kind === 'failed') throw new Error(changes.reason);
  return changes.text;
}

describe('readChanges()', () => {
  test('has what is committed, what is not, and new files, and leaves the run and its index alone', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const before = await changed.inside('status', '--porcelain');
    const patch = await changesOf(changed);
    expect(namesIn(patch).sort()).toEqual(
      ['a.txt', 'committed.txt', 'latin.txt', 'new.sh', 'odd \\"name\\".bin', 'sub/b.txt'].sort(),
    );
    expect(patch).toContain('+changed\n');
    expect(patch).toContain('new file mode 100755');
    expect(await changed.inside('status', '--porcelain')).toBe(before);
    expect(readdirSync(`${here.home.paths.runs}/${ID}`)).toEqual([]);
  });

  test('is a plain patch whatever is configured for reading one, and runs nothing that the repository names', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const proof = `${here.home.path}/proof`;
    const program = `sh -c 'echo ran >> ${proof}; cat'`;
    const programs =
      'diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.smudge core.fsmonitor';
    for (const key of programs.split(' ')) await here.git('config', key, program);
    const looks =
      'diff.noprefix=true diff.mnemonicPrefix=true color.ui=always diff.context=0 diff.relative=true';
    for (const look of looks.split(' ')) await here.git('config', ...look.split('='));
    writeFileSync(`${changed.path}/.gitattributes`, '*.txt diff=x filter=x\n');
    // A repository in the tree, which has a configuration of its own.
    await gitAt(changed.path, ['init', '--quiet', 'nested'], here.env);
    await gitAt(`${changed.path}/nested`, ['commit', '--quiet', '--allow-empty', '-m', 'x'], here.env);
    await gitAt(`${changed.path}/nested`, ['config', 'core.fsmonitor', program], here.env);
    const patch = await changesOf(changed);
    expect(patch).toContain('diff --git a/a.txt b/a.txt\n');
    expect(patch).toContain('@@ -1 +1,2 @@\n one\n+changed\n');
    expect(namesIn(patch)).not.toContain('nested');
    expect((await mergeChanges(changed.run, changed.world)).kind).toBe('merged');
    expect(existsSync(proof)).toBe(false);
  });

  test('is against where it began, whatever becomes of the repository since', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const before = await changesOf(changed);
    writeFileSync(`${here.repository}/sub/c.txt`, 'other\n');
    await here.git('add', '.');
    await here.git('commit', '--quiet', '--amend', '-m', 'first, once more');
    expect(await changesOf(changed)).toBe(before);
    const base = await here.git('rev-parse', changed.run.worktree.base ?? '');
    await here.git('checkout', '--quiet', '-b', 'next', base);
    await here.git('commit', '--quiet', '--allow-empty', '-m', 'second');
    writeFileSync(`${here.repository}/d.txt`, 'more\n');
    await here.git('add', '.');
    await here.git('commit', '--quiet', '-m', 'third');
    expect(await changesOf(changed)).toBe(before);
    await changed.inside('stash', '--quiet', '--include-untracked');
    await changed.inside('merge', '--quiet', '--no-edit', 'next');
    expect(namesIn(await changesOf(changed))).toEqual(['committed.txt']);
  });

  test('is that of its branch when its tree is gone, and says so when that is gone too', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const { base: _, ...ofEarlier } = changed.run.worktree;
    rmSync(changed.path, { recursive: true });
    expect(namesIn(await changesOf(changed))).toEqual(['committed.txt']);
    const earlier = await changesOf({ ...changed, run: { ...changed.run, worktree: ofEarlier } });
    expect(namesIn(earlier)).toEqual(['committed.txt']);
    await here.git('worktree', 'prune');
    await here.git('branch', '-D', changed.run.worktree.branch);
    const reason = expect.stringContaining('neither its worktree nor its branch');
    expect(await readChanges(changed.run, changed.world)).toMatchObject({ kind: 'failed', reason });
  });
});

describe('mergeChanges()', () => {
  test('brings all of it, byte by byte, beside what is changed there, and commits nothing', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const { repository } = here;
    writeFileSync(`${repository}/mine.txt`, 'mine\n');
    writeFileSync(`${repository}/.gitignore`, 'node_modules/\n*.log\n*.tmp\n');
    const head = await here.git('rev-parse', 'HEAD');
    const merged = await mergeChanges(changed.run, changed.world);
    expect(merged).toMatchObject({ kind: 'merged' });
    expect('files' in merged && merged.files.toSorted()).toEqual(
      ['a.txt', 'committed.txt', 'latin.txt', 'new.sh', 'odd "name".bin', 'sub/b.txt'].sort(),
    );
    for (const name of ['a.txt', 'committed.txt', 'latin.txt', 'new.sh', 'odd "name".bin'])
      expect(readFileSync(`${repository}/${name}`)).toEqual(readFileSync(`${changed.path}/${name}`));
    expect(existsSync(`${repository}/sub/b.txt`)).toBe(false);
    expect(readFileSync(`${repository}/mine.txt`, 'utf8')).toBe('mine\n');
    expect(await here.git('rev-parse', 'HEAD')).toBe(head);
    expect(await mergeChanges(changed.run, changed.world)).toEqual({ kind: 'known' });
  });

  const conflicts: [what: string, name: string, text: string][] = [
    ['the same line is changed', 'a.txt', 'other\n'],
    ['a file of that name is there', 'new.sh', 'mine\n'],
  ];
  for (const [what, name, text] of conflicts)
    test(`changes nothing when ${what}, and names the file`, async () => {
      const changed = await changedPlace();
      using here = changed.here;
      writeFileSync(`${here.repository}/${name}`, text);
      const before = await here.git('status', '--porcelain');
      const reason = expect.stringContaining(name);
      expect(await mergeChanges(changed.run, changed.world)).toMatchObject({ kind: 'failed', reason });
      expect(await here.git('status', '--porcelain')).toBe(before);
      expect(readFileSync(`${here.repository}/${name}`, 'utf8')).toBe(text);
    });

  test('brings what is new since, also where what it brought is committed there, and nothing beside other work', async () => {
    const changed = await changedPlace();
    using here = changed.here;
    const { run, world, path } = changed;
    const { repository } = run.worktree;
    expect(await mergeChanges(run, world)).toMatchObject({ kind: 'merged' });
    writeFileSync(`${path}/new.sh`, '#!/bin/sh\ntrue\n');
    expect(await mergeChanges(run, world)).toMatchObject({ kind: 'merged' });
    expect(readFileSync(`${repository}/new.sh`, 'utf8')).toBe('#!/bin/sh\ntrue\n');
    await gitAt(repository, ['add', '--all'], here.env);
    await gitAt(repository, ['commit', '--quiet', '-m', 'merged'], here.env);
    writeFileSync(`${path}/a.txt`, 'one\nchanged again\n');
    expect(await mergeChanges(run, world)).toMatchObject({ kind: 'merged' });
    expect(readFileSync(`${repository}/a.txt`, 'utf8')).toBe('one\nchanged again\n');
    expect(await mergeChanges(run, world)).toEqual({ kind: 'known' });
    writeFileSync(`${repository}/more.txt`, 'mine\n');
    for (const text of ['theirs\n', 'theirs too\n']) {
      writeFileSync(`${path}/more.txt`, text);
      expect(await mergeChanges(run, world)).toMatchObject({ kind: 'failed' });
      expect(readFileSync(`${repository}/more.txt`, 'utf8')).toBe('mine\n');
      expect(readFileSync(`${repository}/a.txt`, 'utf8')).toBe('one\nchanged again\n');
    }
  });

  test('has nothing to bring of a tree in which nothing was changed', async () => {
    using here = await place();
    const run = await here.made(here.runOf(ID));
    mkdirSync(`${run.worktree.path}/node_modules`);
    expect(await mergeChanges(run, { paths: here.home.paths, env: here.env })).toEqual({ kind: 'nothing' });
    expect(await lossOf(run.worktree, { env: here.env, isMerged: false })).toBeNull();
  });
});
