import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync } from 'node:fs';
import { findProgram, withAbsolutePath } from '../../src/system/run-command.ts';
import { temporaryHome } from '../support/home.ts';

describe('findProgram()', () => {
  test('takes the first on the PATH that can be run, and no file or directory that cannot', () => {
    using home = temporaryHome();
    home.put('a/tool', 'not executable');
    mkdirSync(`${home.path}/b/tool`, { recursive: true });
    chmodSync(home.put('c/tool', '#!/bin/sh\n'), 0o755);
    chmodSync(home.put('d/tool', '#!/bin/sh\n'), 0o755);
    const PATH = ['a', 'b', 'c', 'd'].map((name) => `${home.path}/${name}`).join(':');
    expect(findProgram('tool', { PATH }, 'linux')).toBe(`${home.path}/c/tool`);
    expect(findProgram('other', { PATH }, 'linux')).toBeUndefined();
  });

  test('passes over places that depend on the directory that one is in', () => {
    using home = temporaryHome();
    chmodSync(home.put('tool', '#!/bin/sh\n'), 0o755);
    const before = process.cwd();
    process.chdir(home.path);
    try {
      expect(findProgram('tool', { PATH: '.::bin' }, 'linux')).toBeUndefined();
    } finally {
      process.chdir(before);
    }
    expect(findProgram('tool', {}, 'linux')).toBeUndefined();
  });

  test('knows the endings of Windows', () => {
    using home = temporaryHome();
    const path = home.put('tool.cmd', '');
    chmodSync(path, 0o755);
    expect(findProgram('tool', { Path: home.path }, 'win32')).toBe(path);
    expect(findProgram('tool', { PATH: home.path }, 'linux')).toBeUndefined();
  });
});

test('withAbsolutePath() leaves out what a PATH names below the current directory, and nothing else', () => {
  const env = { PATH: '/usr/bin:.::bin:/bin', HOME: 'x:y', LANG: undefined };
  expect(withAbsolutePath(env, 'linux')).toEqual({ PATH: '/usr/bin:/bin', HOME: 'x:y', LANG: undefined });
  expect(withAbsolutePath({ Path: 'bin:/bin' }, 'win32')).toEqual({ Path: '/bin' });
  expect(withAbsolutePath({ Path: 'bin:/bin' }, 'linux')).toEqual({ Path: 'bin:/bin' });
});
