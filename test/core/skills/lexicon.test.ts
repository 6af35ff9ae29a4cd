import { expect, test } from 'bun:test';
import { lexicon } from '../../../src/core/skills/lexicon.ts';

const { entries, verbs, families, phraseStarts } = lexicon();
const concepts = new Set(
  [...entries.values()].flatMap(({ meanings }) => meanings.slice(0, 1)).map(({ concept }) => concept),
);

test('lexicon() gives the same every time', () => {
  expect(lexicon()).toBe(lexicon());
});

test('lexicon() knows a word in both languages', () => {
  const meaning = entries.get('deploy')?.meanings[0];
  expect(meaning).toEqual({ concept: 'deploy', strength: 1 });
  expect(entries.get('배포')?.meanings[0]).toEqual(meaning as NonNullable<typeof meaning>);
});

test('lexicon() knows what a word only suggests', () => {
  const meanings = entries.get('playwright')?.meanings ?? [];
  const suggested = meanings.filter(({ strength }) => strength < 1).map(({ concept }) => concept);
  expect(suggested).toEqual(['e2e', 'test', 'browser']);
});

test('lexicon() has every meaning that words suggest', () => {
  const unknown = [...entries.values()]
    .flatMap(({ meanings }) => meanings)
    .filter(({ concept }) => !concepts.has(concept));
  expect(unknown).toEqual([]);
});

test('lexicon() gives every action a family and nothing else one', () => {
  const actions = [...entries.values()].filter(({ kind }) => kind === 'action');
  const named = new Set(actions.map(({ meanings }) => meanings[0]?.concept));
  expect([...named].filter((concept) => concept === undefined || !families.has(concept))).toEqual([]);
  expect(new Set(families.values()).size).toBeLessThan(12);
});

test('lexicon() knows phrases as two words and as one', () => {
  expect(phraseStarts.get('pull')).toBe(2);
  expect(entries.get('pull request')).toEqual(entries.get('pullrequest') as never);
  expect(entries.get('릴리스 노트')).toEqual(entries.get('릴리스노트') as never);
});

test('lexicon() keeps no mark of its notation', () => {
  expect(
    [...entries.keys(), ...verbs, ...concepts].filter((form) => /[~_>/:]/.test(form.replace('ci/cd', ''))),
  ).toEqual([]);
});
