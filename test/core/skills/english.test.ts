import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { englishEntry, englishStem, misspelledEntry } from '../../../src/core/skills/english.ts';

function concept(entry: ReturnType<typeof englishEntry>): string | undefined {
  return entry?.meanings[0]?.concept;
}

const SHAPES: [shape: string, concept: string][] = [
  ['deploys', 'deploy'],
  ['deployed', 'deploy'],
  ['deploying', 'deploy'],
  ['committed', 'commit'],
  ['libraries', 'dependency'],
  ['caches', 'cache'],
  ['removing', 'remove'],
  ['tables', 'table'],
  ['patches', 'fix'],
  ['verified', 'check'],
];
for (const [shape, expected] of SHAPES) {
  test(`englishEntry() knows "${shape}" as ${expected}`, () => {
    expect(concept(englishEntry(shape))).toBe(expected);
  });
}

test('englishEntry() knows nothing of other words', () => {
  for (const word of ['voucher', 'this-is-new', '', 'class-room']) expect(englishEntry(word)).toBeUndefined();
});

test('englishStem() is the same for the shapes of an unknown word', () => {
  expect(englishStem('vouchers')).toBe(englishStem('voucher'));
  expect(englishStem('reimbursing')).toBe(englishStem('reimburse'));
  expect(englishStem('reimbursed')).toBe(englishStem('reimburse'));
});

const TYPOS: [typo: string, concept: string | undefined][] = [
  ['depoly', 'deploy'],
  ['migratoin', 'migration'],
  ['comit', 'commit'],
  ['databse', 'database'],
  ['enviroment', 'environment'],
  ['seperate', 'extract'],
  ['dependancy', 'dependency'],
  ['tets', 'test'],
  // Words of their own.
  ['voucher', undefined],
  ['contest', undefined],
  ['horse', undefined],
  ['ab', undefined],
];
for (const [typo, expected] of TYPOS) {
  test(`misspelledEntry() takes "${typo}" for ${expected ?? 'nothing'}`, () => {
    expect(concept(misspelledEntry(typo))).toBe(expected as string);
  });
}

test('englishEntry(), englishStem() and misspelledEntry() never throw', () => {
  fc.assert(
    fc.property(fc.string(), (word) => {
      englishEntry(word);
      misspelledEntry(word);
      expect(typeof englishStem(word)).toBe('string');
    }),
  );
});
