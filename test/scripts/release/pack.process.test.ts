import { describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Content, pack } from '../../../scripts/release/pack.ts';
import { temporaryHome } from '../../support/home.ts';
import { canRun, notTested } from '../../support/program.ts';

const TOOLS = [
  ['tar', '--version'],
  ['xz', '--version'],
  ['gzip', '--version'],
  ['zip', '-v'],
];
const MISSING = TOOLS.filter((words) => !canRun(words)).map(([name]) => name);
const HOW = { folder: 'top', atSeconds: 1_700_000_000, isFast: true };

const LISTING: Readonly<Record<string, readonly string[]>> = {
  'a.tar.xz': ['tar', '--full-time', '-tvf'],
  'a.tgz': ['tar', '--full-time', '-tvf'],
  'a.zip': ['unzip', '-Z', '-T'],
};

describe('an archive', () => {
  for (const [name, listing] of Object.entries(LISTING)) {
    test(`${name} has the same bytes for the same content, and only then`, () => {
      if (MISSING.length > 0) return void notTested(name, `there is no ${MISSING.join(', ')}`);
      using home = temporaryHome();
      const program = join(home.path, 'program');
      writeFileSync(program, 'the program');
      const contents: Content[] = [
        { path: 'b/text', from: { text: 'one' } },
        { path: 'a', from: { file: program }, isExecutable: true },
      ];
      const packed = (order: Content[], how = HOW) => {
        pack(join(home.path, name), order, how);
        return readFileSync(join(home.path, name));
      };
      const first = packed(contents);
      const before = process.umask(0o077);
      chmodSync(program, 0o600);
      expect(packed(contents.toReversed()).equals(first)).toBe(true);
      process.umask(before);

      const { stdout } = Bun.spawnSync([...listing, join(home.path, name)], {
        env: { ...process.env, TZ: 'UTC' },
      });
      expect(stdout.toString()).toMatch(/-rwxr-xr-x .*(?:2023-11-14 22:13:20|20231114\.221320) top\/a\n/);
      expect(stdout.toString()).toMatch(/-rw-r--r-- .*top\/b\/text\n/);

      expect(packed(contents, { ...HOW, atSeconds: HOW.atSeconds + 2 }).equals(first)).toBe(false);
      expect(packed([...contents, { path: 'c', from: { text: '' } }]).equals(first)).toBe(false);
    });
  }
});
