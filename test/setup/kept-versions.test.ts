import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  checkVersions,
  keepVersion,
  putProgram,
  removeProgram,
  removeUnusedVersions,
} from '../../src/setup/kept-versions.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { putFile } from '../support/tree.ts';

/** A home with the program of 0.2.0 in its place, behind which that of 0.1.0 is kept. */
function updated(): Home {
  const home = temporaryHome();
  putFile(home.paths.binary, '0.1.0', 0o700);
  keepVersion(home.paths, '0.1.0');
  putProgram(home.put('new', '0.2.0'), home.paths, 'linux');
  return home;
}
const OLD = 'self-generation-0.1.0';

describe('keepVersion()', () => {
  test('keeps the program under its version while another takes its place', () => {
    using home = updated();
    expect(readFileSync(home.paths.binary, 'utf8')).toBe('0.2.0');
    expect(readFileSync(`${home.paths.versions}/${OLD}`, 'utf8')).toBe('0.1.0');
    expect(statSync(home.paths.versions).mode & 0o777).toBe(0o700);
  });

  test('replaces what was kept under that version before', () => {
    using home = updated();
    expect(keepVersion(home.paths, '0.1.0')).toBe(`${home.paths.versions}/${OLD}`);
    expect(readFileSync(`${home.paths.versions}/${OLD}`, 'utf8')).toBe('0.2.0');
  });
});

describe('removeUnusedVersions()', () => {
  test('removes what nobody runs, and the folder with it', () => {
    using home = updated();
    const { versions } = home.paths;
    expect(removeUnusedVersions(home.paths, [])).toEqual({ removed: [`${versions}/${OLD}`], stay: [] });
    expect(existsSync(versions)).toBe(false);
  });

  test('leaves what somebody runs, under the old name or the new one', () => {
    using home = updated();
    const { versions, binary } = home.paths;
    const stays = { removed: [], stay: [`${versions}/${OLD}`] };
    for (const running of [
      { path: binary, isReplaced: true },
      { path: `${versions}/${OLD}`, isReplaced: false },
      { path: `${versions}/new-x/unpacked/self-generation`, isReplaced: false },
    ])
      expect(removeUnusedVersions(home.paths, [running])).toEqual(stays);
    expect(removeUnusedVersions(home.paths, [{ path: binary, isReplaced: false }]).stay).toEqual([]);
  });

  test('leaves what is not a program of ours', () => {
    using home = updated();
    const { versions } = home.paths;
    mkdirSync(`${versions}/new-abc`);
    removeUnusedVersions(home.paths, []);
    expect(readdirSync(versions)).toEqual(['new-abc']);
  });
});

test('doctor says what is kept and what it has removed, and nothing where nothing was replaced', () => {
  using home = updated();
  expect(checkVersions(home)).toEqual([
    { status: 'ok', detail: `no session runs one any more; removed ${home.paths.versions}/${OLD}` },
  ]);
  expect(checkVersions(home)).toEqual([]);
});

test('putProgram() on Windows has a place for the old program, which cannot be replaced while it runs', () => {
  using home = temporaryHome();
  putFile(home.paths.binary, 'old', 0o700);
  putProgram(home.put('new', 'new'), home.paths, 'win32');
  expect(readFileSync(home.paths.binary, 'utf8')).toBe('new');
  expect(readdirSync(home.paths.versions)).toEqual([]);
});

describe('removeProgram()', () => {
  const refuses = () => {
    throw new Error('EPERM: operation not permitted');
  };

  test('puts one that runs aside on Windows, which does not let go of it', () => {
    using home = temporaryHome();
    const path = home.put('program.exe', 'program');
    removeProgram(path, 'win32', refuses);
    expect(existsSync(path)).toBe(false);
    const [aside = ''] = readdirSync(tmpdir()).filter((name) => /^[0-9a-f-]{36}-program\.exe$/.test(name));
    expect(readFileSync(`${tmpdir()}/${aside}`, 'utf8')).toBe('program');
    rmSync(`${tmpdir()}/${aside}`);
  });

  test('says why it cannot elsewhere', () => {
    using home = temporaryHome();
    const path = home.put('program', '');
    expect(() => removeProgram(path, 'linux', refuses)).toThrow('EPERM');
    removeProgram(path, 'linux');
    expect(existsSync(path)).toBe(false);
  });
});
