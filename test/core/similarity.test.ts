import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { distinctiveTokens, errorSimilarity, errorTokens } from '../../src/core/similarity.ts';

const READING = 'TypeError: Cannot read properties of undefined (reading <STR>)';

const alike: [left: string, right: string, least: number, most: number][] = [
  [READING, READING, 1, 1],
  ['boom', 'boom', 1, 1],
  ['Boom', 'bOOM', 1, 1],
  [READING, 'TypeError: Cannot read properties of null (reading <STR>)', 0, 0],
  ['Cannot read properties of null at module load time', READING, 0, 0],
  ['Cannot find module <STR>', 'Cannot find module <STR> Require stack: <PATH>', 0.3, 0.95],
  ['npm ERR! missing script: build', 'npm ERR! missing script: build again', 0.7, 0.99],
  ['connect ECONNREFUSED <N>', 'connect ETIMEDOUT <N>', 0, 0],
  ['exit code <N>', 'permission denied', 0, 0],
  ['', '', 0, 0],
  ['', 'boom', 0, 0],
  ['<STR>', '<PATH>', 0, 0],
  ['모듈을 찾을 수 없습니다', '모듈을 찾을 수 없습니다', 1, 1],
  ['%%%%%', 'ZZZZZ', 0, 0],
];
for (const [left, right, least, most] of alike) {
  test(`errorSimilarity() is between ${least} and ${most} when it compares ${left} with ${right}`, () => {
    expect(errorSimilarity(left, right)).toBeGreaterThanOrEqual(least);
    expect(errorSimilarity(left, right)).toBeLessThanOrEqual(most);
  });
}

const word = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom('error', 'null', 'undefined', '<STR>', 'module', 'the', '42'),
);
const error = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));

test('errorSimilarity() gives the same number between 0 and 1 when the errors are swapped', () => {
  fc.assert(
    fc.property(error, error, (left, right) => {
      const similarity = errorSimilarity(left, right);
      expect(similarity).toBe(errorSimilarity(right, left));
      expect(similarity).toBeGreaterThanOrEqual(0);
      expect(similarity).toBeLessThanOrEqual(1);
    }),
  );
});

test('errorSimilarity() is 1 when an error that has words is compared with itself', () => {
  fc.assert(
    fc.property(error, (text) => {
      expect(errorSimilarity(text, text)).toBe(errorTokens(text).length > 0 ? 1 : 0);
    }),
  );
});

test('errorTokens() gives the words in lower case when the error has words, placeholders and numbers', () => {
  expect(errorTokens(READING)).toEqual([
    'typeerror',
    'cannot',
    'read',
    'properties',
    'of',
    'undefined',
    'reading',
    '<str>',
  ]);
  expect(errorTokens('error TS2304 at 12')).toEqual(['error', 'ts2304', 'at', '12']);
  expect(errorTokens('')).toEqual([]);
  expect(errorTokens('a '.repeat(1000))).toHaveLength(64);
});

test('distinctiveTokens() gives the longest words once when there are more than asked for', () => {
  expect(distinctiveTokens('Error: Cannot find module <STR> module foo at', 2)).toEqual(['module', 'find']);
  expect(distinctiveTokens('Error: <STR> at <N>', 5)).toEqual([]);
  expect(distinctiveTokens('', 5)).toEqual([]);
});

test('errorSimilarity() ends soon when the errors are a mebibyte', () => {
  const start = performance.now();
  for (const unit of ['a', 'a ', '<', '<A', '한', '1'])
    errorSimilarity(unit.repeat(1 << 20), unit.repeat(1 << 20));
  expect(performance.now() - start).toBeLessThan(5000);
});
