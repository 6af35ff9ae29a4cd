import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { LongJson, withoutBlobs } from '../../src/core/long-json.ts';

const KIB = 1024;
const MIB = KIB * KIB;

/** What is left of a line that comes in these pieces. */
function shorten(line: Uint8Array, pieceBytes = 64 * KIB): unknown {
  const long = new LongJson();
  for (let at = 0; at < line.length; at += pieceBytes) long.push(line.subarray(at, at + pieceBytes));
  const taken = long.take();
  return taken === undefined
    ? undefined
    : JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(taken));
}

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('LongJson', () => {
  test('leaves a document as it is that holds nothing long, in pieces of any length', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 6 }), fc.integer({ min: 1, max: 40 }), (value, pieceBytes) => {
        const bytes = bytesOf(value);
        expect(shorten(bytes, pieceBytes)).toEqual(JSON.parse(new TextDecoder().decode(bytes)));
      }),
    );
  });

  test('leaves spaces, escapes and quotes as they are', () => {
    const line = '{ "a\\"b" : [ 1 , "\\\\" , "\\\\\\"" , {} ] , "c" : "\\u00e9\\n" }';
    for (let size = 1; size < 12; size++) {
      expect(shorten(new TextEncoder().encode(line), size)).toEqual(JSON.parse(line));
    }
  });

  const texts: readonly [string, string][] = [
    ['plain', 'x'],
    ['of characters of three bytes', '가'],
    ['of characters of four bytes', '😀'],
    ['of quotes', '"'],
    ['of backslashes', '\\'],
    ['of line ends', '\n'],
    ['of all of these', 'a가"\\\n😀\u2028'],
  ];
  for (const [what, piece] of texts) {
    test(`cuts a long text ${what} where it can be cut, and keeps what stands around it`, () => {
      for (const shift of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const text = shift + piece.repeat(Math.ceil((3 * MIB) / piece.length));
        const documentOf = (text: string) => ({
          type: 'user',
          message: { content: [{ text, id: 'x' }], n: 1 },
          usage: { input: 3 },
        });
        const found = shorten(bytesOf(documentOf(text)), 10_007) as ReturnType<typeof documentOf>;
        const kept = found.message.content[0]?.text ?? '-';
        expect(text.startsWith(kept)).toBe(true);
        expect(kept.length).toBeGreaterThanOrEqual(64 * KIB);
        expect(found).toEqual(documentOf(kept));
      }
    });
  }

  test('keeps 64 KiB of a text even when each character is an escape', () => {
    const escaped = `{"a":"${'\\u00e9'.repeat(MIB)}","b":1}`;
    const found = shorten(new TextEncoder().encode(escaped)) as { a: string; b: number };
    expect(found.a.length).toBeGreaterThanOrEqual(64 * KIB);
    expect(found.a).toMatch(/^é+$/);
    expect(found.b).toBe(1);
  });

  test('ends long lists and objects that lie deep, and keeps types and counts behind them', () => {
    const deep = Object.fromEntries(Array.from({ length: 400_000 }, (_, index) => [`key${index}`, index]));
    const document = {
      list: Array.from({ length: 500_000 }, (_, index) => ({ index })),
      a: { b: { c: { d: { deep } } } },
      message: { usage: { input_tokens: 7, output_tokens: 8 } },
      type: 'result',
    };
    const found = shorten(bytesOf(document)) as typeof document;
    expect(found.list.length).toBeGreaterThan(10_000);
    expect(found.list).toEqual(document.list.slice(0, found.list.length));
    expect(found.message).toEqual(document.message);
    expect(found.type).toBe('result');
  });

  test('gives up what is no object, what is nested without end, and what is long in every part', () => {
    const flat = Object.fromEntries(Array.from({ length: 900_000 }, (_, index) => [`key${index}`, index]));
    expect(shorten(bytesOf([1]))).toBeUndefined();
    expect(shorten(new TextEncoder().encode(`{"a":${'['.repeat(100_000)}`))).toBeUndefined();
    expect(shorten(bytesOf(flat))).toBeUndefined();
  });

  test('does not throw, and stays small, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }), (pieces) => {
        const long = new LongJson();
        for (const piece of pieces) long.push(piece);
        expect(long.take()?.length ?? 0).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

const reduce = (text: string) => new TextDecoder().decode(withoutBlobs(new TextEncoder().encode(text)));

describe('withoutBlobs()', () => {
  test('takes the middle out of images, and leaves the document around them', () => {
    const data = Buffer.alloc(90 * KIB, 7).toString('base64');
    const document = { before: '한글', image: { data }, again: [data, data], after: { type: 'x' } };
    const reduced = JSON.parse(reduce(JSON.stringify(document)));
    const short = data.slice(0, 16);
    expect(reduced).toEqual({ ...document, image: { data: short }, again: [short, short] });
  });

  const untouched: [string, string][] = [
    ['a short document', '{"a":1}'],
    ['nothing', ''],
    ['a run that is just too short', `{"a":"${'A'.repeat(64 * KIB - 1)}"}`],
    ['a long text', `{"a":"${'word '.repeat(50 * KIB)}"}`],
    ['a long text with a private part', `{"a":"<private>${'secret '.repeat(50 * KIB)}</private>"}`],
    ['many short runs', `[${`"${'A'.repeat(40 * KIB)}",`.repeat(20)}1]`],
  ];
  test.each(untouched)('leaves %s as it is', (_, text) => {
    const bytes = new TextEncoder().encode(text);
    expect(withoutBlobs(bytes)).toBe(bytes);
  });

  const places: [string, string, string][] = [
    ['at the least length', 'A'.repeat(64 * KIB), 'A'.repeat(16)],
    ['behind an escape sequence', `\\u0041${'B'.repeat(70 * KIB)}`, `A${'B'.repeat(11)}`],
    ['behind a line end', `\\n${'B'.repeat(70 * KIB)}`, `\n${'B'.repeat(15)}`],
    ['before another character', `${'B'.repeat(70 * KIB)} end`, `${'B'.repeat(16)} end`],
  ];
  test.each(places)('finds a run %s', (_, inside, expected) => {
    expect(JSON.parse(reduce(`"${inside}"`))).toBe(expected);
  });

  test('finds every long run wherever it lies, and keeps everything else', () => {
    const part = fc.oneof(
      fc.record({ letters: fc.integer({ min: 0, max: 200 * KIB }) }),
      fc.record({ words: fc.integer({ min: 0, max: 40 * KIB }) }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const texts = parts.map((one) =>
          'letters' in one ? 'A'.repeat(one.letters) : 'a '.repeat(one.words),
        );
        const document = JSON.stringify(texts);
        const expected = texts.map((text) => (/^A{65536,}$/.test(text) ? text.slice(0, 16) : text));
        expect(JSON.parse(reduce(document))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});
