import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { findFiles, temporaryDirectory } from '../../src/system/files.ts';
import { type Home, temporaryHome } from '../support/home.ts';

function names(home: Home, root = home.path): string[] {
  const real = `${realpathSync(home.path)}/`;
  return findFiles(root, '.jsonl').files.map((file) => file.path.replace(real, ''));
}

describe('findFiles()', () => {
  test('finds files of the name at any depth, in order, with size and time', () => {
    using home = temporaryHome();
    for (const name of ['b.jsonl', 'a/c.jsonl', 'a/b/d/e.jsonl', 'a/x.json', 'jsonl']) home.put(name, 'text');
    expect(names(home)).toEqual(['a/b/d/e.jsonl', 'a/c.jsonl', 'b.jsonl']);
    const [file] = findFiles(home.path, '.jsonl').files;
    expect(file?.bytes).toBe(4);
    expect(Math.abs(Date.now() - (file?.modifiedMs ?? 0))).toBeLessThan(60_000);
  });

  test('finds a file that is given itself, whatever its name', () => {
    using home = temporaryHome();
    const path = home.put('transcript.txt', '');
    expect(names(home, path)).toEqual(['transcript.txt']);
  });

  test('follows links to files, once, and no links to directories', () => {
    using home = temporaryHome();
    home.put('real/a.jsonl', '');
    home.put('elsewhere/b.jsonl', '');
    symlinkSync(`${home.path}/elsewhere/b.jsonl`, `${home.path}/real/link.jsonl`);
    symlinkSync(`${home.path}/real/a.jsonl`, `${home.path}/real/again.jsonl`);
    symlinkSync(home.path, `${home.path}/real/loop`);
    symlinkSync('/', `${home.path}/real/root.jsonl`);
    const found = findFiles(`${home.path}/real`, '.jsonl');
    expect(names(home, `${home.path}/real`)).toEqual(['elsewhere/b.jsonl', 'real/a.jsonl']);
    expect(found.linksNotFollowed).toBe(2);
    expect(found.unreadable).toEqual([]);
  });

  test('follows a link that is given itself', () => {
    using home = temporaryHome();
    home.put('real/a.jsonl', '');
    symlinkSync(`${home.path}/real`, `${home.path}/link`);
    expect(names(home, `${home.path}/link`)).toEqual(['real/a.jsonl']);
  });

  test('does not open what is no file', () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/directory.jsonl`);
    expect(Bun.spawnSync(['mkfifo', `${home.path}/pipe.jsonl`]).exitCode).toBe(0);
    expect(names(home)).toEqual([]);
  });

  test('reports what it cannot look into, and finds the rest', () => {
    using home = temporaryHome();
    home.put('a.jsonl', '');
    symlinkSync('/nowhere/at/all', `${home.path}/broken.jsonl`);
    const found = findFiles(home.path, '.jsonl');
    expect(found.files).toHaveLength(1);
    expect(found.unreadable).toEqual([
      { path: expect.stringContaining('broken.jsonl'), reason: expect.stringContaining('ENOENT') },
    ]);
    expect(findFiles('/nowhere/at/all', '.jsonl').unreadable).toHaveLength(1);
  });

  const unlessRoot = process.getuid?.() === 0 ? test.skip : test;
  unlessRoot('reports a directory that is not for us', () => {
    using home = temporaryHome();
    home.put('closed/a.jsonl', '');
    chmodSync(`${home.path}/closed`, 0);
    const found = findFiles(home.path, '.jsonl');
    chmodSync(`${home.path}/closed`, 0o700);
    expect(found.unreadable).toHaveLength(1);
  });
});

test('temporaryDirectory() makes one that is only ours and removes it with its content', () => {
  let path = '';
  {
    using directory = temporaryDirectory(tmpdir(), 'self-generation-made-');
    path = directory.path;
    expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(`${path}/file`, '');
  }
  expect(existsSync(path)).toBe(false);
});

test('temporaryDirectory() removes it when the work in it fails, also later', async () => {
  let path = '';
  const fail = async () => {
    using directory = temporaryDirectory(tmpdir(), 'self-generation-made-');
    path = directory.path;
    await Bun.sleep(1);
    expect(existsSync(path)).toBe(true);
    throw new Error('no');
  };
  await expect(fail()).rejects.toThrow('no');
  expect([path !== '', existsSync(path)]).toEqual([true, false]);
});

test('temporaryDirectory() removes what a killed process left there long ago, and nothing else', () => {
  const parent = mkdtempSync(`${tmpdir()}/self-generation-parent-`);
  for (const name of ['import-old', 'import-new', 'other-old']) mkdirSync(`${parent}/${name}`);
  for (const name of ['import-old', 'other-old']) utimesSync(`${parent}/${name}`, 1, 1);
  temporaryDirectory(parent, 'import-')[Symbol.dispose]();
  expect(readdirSync(parent).sort()).toEqual(['import-new', 'other-old']);
  rmSync(parent, { recursive: true });
});

test('temporaryDirectory() leaves what is not a directory of ours, and works beside what it cannot remove', () => {
  const parent = mkdtempSync(`${tmpdir()}/self-generation-parent-`);
  const elsewhere = mkdtempSync(`${tmpdir()}/self-generation-elsewhere-`);
  writeFileSync(`${elsewhere}/file`, '');
  symlinkSync(elsewhere, `${parent}/import-link`);
  writeFileSync(`${parent}/import-file`, '');
  mkdirSync(`${parent}/import-closed/inner`, { recursive: true });
  writeFileSync(`${parent}/import-closed/inner/file`, '');
  chmodSync(`${parent}/import-closed/inner`, 0o500);
  for (const path of [elsewhere, `${parent}/import-file`, `${parent}/import-closed`]) utimesSync(path, 1, 1);
  {
    using directory = temporaryDirectory(parent, 'import-');
    expect(statSync(directory.path).isDirectory()).toBe(true);
  }
  const left = process.getuid?.() === 0 ? [] : ['import-closed'];
  expect(readdirSync(parent).sort()).toEqual([...left, 'import-file', 'import-link']);
  expect(readdirSync(elsewhere)).toEqual(['file']);
  for (const inner of left) chmodSync(`${parent}/${inner}/inner`, 0o700);
  for (const path of [parent, elsewhere]) rmSync(path, { recursive: true });
});
