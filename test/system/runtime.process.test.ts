import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { type Runtime, TEXT_FILE_BYTES_MAX } from '../../src/system/runtime.ts';
import * as onBun from '../../src/system/runtime-bun.ts';
import * as onNode from '../../src/system/runtime-node.ts';

const RUNTIMES: Readonly<Record<string, Runtime>> = { 'runtime-bun': onBun, 'runtime-node': onNode };

let root = '';
const at = (name: string) => `${root}/${name}`;
beforeEach(() => {
  root = mkdtempSync(`${tmpdir()}/runtime-`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function makePipe(path: string): void {
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
}

const FULL = `${'x'.repeat(TEXT_FILE_BYTES_MAX - 3)}한`;
const write = (content: string | Uint8Array) => (path: string) => writeFileSync(path, content);
const link = (target: string) => (path: string) => symlinkSync(target, path);
const sparse = (bytes: number) => (path: string) => {
  writeFileSync(path, '');
  truncateSync(path, bytes);
};
const inMode = (mode: number) => (path: string) => writeFileSync(path, 'text', { mode });

function linkToText(path: string): void {
  writeFileSync(`${path}.real`, 'text');
  symlinkSync(`${path}.real`, path);
}

type Row = [
  what: string,
  make: (path: string) => void,
  text: string | undefined,
  exists: boolean,
  bytes?: number,
];
const rows: Row[] = [
  ['a text', write('{"a":"한글 🎉"}\n'), '{"a":"한글 🎉"}\n', true, 20],
  ['nothing', () => {}, undefined, false, 0],
  ['an empty file', write(''), undefined, true, 0],
  ['a directory', (path) => mkdirSync(path), undefined, true],
  ['a text after a byte order mark', write('\ufeff{}'), '{}', true, 5],
  ['a byte order mark inside a text', write('a\ufeffb'), 'a\ufeffb', true],
  ['blanks', write(' \n'), ' \n', true, 2],
  ['a NUL in a text', write('a\0b'), 'a\0b', true, 3],
  ['no UTF-8', write(new Uint8Array([97, 0xff, 98])), 'a\ufffdb', true, 3],
  ['as much as may be read', write(FULL), FULL, true, TEXT_FILE_BYTES_MAX],
  ['a byte more', write(`${FULL}x`), undefined, true, TEXT_FILE_BYTES_MAX + 1],
  ['a file of a gigabyte', sparse(2 ** 30), undefined, true, 2 ** 30],
  ['a pipe', makePipe, undefined, true],
  ['a link to /dev/zero', link('/dev/zero'), undefined, true],
  ['a link to nothing', link('gone'), undefined, false],
  ['a link to itself', (path) => symlinkSync(path, path), undefined, false],
  ['a link to a text', linkToText, 'text', true, 4],
  ['a file that may only be read', inMode(0o444), 'text', true, 4],
];

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  describe(name, () => {
    for (const [what, make, text, exists, bytes] of rows) {
      test(`readTextFile(), pathExists() and fileStamp() are right when there is ${what}`, () => {
        make(at('it'));
        expect(runtime.readTextFile(at('it'))).toBe(text as string);
        expect(runtime.pathExists(at('it'))).toBe(exists);
        if (bytes !== undefined) expect(runtime.fileStamp(at('it')).bytes).toBe(bytes);
      });
    }

    for (const path of ['a\0b', '/a\0', '', `/${'x'.repeat(300)}`, `/${'x/'.repeat(3000)}`, '/dev/null/x']) {
      test(`nothing is read, and nothing thrown, when the path is ${JSON.stringify(path.slice(0, 12))} (${path.length})`, () => {
        expect(runtime.readTextFile(path)).toBeUndefined();
        expect(runtime.pathExists(path)).toBe(false);
        expect(runtime.fileStamp(path).bytes).toBe(0);
      });
    }

    test('readTextPart() reads between two places, and nothing where it cannot', () => {
      const path = at('part');
      writeFileSync(path, '0123456789');
      expect(runtime.readTextPart(path, 2, 5)).toBe('234');
      expect(runtime.readTextPart(path, 0, 10)).toBe('0123456789');
      appendFileSync(path, 'abc');
      expect(runtime.readTextPart(path, 10, 13)).toBe('abc');
      expect(runtime.readTextPart(path, 10, 20)).toBeUndefined();
      expect(runtime.readTextPart(at('nothing here'), 0, 1)).toBeUndefined();
      expect(runtime.readTextPart(path, 0, 1024 * 1024)).toBeUndefined();
    });

    test('sha256() and hmacSha256() give what their standards say', () => {
      // FIPS 180-2, B.1; RFC 4231, 4.3 and 4.4; of other letters than those of ASCII the bytes of UTF-8.
      expect(runtime.sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
      expect(runtime.hmacSha256('Jefe', 'what do ya want for nothing?')).toBe(
        '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
      );
      expect(runtime.sha256('한')).toBe(
        new Bun.CryptoHasher('sha256').update(Buffer.from('한')).digest('hex'),
      );
    });

    test('readTextFile() changes nothing, and sees what was written since', () => {
      writeFileSync(at('it'), 'one');
      utimesSync(at('it'), 1, 1);
      expect(runtime.readTextFile(at('it'))).toBe('one');
      expect(statSync(at('it')).mtimeMs).toBe(1000);
      writeFileSync(at('it'), 'other');
      expect(runtime.readTextFile(at('it'))).toBe('other');
      rmSync(at('it'));
      expect(runtime.readTextFile(at('it'))).toBeUndefined();
    });

    test('fileStamp() returns another time when a file was changed, and the same when it was not', () => {
      writeFileSync(at('it'), 'text');
      utimesSync(at('it'), 1000, 1000.25);
      const first = runtime.fileStamp(at('it'));
      expect(first).toEqual({ bytes: 4, modifiedMs: 1_000_250 });
      expect(runtime.fileStamp(at('it'))).toEqual(first);
      utimesSync(at('it'), 1000, 1000.5);
      expect(runtime.fileStamp(at('it')).modifiedMs).not.toBe(first.modifiedMs);
    });

    test('readTextFile() reads what another user owns and only lets us read, and not what is closed to us', async () => {
      writeFileSync(at('open'), '\ufefftext of another user');
      chmodSync(at('open'), 0o444);
      writeFileSync(at('closed'), 'secret');
      chmodSync(at('closed'), 0o000);
      chmodSync(root, 0o755);
      const uid = process.getuid?.() === 0 ? 65534 : process.getuid?.();
      const program = `${import.meta.dir}/read-as.main.ts`;
      const words = [program, String(uid), name, at('open'), at('closed')];
      const child = Bun.spawn([process.execPath, ...words], { stderr: 'pipe' });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual(['text of another user', null]);
    });

    test('writeMark() makes a file and replaces its content, also by less', async () => {
      for (const text of ['2026-11-20T09:47:09.123Z', 'short', 'longer again']) {
        runtime.writeMark(at('mark'), text);
        expect(await contentOf(at('mark'), text)).toBe(text);
      }
    });

    test('writeMark() says nothing when it cannot write', async () => {
      const seen: unknown[] = [];
      const note = (reason: unknown) => void seen.push(reason);
      process.on('unhandledRejection', note);
      mkdirSync(at('directory'));
      writeFileSync(at('file'), 'text');
      expect(() => runtime.writeMark(at('directory'), 'text')).not.toThrow();
      expect(() => runtime.writeMark(at('file/mark'), 'text')).not.toThrow();
      // A mark behind them that can be set: by then both have failed.
      runtime.writeMark(at('mark'), 'text');
      expect(await contentOf(at('mark'), 'text')).toBe('text');
      process.off('unhandledRejection', note);
      expect(seen).toEqual([]);
      expect(readFileSync(at('file'), 'utf8')).toBe('text');
    });
  });
}

/** The file's content once it is the expected one, or what it is after many looks: Bun writes in the background. */
async function contentOf(path: string, expected: string): Promise<string> {
  let content = '';
  for (let looks = 0; looks < 500 && content !== expected; looks++) {
    await Bun.sleep(1);
    content = statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'utf8') : '';
  }
  return content;
}
