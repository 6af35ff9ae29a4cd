import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Change,
  diffOf,
  type FileChange,
  NO_CHANGE,
  perform,
  readText,
  TEXT_BYTES_MAX,
} from '../../../src/learn/apply/file-change.ts';
import { realPath } from '../../../src/sys/atomic-file.ts';
import { putFile, treeBelow } from '../../support/tree.ts';

let root = '';
const at = (...names: string[]) => join(root, ...names);
const now = new Date('2026-11-20T09:47:09.123Z');

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'change-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const file = (name: string, changes: Partial<FileChange> = {}): FileChange => ({
  path: at(name),
  before: null,
  after: 'new',
  mode: 0o644,
  isShown: true,
  ...changes,
});

function changed(changes: Partial<Change>): () => void {
  return perform({ ...NO_CHANGE, ...changes }, at('backups'), now);
}

describe('readText()', () => {
  const refused: [string, () => string, string][] = [
    ['another encoding', () => putFile(at('a'), Buffer.from([0xc7, 0xd1])), 'is not in UTF-8'],
    ['UTF-16', () => putFile(at('a'), Buffer.from('\ufeffhello', 'utf16le')), 'is not in UTF-8'],
    ['NUL', () => putFile(at('a'), 'a\0b'), 'NUL'],
    ['a directory', () => root, 'cannot be read'],
    ['too much', () => putFile(at('a'), 'a'.repeat(TEXT_BYTES_MAX + 1)), 'more than'],
  ];
  for (const [name, make, reason] of refused) {
    test(`refuses ${name}`, () => {
      const result = readText(make());
      expect(result.kind === 'refused' && result.reason).toContain(reason);
    });
  }

  test('keeps the byte order mark, and says when there is no file', () => {
    expect(readText(putFile(at('a'), '\uFEFFa\r\n'))).toEqual({ kind: 'read', text: '\uFEFFa\r\n' });
    expect(readText(putFile(at('b'), 'a'.repeat(TEXT_BYTES_MAX))).kind).toBe('read');
    expect(readText(at('c'))).toEqual({ kind: 'read', text: null });
  });
});

describe('perform()', () => {
  test('makes files and directories with their modes, changes and removes, and takes it all back', () => {
    putFile(at('kept'), 'old', 0o640);
    putFile(at('gone', 'x'), 'x', 0o600);
    const before = treeBelow(root);
    const rollBack = changed({
      files: [
        file('a/b/new'),
        file('kept', { before: 'old', after: 'changed' }),
        file('gone/x', { before: 'x', after: null }),
      ],
      makes: [at('a'), at('a', 'b')],
      removes: [at('gone')],
      directoryMode: 0o755,
    });
    expect(treeBelow(root)).toEqual({
      a: 'directory 755',
      'a/b': 'directory 755',
      'a/b/new': 'file 644 new',
      kept: 'file 640 changed',
    });
    rollBack();
    expect(treeBelow(root)).toEqual(before);
  });

  test('keeps a private copy of what it changes, and gives up the oldest of many', () => {
    const backup = 'CLAUDE.md' as const;
    putFile(at('CLAUDE.md'), '0');
    for (let round = 0; round < 25; round++) {
      const files = [file('CLAUDE.md', { before: String(round), after: String(round + 1), backup })];
      perform({ ...NO_CHANGE, files }, at('backups'), new Date(now.getTime() + Math.min(round, 23)));
    }
    const names = readdirSync(at('backups')).sort();
    expect(names).toHaveLength(20);
    expect(names.slice(-2)).toEqual([
      'apply-CLAUDE.20261120T094709146Z-2.md',
      'apply-CLAUDE.20261120T094709146Z.md',
    ]);
    const contents = names.map((name) => Number(readFileSync(at('backups', name), 'utf8')));
    expect(Math.min(...contents)).toBe(5);
    expect(statSync(at('backups', names[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(statSync(at('backups')).mode & 0o777).toBe(0o700);
  });

  test('leaves a directory in which something else is', () => {
    putFile(at('d', 'mine'), '');
    changed({ removes: [at('d'), at('absent')] });
    expect(readdirSync(at('d'))).toEqual(['mine']);
  });

  const failures: [string, () => Partial<Change>][] = [
    ['a file was changed meanwhile', () => ({ files: [file('a/n'), file('old', { before: 'older' })] })],
    ['a file appeared meanwhile', () => ({ files: [file('a/n'), file('old')] })],
    ['a link appeared that leads nowhere', () => ({ files: [file('a/n'), file('link')] })],
    ['a file is gone meanwhile', () => ({ files: [file('a/n'), file('absent', { before: 'x' })] })],
    ['a directory cannot be made', () => ({ files: [file('a/n')], makes: [at('a'), at('old', 'b')] })],
    ['a directory is missing', () => ({ files: [file('a/n'), file('b/c/n')] })],
    [
      'the copy cannot be kept',
      () => {
        putFile(at('backups'), 'a file');
        return { files: [file('a/n'), file('old', { before: 'old', backup: 'settings.json' })] };
      },
    ],
  ];
  for (const [name, make] of failures) {
    test(`changes nothing when ${name}`, () => {
      putFile(at('old'), 'old');
      symlinkSync('nowhere', at('link'));
      const change = { makes: [at('a')], ...make() };
      const before = treeBelow(root);
      expect(() => changed(change)).toThrow();
      expect(treeBelow(root)).toEqual(before);
    });
  }

  test('takes a directory that somebody else made meanwhile, and leaves it', () => {
    mkdirSync(at('a'));
    changed({ files: [file('a/n')], makes: [at('a')] })();
    expect(treeBelow(root)).toEqual({ a: expect.stringContaining('directory') });
  });
});

describe('diffOf()', () => {
  test('shows what is made, changed and removed, and not our own bookkeeping', () => {
    const files = [
      file('a'),
      file('b', { before: '1\n2\n', after: '1\n3\n' }),
      file('c', { before: 'x\n', after: null }),
      file('d', { isShown: false }),
    ];
    expect(diffOf({ ...NO_CHANGE, files }).replaceAll(root, '')).toBe(
      [
        '--- /dev/null',
        '+++ /a',
        '@@ -0,0 +1,1 @@',
        '+new',
        '\\ No newline at end of file',
        '--- /b',
        '+++ /b',
        '@@ -1,2 +1,2 @@',
        ' 1',
        '-2',
        '+3',
        '--- /c',
        '+++ /dev/null',
        '@@ -1,1 +0,0 @@',
        '-x',
        '',
      ].join('\n'),
    );
    expect(diffOf(NO_CHANGE)).toBe('');
  });

  test('shows little of much', () => {
    const before = 'a line\n'.repeat(100_000);
    const files = [file('a', { before, after: `${before}new\n` })];
    expect(diffOf({ ...NO_CHANGE, files }).split('\n').length).toBeLessThan(12);
  });
});
