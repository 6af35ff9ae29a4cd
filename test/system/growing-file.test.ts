import { describe, expect, test } from 'bun:test';
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { GrowingFile, readTail } from '../../src/system/lines.ts';
import { temporaryHome } from '../support/home.ts';

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
