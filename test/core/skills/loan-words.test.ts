import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { englishSound, koreanSound } from '../../../src/core/skills/loan-words.ts';

const PAIRS: [korean: string, english: string][] = [
  ['그라파나', 'grafana'],
  ['업스트림', 'upstream'],
  ['컨슈머', 'consumer'],
  ['데이터독', 'datadog'],
  ['엘라스틱서치', 'elasticsearch'],
  ['노티피케이션', 'notification'],
  ['스토리지', 'storage'],
  ['트레이싱', 'tracing'],
  ['스키마틱', 'schematic'],
];
for (const [korean, english] of PAIRS) {
  test(`koreanSound() hears ${english} in ${korean}`, () => {
    expect(koreanSound(korean)).toBe(englishSound(english) as string);
    expect(koreanSound(korean)?.length).toBeGreaterThanOrEqual(3);
  });
}

test('koreanSound() tells words of different sound apart', () => {
  const sounds = PAIRS.map(([korean]) => koreanSound(korean));
  expect(new Set(sounds).size).toBe(PAIRS.length);
});

test('koreanSound() and englishSound() say nothing about words with few consonants', () => {
  expect(koreanSound('포크')).toBeUndefined();
  expect(englishSound('fork')).toBeUndefined();
  expect(koreanSound('')).toBeUndefined();
  expect(koreanSound('abc')).toBeUndefined();
});

test('koreanSound() and englishSound() never throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (word) => {
      for (const sound of [koreanSound(word), englishSound(word)])
        expect(sound ?? 'KKK').toMatch(/^[A-Z]{3,}$/);
    }),
  );
});
