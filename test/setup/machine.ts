import { afterEach, beforeEach, expect } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UninstallOptions } from '../../src/setup/uninstall.ts';
import { realPath } from '../../src/system/atomic-file.ts';
import { uninstallIn } from '../support/installed.ts';
import { putFile, treeOf } from '../support/tree.ts';

/** A directory of its own for each test, with a program and a home beside it. */
export type Machine = {
  readonly root: string;
  readonly home: string;
  /** Client-less environment of somebody with that home. */
  readonly env: () => Record<string, string>;
  readonly inHome: (...names: string[]) => string;
  /** A path in our own directory. */
  readonly state: (...names: string[]) => string;
  /** Of Claude Code. */
  readonly settings: () => string;
  /** Uninstalls, which has to succeed. */
  readonly removed: (changes?: Partial<UninstallOptions>) => Removed;
  /** Expects the whole tree to be as it was, modes included, when all of this is done. */
  readonly comesBack: <T>(work: () => T | Promise<T>) => Promise<T>;
};
type Removed = Extract<ReturnType<typeof uninstallIn>, { kind: 'done' }>;

/** Makes it before each test of a file. */
export function useMachine(program = 'program'): Machine {
  const at = { root: '', home: '' };
  beforeEach(() => {
    at.root = realPath(mkdtempSync(join(tmpdir(), 'setup-')));
    at.home = join(at.root, 'home');
    mkdirSync(at.home);
    putFile(join(at.root, 'dist', 'self-generation'), program, 0o755);
  });
  afterEach(() => rmSync(at.root, { recursive: true, force: true }));
  const inHome = (...names: string[]) => join(at.home, ...names);
  return Object.assign(at, {
    env: () => ({ HOME: at.home, PATH: '/nowhere' }),
    inHome,
    state: (...names: string[]) => inHome('.self-generation', ...names),
    settings: () => inHome('.claude', 'settings.json'),
    removed: (changes: Partial<UninstallOptions> = {}) => {
      const report = uninstallIn(at.home, changes);
      if (report.kind === 'failed') throw new Error(`${report.action}: ${report.reason}`);
      return report;
    },
    comesBack: async <T>(work: () => T | Promise<T>) => {
      const before = treeOf(at.root);
      const result = await work();
      expect(treeOf(at.root)).toEqual(before);
      return result;
    },
  });
}
