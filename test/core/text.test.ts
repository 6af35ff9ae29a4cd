import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { cleanText, cutText, oneLine } from '../../src/core/text.ts';
import { testEndsSoon } from '../support/ends-soon.ts';

const cuts: [text: string, lengthMax: number, expected: string][] = [
  ['abc', 5, 'abc'],
  ['abc', 3, 'abc'],
  ['abc', 2, 'ab'],
  ['abc', 0, ''],
  ['abc', -1, ''],
  ['', 0, ''],
  ['a😀', 2, 'a'],
  ['a😀', 3, 'a😀'],
  ['😀', 1, ''],
  ['한국어', 2, '한국'],
];
for (const [text, lengthMax, expected] of cuts) {
  test(`cutText() returns ${JSON.stringify(expected)} when ${JSON.stringify(text)} has room for ${lengthMax}`, () => {
    expect(cutText(text, lengthMax)).toBe(expected);
  });
}

test('cutText() returns a well-formed prefix of the text when the text is well-formed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: -2, max: 30 }), (text, lengthMax) => {
      const cut = cutText(text, lengthMax);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.length).toBeLessThanOrEqual(Math.max(0, lengthMax));
      expect(cut.isWellFormed()).toBe(true);
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, lengthMax - 1));
    }),
  );
});

const cleaned: [text: string, expected: string][] = [
  ['plain text\n\ttabbed\r\n', 'plain text\n\ttabbed\r\n'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b[1;38;5;196mred\u001b[m', 'red'],
  ['\u009b31mred', 'red'],
  ['\u001b]0;title\u0007text', 'text'],
  ['\u001b]8;;https://a.io\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['\u001b(Btext', 'text'],
  ['\u001b', ''],
  ['a\u0000b\u0008c\u007fd', 'abcd'],
  ['a\u0085b', 'ab'],
  ['a\u200bb\ufeffc', 'abc'],
  ['a\u{13430}b\u{1bca0}c', 'abc'],
  ['a\u202eb\u2066c\u200fd\u061ce', 'abcde'],
  ['a\u2028b', 'ab'],
  ['a\u00adb', 'ab'],
  ['a\u3164b\u115fc\uffa0d', 'abcd'],
  ['a\u{e0041}\u{e007f}b', 'ab'],
  ['\ud83d', '\ufffd'],
  ['a\ude00b', 'a\ufffdb'],
  ['👨‍👩‍👧', '👨‍👩‍👧'],
  ['한국어 日本語 ⚠️ é', '한국어 日本語 ⚠️ é'],
  ['', ''],
];
for (const [text, expected] of cleaned) {
  test(`cleanText() returns ${JSON.stringify(expected)} when it reads ${JSON.stringify(text)}`, () => {
    expect(cleanText(text)).toBe(expected);
    // Long texts take the other way through the function.
    const rest = '\n'.repeat(2000);
    expect(cleanText(text + rest)).toBe(expected + rest);
  });
}

test('cleanText() returns the same when a text is short and when it is long', () => {
  const character = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(character), (characters) => {
      const text = characters.join('');
      const rest = ' '.repeat(1100);
      expect(cleanText(`${text} `)).toBe(cleanText(`${text} ${rest}`).slice(0, -rest.length));
    }),
    { numRuns: 2000 },
  );
});

test('cleanText() leaves no control or invisible character when the text is arbitrary', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const clean = cleanText(text);
      expect(clean).not.toMatch(
        /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/,
      );
      expect(clean.isWellFormed()).toBe(true);
      expect(cleanText(clean)).toBe(clean);
    }),
    { numRuns: 1000 },
  );
});

test('oneLine() returns one trimmed line when the text has any white space', () => {
  expect(oneLine('  a\n\n\tb\r\nc\u00a0d  ')).toBe('a b c d');
  expect(oneLine(' \n ')).toBe('');
  expect(oneLine('a \u200b b')).toBe('a b');
});

const UNITS = ['\u001b', '\u001b[', '\u001b]', '\u001b[1', ' ', '\n', '\u200b', '😀'];
testEndsSoon('oneLine', oneLine, UNITS, 4000);
