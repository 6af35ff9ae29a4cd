import { expect, test } from 'bun:test';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { withTemporaryDirectory } from '../../src/sys/temporary-directory.ts';

test('withTemporaryDirectory() gives a directory that is only ours and removes it with its content', () => {
  const directory = withTemporaryDirectory((path) => {
    expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(`${path}/file`, '');
    return path;
  });
  expect(existsSync(directory)).toBe(false);
});

test('withTemporaryDirectory() removes it when the work fails', () => {
  let directory = '';
  const fail = () =>
    withTemporaryDirectory((path) => {
      directory = path;
      throw new Error('no');
    });
  expect(fail).toThrow('no');
  expect([directory !== '', existsSync(directory)]).toEqual([true, false]);
});
