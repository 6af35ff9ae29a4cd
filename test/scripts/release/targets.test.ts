import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { archiveName, platformOf, programName, TARGETS } from '../../../scripts/release/targets.ts';

const ROOT = `${import.meta.dir}/../../..`;
const packageJson = (folder: string) =>
  JSON.parse(readFileSync(`${ROOT}/${folder}/package.json`, 'utf8')) as {
    devDependencies: Record<string, string>;
  };

describe('the targets', () => {
  test('have a runtime each, of the version of Bun that builds, and no other is asked for', () => {
    const { bun = '' } = packageJson('.').devDependencies;
    const runtimes = TARGETS.map((target) => [`@oven/bun-${target.replace('arm64', 'aarch64')}`, bun]);
    expect(packageJson('scripts/release').devDependencies).toEqual(Object.fromEntries(runtimes));
  });

  test('are named after what npm calls their platform', () => {
    for (const target of TARGETS) {
      const { os, cpu, libc } = platformOf(target);
      const name = `${os === 'win32' ? 'windows' : os}-${cpu}${libc === 'musl' ? '-musl' : ''}`;
      expect(target.replace('-baseline', '')).toBe(name as typeof target);
      expect(libc === undefined).toBe(os !== 'linux');
    }
  });

  test('are packed as their users expect it', () => {
    expect(archiveName('1.2.3', 'linux-arm64-musl')).toBe('self-generation-1.2.3-linux-arm64-musl.tar.xz');
    expect(archiveName('1.2.3', 'windows-x64')).toBe('self-generation-1.2.3-windows-x64.zip');
    expect(programName('windows-arm64')).toBe('self-generation.exe');
    expect(programName('darwin-x64')).toBe('self-generation');
  });
});
