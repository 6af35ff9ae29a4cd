import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SearchedText } from '../../src/core/redact-named.ts';

/** Few characters, so that words occur; the text has also letters that become ASCII, or two letters, in lower case. */
const letters = (of: string, lengthMax: number) =>
  fc.string({ unit: fc.constantFrom(...of), maxLength: lengthMax });
const text = letters('aAbBiIkK_-.ßÅ비번İK😀', 12);
const word = letters('aAbBiIkK_-.비번', 4);

test('has() and hasInAnyCase() find what a search of the whole text finds', () => {
  fc.assert(
    fc.property(text, word, (text, word) => {
      const searched = new SearchedText(text);
      expect(searched.has(word)).toBe(text.includes(word));
      const lowerCase = word.toLowerCase();
      expect(searched.hasInAnyCase(lowerCase)).toBe(text.toLowerCase().includes(lowerCase));
    }),
    { numRuns: 2000 },
  );
});

test('hasOne() finds any of the alternatives', () => {
  fc.assert(
    fc.property(text, fc.array(word, { minLength: 1, maxLength: 4 }), (text, words) => {
      expect(new SearchedText(text).hasOne(words.join('|'))).toBe(words.some((word) => text.includes(word)));
    }),
    { numRuns: 2000 },
  );
});
