import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isRecord, type Json, parseJsonPrefix } from '../../src/core/guards.ts';
import { testEndsSoon } from '../support/ends-soon.ts';

const rows: [text: string, expected: unknown][] = [
  ['{"a":1,"b":"x', { a: 1, b: 'x' }],
  ['{"a":1,"b":"x\\', { a: 1, b: 'x' }],
  ['{"a":1,"b":"x\\u00', { a: 1, b: 'x' }],
  ['{"a":1,"b":"x\\\\', { a: 1, b: 'x\\' }],
  ['{"a":1,"b":"x\\\\u00', { a: 1, b: 'x\\u00' }],
  ['{"a":1,"b', { a: 1 }],
  ['{"a":1,"b":', { a: 1 }],
  ['{"a":1,"b":12', { a: 1 }],
  ['{"a":1,"b":tr', { a: 1 }],
  ['{"a":1,', { a: 1 }],
  ['{"a":1,"b":{"c":2,"d":"x', { a: 1, b: { c: 2, d: 'x' } }],
  ['{"a":1,"b":{"c', { a: 1 }],
  ['{"a":1,"b":[1,2', { a: 1, b: [1] }],
  ['{"a":1,"b":["x", "y', { a: 1, b: ['x', 'y'] }],
  ['{"a":"x,y","b":{', { a: 'x,y' }],
  ['{"a":"한', { a: '한' }],
  ['{"a":1}', undefined],
  ['{"a":1', undefined],
  ['{"a', undefined],
  ['{', undefined],
  ['', undefined],
  ['x', undefined],
  ['[', undefined],
  [`${'['.repeat(300)}"x`, undefined],
  [`{"a":1,"b":${'{"c":'.repeat(300)}"x`, undefined],
  ['}{"a":"x', undefined],
  ['{"a" 1,"b":"x', undefined],
];
for (const [text, expected] of rows) {
  const shown = JSON.stringify(text.slice(0, 40));
  test(`parseJsonPrefix() returns ${JSON.stringify(expected)} when it reads ${shown}`, () => {
    expect(parseJsonPrefix(text)).toEqual(expected);
  });
}

/** Whether `part` is `whole` with its end missing: all members equal but the last, which is itself a beginning. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (typeof part === 'string' && typeof whole === 'string') return whole.startsWith(part);
  const isList = Array.isArray(part) && Array.isArray(whole);
  if (!isList && (!isRecord(part) || !isRecord(whole))) return Bun.deepEquals(part, whole);
  const members = Object.entries(part as Json);
  const [last, ...complete] = members.toReversed();
  const isSame = ([key, value]: [string, unknown]) => Bun.deepEquals(value, (whole as Json)[key]);
  return complete.every(isSame) && (last === undefined || isBeginning(last[1], (whole as Json)[last[0]]));
}

// Integer-like keys would come back in another order than they were written in.
const key = fc.string({ unit: fc.constantFrom(...'ab"\\,{}:한'), minLength: 1, maxLength: 5 });
const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('node'), { maxLength: 3 }),
  object: fc.dictionary(key, tie('node'), { maxKeys: 4, noNullPrototype: true }),
})).object as fc.Arbitrary<Json>;

test('parseJsonPrefix() returns nothing or a beginning of the document when it is cut anywhere', () => {
  fc.assert(
    fc.property(value, fc.boolean(), (document, isPretty) => {
      const text = JSON.stringify(document, null, isPretty ? 2 : 0);
      for (let end = 0; end < text.length; end++) {
        const prefix = parseJsonPrefix(text.slice(0, end));
        if (prefix !== undefined && !isBeginning(prefix, JSON.parse(text))) {
          throw new Error(`Cut at ${end}: ${text.slice(0, end)} gave ${JSON.stringify(prefix)}`);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('parseJsonPrefix() keeps every complete member when the cut falls into the string behind them', () => {
  fc.assert(
    fc.property(value, fc.string(), (document, last) => {
      const { zz: _, ...members } = document;
      const text = JSON.stringify({ ...members, zz: `${last}……` });
      expect(parseJsonPrefix(text.slice(0, -3))).toEqual({ ...members, zz: `${last}…` });
    }),
  );
});

test('parseJsonPrefix() does not throw when the text is arbitrary', () => {
  const token = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '1', ' ', '\\u', '__proto__');
  fc.assert(fc.property(fc.array(token), (tokens) => void parseJsonPrefix(tokens.join(''))));
});

const endOfBoth = (text: string) => [parseJsonPrefix(text), parseJsonPrefix(`{"a":"${text}`)];
testEndsSoon('parseJsonPrefix', endOfBoth, ['[', '{"a":', ',', '"', '\\', '"\\', '{}']);
