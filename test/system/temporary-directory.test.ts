import { expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { withTemporaryDirectory } from '../../src/system/files.ts';

test('withTemporaryDirectory() returns a directory that is only ours and removes it with its content', () => {
  const directory = withTemporaryDirectory(tmpdir(), 'self-generation-made-', (path) => {
    expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(`${path}/file`, '');
    return path;
  });
  expect(existsSync(directory)).toBe(false);
});

test('withTemporaryDirectory() removes it when the work fails', () => {
  let directory = '';
  const fail = () =>
    withTemporaryDirectory(tmpdir(), 'self-generation-made-', (path) => {
      directory = path;
      throw new Error('no');
    });
  expect(fail).toThrow('no');
  expect([directory !== '', existsSync(directory)]).toEqual([true, false]);
});

test('withTemporaryDirectory() removes what a killed process left there long ago, and nothing else', () => {
  const parent = mkdtempSync(`${tmpdir()}/self-generation-parent-`);
  for (const name of ['import-old', 'import-new', 'other-old']) mkdirSync(`${parent}/${name}`);
  for (const name of ['import-old', 'other-old']) utimesSync(`${parent}/${name}`, 1, 1);
  withTemporaryDirectory(parent, 'import-', () => {});
  expect(readdirSync(parent).sort()).toEqual(['import-new', 'other-old']);
  rmSync(parent, { recursive: true });
});
