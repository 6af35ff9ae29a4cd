import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  diffOf,
  type FileChange,
  type FilePlan,
  NO_CHANGE,
  perform,
  planRestore,
  readText,
  sha256,
  TEXT_BYTES_MAX,
  UnreadableFile,
  withCopy,
} from '../../src/setup/file-plan.ts';

import { realPath } from '../../src/system/atomic-file.ts';
import { putFile, treeBelow } from '../support/tree.ts';

let root = '';
const at = (...names: string[]) => join(root, ...names);
const now = new Date('2026-11-20T09:47:09.123Z');

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'change-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const file = (name: string, changes: Partial<FileChange> = {}): FileChange => {
  return { path: at(name), before: undefined, after: 'new', mode: 0o644, what: 'rule', ...changes };
};

function changed(changes: Partial<FilePlan>): () => void {
  return perform({ ...NO_CHANGE, ...changes }).rollBack;
}

const copyOf = (change: FileChange, time = now) =>
  withCopy(change, { backups: at('backups'), name: 'apply-CLAUDE.md', now: () => time });

describe('readText()', () => {
  const refused: [string, () => string, string][] = [
    ['another encoding', () => putFile(at('a'), Buffer.from([0xc7, 0xd1])), 'is not a UTF-8 text'],
    ['UTF-16', () => putFile(at('a'), Buffer.from('\ufeffhello', 'utf16le')), 'is not a UTF-8 text'],
    ['NUL', () => putFile(at('a'), 'a\0b'), 'NUL'],
    ['a directory', () => root, 'cannot be read'],
    ['too much', () => putFile(at('a'), Buffer.alloc(TEXT_BYTES_MAX + 1, 'a')), 'more than'],
  ];
  for (const [name, make, reason] of refused) {
    test(`refuses ${name}`, () => {
      const path = make();
      expect(() => readText(path)).toThrow(UnreadableFile);
      expect(() => readText(path)).toThrow(reason);
    });
  }

  test('keeps the byte order mark, and says when there is no file', () => {
    expect(readText(putFile(at('a'), '\uFEFFa\r\n'))).toBe('\uFEFFa\r\n');
    expect(readText(putFile(at('b'), Buffer.alloc(TEXT_BYTES_MAX, 'a')))?.length).toBe(TEXT_BYTES_MAX);
    expect(readText(at('c'))).toBeUndefined();
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
        file('gone/x', { before: 'x', after: undefined }),
      ],
      removes: [at('gone')],
    });
    const made = { a: 'directory 755', 'a/b': 'directory 755', 'a/b/new': 'file 644 new' };
    expect(treeBelow(root)).toEqual({ ...made, kept: 'file 640 changed' });
    rollBack();
    expect(treeBelow(root)).toEqual(before);
  });

  test('keeps a private copy of what it changes, and gives up the oldest of many', () => {
    putFile(at('CLAUDE.md'), '0');
    for (let round = 0; round < 25; round++) {
      const time = new Date(now.getTime() + Math.min(round, 23));
      changed({
        files: copyOf(file('CLAUDE.md', { before: String(round), after: String(round + 1) }), time),
      });
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

  const failures: [string, () => Partial<FilePlan>][] = [
    ['a file was changed meanwhile', () => ({ files: [file('a/n'), file('old', { before: 'older' })] })],
    ['a file appeared meanwhile', () => ({ files: [file('a/n'), file('old')] })],
    ['a link appeared that leads nowhere', () => ({ files: [file('a/n'), file('link')] })],
    ['a file is gone meanwhile', () => ({ files: [file('a/n'), file('absent', { before: 'x' })] })],
    ['a directory cannot be made', () => ({ files: [file('a/n'), file('old/b/n')] })],
    [
      'the copy cannot be kept',
      () => {
        putFile(at('backups'), 'a file');
        return { files: [file('a/n'), ...copyOf(file('old', { before: 'old' }))] };
      },
    ],
  ];
  for (const [name, make] of failures) {
    test(`changes nothing when ${name}`, () => {
      putFile(at('old'), 'old');
      symlinkSync('nowhere', at('link'));
      const change = make();
      const before = treeBelow(root);
      expect(() => changed(change)).toThrow();
      expect(treeBelow(root)).toEqual(before);
    });
  }

  test('takes a directory that somebody else made meanwhile, and leaves it', () => {
    mkdirSync(at('a'));
    changed({ files: [file('a/n')] })();
    expect(treeBelow(root)).toEqual({ a: expect.stringContaining('directory') });
  });
});

describe('perform().rollBack()', () => {
  test('leaves what somebody else has written since', () => {
    putFile(at('old'), 'old');
    const rollBack = changed({ files: [file('old', { before: 'old' }), file('n')] });
    putFile(at('old'), 'theirs');
    rollBack();
    expect(treeBelow(root)).toEqual({ old: expect.stringContaining('theirs') });
  });
});

describe('diffOf()', () => {
  test('shows what is made, changed and removed, and not our own bookkeeping', () => {
    const files = [
      file('a'),
      file('b', { before: '1\n2\n', after: '1\n3\n' }),
      file('c', { before: 'x\n', after: undefined }),
      ...[
        file('d', { what: 'manifest' }),
        file('e', { what: 'backup' }),
        file('f', { before: 'x', after: 'x' }),
      ],
    ];
    expect(
      diffOf({ ...NO_CHANGE, files })
        .replaceAll(root, '')
        .split('\n'),
    ).toEqual([
      ...['--- /dev/null', '+++ /a', '@@ -0,0 +1,1 @@', '+new', '\\ No newline at end of file'],
      ...['--- /b', '+++ /b', '@@ -1,2 +1,2 @@', ' 1', '-2', '+3'],
      ...['--- /c', '+++ /dev/null', '@@ -1,1 +0,0 @@', '-x', ''],
    ]);
    expect(diffOf(NO_CHANGE)).toBe('');
  });

  test('shows little of much', () => {
    const before = 'a line\n'.repeat(100_000);
    const files = [file('a', { before, after: `${before}new\n` })];
    expect(diffOf({ ...NO_CHANGE, files }).split('\n').length).toBeLessThan(12);
  });
});

describe('planRestore()', () => {
  const removal = { remove: (text: string) => text.replace('ours', '') };
  const saved = () =>
    ({ kind: 'saved', backup: putFile(at('copy'), 'mine'), sha256: sha256('mine') }) as const;
  const absent = { kind: 'absent' } as const;
  const ours = { before: absent, writtenSha256: sha256('ours') };
  const rows: [string, text: string, record: object, after: string | undefined][] = [
    ['removes what nobody has touched', 'ours', ours, undefined],
    ['removes what is empty without ours', 'ours', { before: absent }, undefined],
    ['keeps an empty file that was there', 'ours', {}, ''],
    ['takes ours out of what has changed', 'ours+', ours, '+'],
    ['leaves what has nothing of ours', 'mine', { before: absent }, 'mine'],
  ];
  for (const [name, text, record, after] of rows) {
    test(name, () => {
      const path = putFile(at('a'), text);
      expect(planRestore({ ...record, path }, 'rule', removal)).toMatchObject({ path, before: text, after });
    });
  }

  test('puts back the copy, if it is the one that was made', () => {
    const path = putFile(at('a'), 'mine, ours');
    const record = { path, before: saved(), writtenSha256: sha256('mine, ours') };
    expect(planRestore(record, 'rule', removal)).toMatchObject({ after: 'mine', restores: true });
    putFile(at('copy'), 'forged');
    expect(planRestore(record, 'rule', removal)).toMatchObject({ after: 'mine, ' });
  });
});
