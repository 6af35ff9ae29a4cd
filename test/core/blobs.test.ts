import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { withoutBlobs } from '../../src/core/long-json.ts';

const KIB = 1024;
const reduce = (text: string) => new TextDecoder().decode(withoutBlobs(new TextEncoder().encode(text)));

describe('withoutBlobs()', () => {
  test('takes the middle out of images, and leaves the document around them', () => {
    const data = Buffer.alloc(90 * KIB, 7).toString('base64');
    const document = { before: '한글', image: { data }, again: [data, data], after: { type: 'x' } };
    const reduced = JSON.parse(reduce(JSON.stringify(document)));
    const short = data.slice(0, 16);
    expect(reduced).toEqual({
      before: '한글',
      image: { data: short },
      again: [short, short],
      after: { type: 'x' },
    });
  });

  const untouched: [string, string][] = [
    ['a short document', '{"a":1}'],
    ['nothing', ''],
    ['a run that is just too short', `{"a":"${'A'.repeat(64 * KIB - 1)}"}`],
    ['a long text', `{"a":"${'word '.repeat(50 * KIB)}"}`],
    ['a long text with a private part', `{"a":"<private>${'secret '.repeat(50 * KIB)}</private>"}`],
    ['many short runs', `[${`"${'A'.repeat(40 * KIB)}",`.repeat(20)}1]`],
  ];
  for (const [what, text] of untouched) {
    test(`leaves ${what} as it is`, () => {
      const bytes = new TextEncoder().encode(text);
      expect(withoutBlobs(bytes)).toBe(bytes);
    });
  }

  const places: [string, string, string][] = [
    ['at the least length', 'A'.repeat(64 * KIB), 'A'.repeat(16)],
    ['behind an escape sequence', `\\u0041${'B'.repeat(70 * KIB)}`, `A${'B'.repeat(11)}`],
    ['behind a line end', `\\n${'B'.repeat(70 * KIB)}`, `\n${'B'.repeat(15)}`],
    ['before another character', `${'B'.repeat(70 * KIB)} end`, `${'B'.repeat(16)} end`],
  ];
  for (const [what, inside, expected] of places) {
    test(`finds a run ${what}`, () => {
      expect(JSON.parse(reduce(`"${inside}"`))).toBe(expected);
    });
  }

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
