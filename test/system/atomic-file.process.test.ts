import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  copyFileAtomic,
  ensurePrivateDirectory,
  hasSameBytes,
  realPath,
  replaceFile,
  resolveLinks,
  writeFileAtomic,
} from '../../src/system/atomic-file.ts';

let root = '';
const at = (...names: string[]) => join(root, ...names);
const modeOf = (path: string) => statSync(path).mode & 0o7777;

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'atomic-file-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('writeFileAtomic()', () => {
  test('leaves a pipe, and what is no file at the end of a link, as it is', () => {
    Bun.spawnSync(['mkfifo', at('pipe')]);
    symlinkSync(at('pipe'), at('link'));
    for (const name of ['pipe', 'link'])
      expect(() => writeFileAtomic(at(name), 'text')).toThrow('what stands there is no file');
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
  });

  test('makes a private file', () => {
    writeFileAtomic(at('new'), 'text');
    expect(readFileSync(at('new'), 'utf8')).toBe('text');
    expect(modeOf(at('new'))).toBe(0o600);
  });

  test('keeps the mode of an existing file, or sets the one that is given', () => {
    writeFileSync(at('old'), 'old');
    chmodSync(at('old'), 0o664);
    writeFileAtomic(at('old'), new Uint8Array([104, 105]));
    expect(readFileSync(at('old'), 'utf8')).toBe('hi');
    expect(modeOf(at('old'))).toBe(0o664);
    writeFileAtomic(at('old'), 'x', { mode: 0o640 });
    expect(modeOf(at('old'))).toBe(0o640);
  });

  test('replaces the file instead of writing into it, and leaves nothing else behind', () => {
    writeFileSync(at('file'), 'before');
    const reader = openSync(at('file'), 'r');
    writeFileAtomic(at('file'), 'after');
    expect(readFileSync(reader, 'utf8')).toBe('before');
    closeSync(reader);
    expect(readdirSync(root)).toEqual(['file']);
  });

  test('follows links, relative ones and chains too, and leaves them links', () => {
    mkdirSync(at('dotfiles'));
    writeFileSync(at('dotfiles', 'real'), 'before');
    symlinkSync('dotfiles/real', at('inner'));
    symlinkSync(at('inner'), at('outer'));
    writeFileAtomic(at('outer'), 'after');
    expect(readFileSync(at('dotfiles', 'real'), 'utf8')).toBe('after');
    expect(readlinkSync(at('outer'))).toBe(at('inner'));
    expect(readlinkSync(at('inner'))).toBe('dotfiles/real');
  });

  test('makes the file that a dangling link points to', () => {
    mkdirSync(at('dotfiles'));
    symlinkSync('dotfiles/real', at('link'));
    writeFileAtomic(at('link'), 'text');
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(at('dotfiles', 'real'), 'utf8')).toBe('text');
  });

  test('names the path when it cannot write, and cleans up', () => {
    mkdirSync(at('directory'));
    writeFileSync(at('directory', 'x'), '');
    expect(() => writeFileAtomic(at('directory'), 'text')).toThrow(`Cannot write "${at('directory')}"`);
    expect(() => writeFileAtomic(at('missing', 'file'), 'text')).toThrow('ENOENT');
    expect(readdirSync(root)).toEqual(['directory']);
  });
});

describe('resolveLinks()', () => {
  test('resolves a relative link from the real directory of the link', () => {
    mkdirSync(at('a', 'b'), { recursive: true });
    symlinkSync(at('a', 'b'), at('short'));
    symlinkSync('../target', at('a', 'b', 'link'));
    expect(resolveLinks(at('short', 'link'))).toBe(at('a', 'target'));
  });

  test('gives up on a circle', () => {
    symlinkSync(at('two'), at('one'));
    symlinkSync(at('one'), at('two'));
    expect(() => resolveLinks(at('one'))).toThrow('more than 40 symbolic links');
  });
});

describe('copyFileAtomic()', () => {
  test('copies bytes, sets the mode and keeps the old file for who has it open', () => {
    writeFileSync(at('source'), 'new program');
    writeFileSync(at('target'), 'old program');
    const running = openSync(at('target'), 'r');
    copyFileAtomic(at('source'), at('target'), { mode: 0o700 });
    expect(readFileSync(at('target'), 'utf8')).toBe('new program');
    expect(modeOf(at('target'))).toBe(0o700);
    expect(readFileSync(running, 'utf8')).toBe('old program');
    closeSync(running);
    expect(readdirSync(root).sort()).toEqual(['source', 'target']);
  });

  test('replaces a link and leaves what it points to', () => {
    writeFileSync(at('source'), 'new');
    writeFileSync(at('foreign'), 'foreign');
    symlinkSync(at('foreign'), at('target'));
    copyFileAtomic(at('source'), at('target'), { mode: 0o700 });
    expect(lstatSync(at('target')).isSymbolicLink()).toBe(false);
    expect(readFileSync(at('foreign'), 'utf8')).toBe('foreign');
  });

  test('copies a file that may only be read', () => {
    writeFileSync(at('source'), 'new');
    chmodSync(at('source'), 0o444);
    copyFileAtomic(at('source'), at('target'), { mode: 0o700 });
    expect(modeOf(at('target'))).toBe(0o700);
  });

  test('leaves the target when the source is missing', () => {
    writeFileSync(at('target'), 'old');
    expect(() => copyFileAtomic(at('source'), at('target'), { mode: 0o700 })).toThrow('ENOENT');
    expect(readdirSync(root)).toEqual(['target']);
  });
});

describe('ensurePrivateDirectory()', () => {
  test('makes what is missing, private, and tells which', () => {
    expect(ensurePrivateDirectory(at('a', 'b'))).toEqual({
      kind: 'created',
      directories: [at('a'), at('a', 'b')],
    });
    expect(modeOf(at('a'))).toBe(0o700);
    expect(modeOf(at('a', 'b'))).toBe(0o700);
  });

  test('closes an existing one and tells its mode', () => {
    mkdirSync(at('open'));
    chmodSync(at('open'), 0o755);
    expect(ensurePrivateDirectory(at('open'))).toEqual({ kind: 'existed', modeBefore: 0o755 });
    expect(modeOf(at('open'))).toBe(0o700);
    expect(ensurePrivateDirectory(at('open'))).toEqual({ kind: 'existed', modeBefore: 0o700 });
  });

  test('does not replace a file', () => {
    writeFileSync(at('file'), '');
    expect(() => ensurePrivateDirectory(at('file'))).toThrow('a file stands there');
  });
});

describe('hasSameBytes()', () => {
  const big = 'x'.repeat(3 * 1024 * 1024);
  const rows: [string, string, boolean][] = [
    ['', '', true],
    ['same', 'same', true],
    ['same', 'sane', false],
    ['short', 'longer', false],
    [big, big, true],
    [big, `${big.slice(1)}y`, false],
  ];
  for (const [left, right, expected] of rows) {
    test(`says ${expected} to ${left.length} and ${right.length} bytes`, () => {
      writeFileSync(at('left'), left);
      writeFileSync(at('right'), right);
      expect(hasSameBytes(at('left'), at('right'))).toBe(expected);
    });
  }
});

describe('replaceFile(), where a file that is in use cannot be replaced', () => {
  /** As Windows does it with a program that runs; `fails`: the second time as well. */
  const renamesAsWindows = (fails = false) => {
    let count = 0;
    return (from: string, to: string) => {
      count++;
      if (existsSync(to) || (fails && count === 3)) throw new Error('EPERM: operation not permitted');
      renameSync(from, to);
    };
  };
  const files = () => {
    for (const name of ['new', 'old']) writeFileSync(at(name), name);
    return [at('new'), at('old'), at('aside')] as const;
  };
  const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : null);

  test('puts the old one aside', () => {
    const [from, to, aside] = files();
    replaceFile(from, to, aside, renamesAsWindows());
    expect([from, to, aside].map(textOf)).toEqual([null, 'new', 'old']);
  });

  test('brings it back when that does not help', () => {
    const [from, to, aside] = files();
    expect(() => replaceFile(from, to, aside, renamesAsWindows(true))).toThrow('EPERM');
    expect([from, to, aside].map(textOf)).toEqual(['new', 'old', null]);
  });

  test('changes nothing where there is no place for it', () => {
    const [from, to] = files();
    expect(() => replaceFile(from, to, undefined, renamesAsWindows())).toThrow('EPERM');
    expect([from, to].map(textOf)).toEqual(['new', 'old']);
  });
});
