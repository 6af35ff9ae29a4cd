import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { LongJson } from '../../src/core/long-json.ts';

const MIB = 1024 * 1024;

/** What is left of a line that comes in these pieces. */
function shorten(line: Uint8Array, pieceBytes = 64 * 1024): unknown {
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
        const document = {
          type: 'user',
          message: { content: [{ text, id: 'x' }], n: 1 },
          usage: { input: 3 },
        };
        const found = shorten(bytesOf(document), 10_007) as typeof document;
        const [block] = found.message.content;
        expect(text.startsWith(block?.text ?? '-')).toBe(true);
        expect(block?.text.length).toBeGreaterThanOrEqual(64 * 1024);
        expect({ ...found, message: { ...found.message, content: [{ ...block, text: '' }] } }).toEqual({
          ...document,
          message: { ...document.message, content: [{ text: '', id: 'x' }] },
        });
      }
    });
  }

  test('keeps 64 KiB of a text even when each character is an escape', () => {
    const escaped = `{"a":"${'\\u00e9'.repeat(MIB)}","b":1}`;
    const found = shorten(new TextEncoder().encode(escaped)) as { a: string; b: number };
    expect(found.a.length).toBeGreaterThanOrEqual(64 * 1024);
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
