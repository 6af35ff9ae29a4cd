import { describe, expect, test } from 'bun:test';
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  GrowingFile,
  type LineOptions,
  LineReader,
  readFirstLine,
  readTail,
} from '../../src/system/lines.ts';
import { temporaryHome } from '../support/home.ts';

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

type Read = {
  readonly text: string | null;
  readonly start: number;
  readonly end: number;
  readonly isEnded: boolean;
};

function readAll(path: string, options: LineOptions = {}): Read[] {
  const reader = new LineReader(path, options);
  const lines: Read[] = [];
  try {
    for (let line = reader.next(); line !== undefined; line = reader.next()) {
      const { start, end, isEnded } = line;
      lines.push({ text: line.kind === 'line' ? DECODER.decode(line.bytes) : null, start, end, isEnded });
    }
    return lines;
  } finally {
    reader.close();
  }
}

/** The same by other means. */
function split(bytes: Uint8Array, { from = 0, lineBytesMax = 1e9 }: LineOptions): Read[] {
  const lines: Read[] = [];
  for (let start = from; start < bytes.length; ) {
    const found = bytes.indexOf(0x0a, start);
    const until = found < 0 ? bytes.length : found;
    const end = found < 0 ? until : until + 1;
    const text = until - start > lineBytesMax ? null : DECODER.decode(bytes.subarray(start, until));
    lines.push({ text, start, end, isEnded: found >= 0 });
    start = end;
  }
  return lines;
}

describe('LineReader', () => {
  const rows: [string, string, (string | null)[]][] = [
    ['lines that end', 'a\nbc\n', ['a', 'bc']],
    ['a last line that does not end', 'a\nbc', ['a', 'bc']],
    ['empty lines', '\n\na\n', ['', '', 'a']],
    ['nothing', '', []],
    ['carriage returns as part of the line', 'a\r\nb\r\n', ['a\r', 'b\r']],
    ['other line separators as part of the line', 'a\u2028b\u2029c\u0085d\n', ['a\u2028b\u2029c\u0085d']],
    ['characters of several bytes', '한글 테스트\n🎉\n', ['한글 테스트', '🎉']],
    ['lines above the limit', `a\n${'x'.repeat(11)}\nb\n`, ['a', null, 'b']],
    ['lines at the limit', `${'x'.repeat(10)}\nb`, ['x'.repeat(10), 'b']],
    ['a last line above the limit', `a\n${'x'.repeat(500)}`, ['a', null]],
  ];
  for (const [what, text, lines] of rows) {
    test(`next() returns ${what}, however little is read at once`, () => {
      using home = temporaryHome();
      const path = home.put('lines', text);
      for (const chunkBytes of [1, 2, 3, 7, 64 * 1024]) {
        const found = readAll(path, { chunkBytes, lineBytesMax: what.includes('limit') ? 10 : 1000 });
        expect(found.map((line) => line.text)).toEqual(lines);
        expect(found.at(-1)?.isEnded ?? true).toBe(text === '' || text.endsWith('\n'));
        expect(found.at(-1)?.end ?? 0).toBe(Buffer.byteLength(text));
      }
    });
  }

  test('next() splits any bytes as a plain search does, from any place, with any limits', () => {
    using home = temporaryHome();
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constant(Buffer.from('\n')),
      fc.constant(Buffer.alloc(90, 0x61)),
      fc.constant(Buffer.from('한글\n')),
    );
    const options = fc.record({
      chunkBytes: fc.integer({ min: 1, max: 100 }),
      lineBytesMax: fc.integer({ min: 0, max: 120 }),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), options, fc.nat(300), (parts, limits, from) => {
        const bytes = Buffer.concat(parts);
        const path = home.put('lines', bytes);
        const place = { ...limits, from: Math.min(from, bytes.length) };
        expect(readAll(path, place)).toEqual(split(bytes, place));
      }),
      { numRuns: 400 },
    );
  });

  test('next() goes on where a file has grown', () => {
    using home = temporaryHome();
    const path = home.put('lines', 'a\nb');
    const reader = new LineReader(path);
    try {
      expect(reader.next()).toMatchObject({ start: 0, end: 2, isEnded: true });
      appendFileSync(path, 'c\n');
      const line = reader.next();
      expect(line?.kind === 'line' && [DECODER.decode(line.bytes), line.end]).toEqual(['bc', 5]);
    } finally {
      reader.close();
    }
  });

  test('next() passes over a long line without holding it', () => {
    using home = temporaryHome();
    const path = home.put('lines', 'a\n');
    for (let count = 0; count < 40; count++) appendFileSync(path, Buffer.alloc(1024 * 1024, 0x61));
    appendFileSync(path, '\nb\n');
    Bun.gc(true);
    const before = residentBytes();
    const lines = readAll(path, { lineBytesMax: 1024 * 1024 });
    expect(lines.map((line) => line.text)).toEqual(['a', null, 'b']);
    expect(residentBytes() - before).toBeLessThan(16 * 1024 * 1024);
  });

  test('throws when there is no such file', () => {
    expect(() => new LineReader('/nowhere/at/all')).toThrow('ENOENT');
  });
});

function residentBytes(): number {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(found ?? 0) * 1024;
}

describe('readFirstLine()', () => {
  const rows: [string, string, number, string | undefined][] = [
    ['the line', 'one\ntwo\n', 100, 'one'],
    ['a line that does not end', 'one', 100, 'one'],
    ['the beginning of a long line', 'one\n', 2, 'on'],
    ['an empty line', '\ntwo', 100, ''],
    ['undefined for an empty file', '', 100, undefined],
  ];
  for (const [what, text, bytesMax, expected] of rows) {
    test(`returns ${what}`, () => {
      using home = temporaryHome();
      const line = readFirstLine(home.put('lines', text), bytesMax);
      expect(line && DECODER.decode(line)).toBe(expected);
    });
  }
});

const ALL = Number.MAX_SAFE_INTEGER;

function linesOf(file: GrowingFile): string[] {
  const lines: string[] = [];
  while (file.read((line) => lines.push(line), ALL));
  return lines;
}

describe('GrowingFile', () => {
  test('hands over whole lines as they come, and the rest once', () => {
    using home = temporaryHome();
    const path = home.put('out', 'one\ntw');
    const file = new GrowingFile(path);
    expect(linesOf(file)).toEqual(['one']);
    expect(linesOf(file)).toEqual([]);
    appendFileSync(path, 'o\n\nfour');
    expect(linesOf(file)).toEqual(['two', '']);
    const rest: string[] = [];
    file.readRest((line) => rest.push(line));
    file.readRest((line) => rest.push(line));
    expect(rest).toEqual(['four']);
    file.close();
  });

  test('reads what there is to its end, and no further when somebody writes on and on', async () => {
    using home = temporaryHome();
    const path = home.put('out', 'one\ntwo\nthr');
    const file = new GrowingFile(path, { chunkBytes: 4 });
    const lines: string[] = [];
    const take = (line: string) => {
      lines.push(line);
      if (lines.length > 100) throw new Error('It never ends');
      appendFileSync(path, 'more\nand\nmore\n');
    };
    await file.readRemaining(take, ALL);
    expect(lines.slice(0, 2)).toEqual(['one', 'two']);
    expect(lines.length).toBeLessThan(5);
    file.close();
    const few = new GrowingFile(path, { chunkBytes: 4 });
    const first: string[] = [];
    await few.readRemaining((line) => first.push(line), 4);
    expect(first).toEqual(['one']);
    few.close();
  });

  test('splits at line feeds alone, and puts characters together, wherever a write or a read ends', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', '가', '😀', '\u2028', '\u0085', '\r') }), {
          minLength: 1,
        }),
        fc.array(fc.nat(200), { maxLength: 10 }),
        fc.integer({ min: 1, max: 9 }),
        (texts, cuts, chunkBytes) => {
          using home = temporaryHome();
          const path = home.put('out', '');
          const bytes = Buffer.from(`${texts.join('\n')}\n`);
          const file = new GrowingFile(path, { chunkBytes });
          const lines: string[] = [];
          let at = 0;
          for (const cut of [...cuts.toSorted((one, other) => one - other), bytes.length]) {
            const end = Math.min(cut, bytes.length);
            if (end > at) appendFileSync(path, bytes.subarray(at, end));
            at = Math.max(at, end);
            lines.push(...linesOf(file));
          }
          expect(lines).toEqual(texts);
          file.close();
        },
      ),
      { numRuns: 50 },
    );
  });

  test('shortens a line that is too long, and knows where it ends', () => {
    using home = temporaryHome();
    const long = JSON.stringify({ type: 'a', text: '가"'.repeat(500_000), id: 'x' });
    const path = home.put('out', `${long}\nnext\n${long}`);
    const file = new GrowingFile(path, { lineBytesMax: 100_000 });
    const [first, second] = linesOf(file);
    expect(JSON.parse(first ?? '')).toMatchObject({ type: 'a', id: 'x' });
    expect(first?.length).toBeLessThan(500_000);
    expect(second).toBe('next');
    file.readRest((line) => expect(JSON.parse(line)).toMatchObject({ id: 'x' }));
    file.close();
  });

  test('passes over a long line that is no JSON', () => {
    using home = temporaryHome();
    const path = home.put('out', `${'x'.repeat(300_000)}\nnext\n`);
    const file = new GrowingFile(path, { lineBytesMax: 100_000 });
    expect(linesOf(file)).toEqual(['next']);
    file.close();
  });

  test('waits quietly when the file has become shorter', () => {
    using home = temporaryHome();
    const path = home.put('out', 'one\ntwo\n');
    const file = new GrowingFile(path);
    expect(linesOf(file)).toHaveLength(2);
    truncateSync(path, 0);
    expect(linesOf(file)).toEqual([]);
    expect(file.bytes()).toBe(0);
    file.close();
  });
});

describe('readTail()', () => {
  test('returns the last whole lines of a file, and nothing when there is none', () => {
    using home = temporaryHome();
    const path = home.put('errors', '');
    expect(readTail(path, 10)).toBe('');
    writeFileSync(path, 'first\nsecond\nthird\n');
    expect(readTail(path, 100)).toBe('first\nsecond\nthird\n');
    expect(readTail(path, 9)).toBe('third\n');
    expect(readTail(`${path}-missing`, 10)).toBe('');
  });
});
