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
const HANG_MS = 5000;

let root = '';
const at = (name: string) => `${root}/${name}`;
beforeEach(() => {
  root = mkdtempSync(`${tmpdir()}/runtime-`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function makePipe(path: string): void {
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
}

type Row = {
  readonly what: string;
  readonly make: (path: string) => void;
  readonly text: string | undefined;
  readonly exists: boolean;
  readonly bytes?: number;
};

const FULL = `${'x'.repeat(TEXT_FILE_BYTES_MAX - 3)}한`;
const write = (content: string | Uint8Array) => (path: string) => writeFileSync(path, content);

const rows: Row[] = [
  { what: 'a text', make: write('{"a":"한글 🎉"}\n'), text: '{"a":"한글 🎉"}\n', exists: true, bytes: 20 },
  { what: 'nothing', make: () => {}, text: undefined, exists: false, bytes: 0 },
  { what: 'an empty file', make: write(''), text: undefined, exists: true, bytes: 0 },
  { what: 'a directory', make: (path) => mkdirSync(path), text: undefined, exists: true },
  { what: 'a text after a byte order mark', make: write('\ufeff{}'), text: '{}', exists: true, bytes: 5 },
  { what: 'a byte order mark inside a text', make: write('a\ufeffb'), text: 'a\ufeffb', exists: true },
  { what: 'blanks', make: write(' \n'), text: ' \n', exists: true, bytes: 2 },
  { what: 'a NUL in a text', make: write('a\0b'), text: 'a\0b', exists: true, bytes: 3 },
  { what: 'no UTF-8', make: write(new Uint8Array([97, 0xff, 98])), text: 'a\ufffdb', exists: true, bytes: 3 },
  { what: 'as much as may be read', make: write(FULL), text: FULL, exists: true, bytes: TEXT_FILE_BYTES_MAX },
  {
    what: 'a byte more',
    make: write(`${FULL}x`),
    text: undefined,
    exists: true,
    bytes: TEXT_FILE_BYTES_MAX + 1,
  },
  {
    what: 'a file of a gigabyte',
    make: (path) => {
      writeFileSync(path, '');
      truncateSync(path, 2 ** 30);
    },
    text: undefined,
    exists: true,
    bytes: 2 ** 30,
  },
  { what: 'a pipe', make: makePipe, text: undefined, exists: true },
  {
    what: 'a link to /dev/zero',
    make: (path) => symlinkSync('/dev/zero', path),
    text: undefined,
    exists: true,
  },
  { what: 'a link to nothing', make: (path) => symlinkSync('gone', path), text: undefined, exists: false },
  { what: 'a link to itself', make: (path) => symlinkSync(path, path), text: undefined, exists: false },
  {
    what: 'a link to a text',
    make: (path) => {
      writeFileSync(`${path}.real`, 'text');
      symlinkSync(`${path}.real`, path);
    },
    text: 'text',
    exists: true,
    bytes: 4,
  },
  {
    what: 'a file that may only be read',
    make: (path) => {
      writeFileSync(path, 'text');
      chmodSync(path, 0o444);
    },
    text: 'text',
    exists: true,
    bytes: 4,
  },
];

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  describe(name, () => {
    for (const { what, make, text, exists, bytes } of rows) {
      test(
        `readTextFile(), pathExists() and fileStamp() are right when there is ${what}`,
        () => {
          make(at('it'));
          expect(runtime.readTextFile(at('it'))).toBe(text as string);
          expect(runtime.pathExists(at('it'))).toBe(exists);
          if (bytes !== undefined) expect(runtime.fileStamp(at('it')).bytes).toBe(bytes);
        },
        HANG_MS,
      );
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
      const child = Bun.spawn([process.execPath, program, String(uid), name, at('open'), at('closed')], {
        stderr: 'pipe',
      });
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
