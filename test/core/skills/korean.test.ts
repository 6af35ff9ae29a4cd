import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  isLightVerb,
  nounEnding,
  splitKorean,
  splitMisspelledKorean,
} from '../../../src/core/skills/korean.ts';

function show(token: string): string[] {
  return splitKorean(token).map(
    ({ text, entry, ending }) => `${text}:${entry?.meanings[0]?.concept ?? '?'}:${ending}`,
  );
}

const ROWS: [token: string, expected: string[]][] = [
  ['마이그레이션을', ['마이그레이션:migration:object']],
  ['스테이징에서도', ['스테이징:staging:adverbial']],
  ['테스트들을', ['테스트:test:object']],
  ['배포', ['배포:deploy:none']],
  ['배포해줘', ['배포:deploy:verb']],
  ['배포하고', ['배포:deploy:verb']],
  ['배포해야', ['배포:deploy:verb']],
  ['배포하는', ['배포:deploy:attribute']],
  ['배포된', ['배포:deploy:attribute']],
  ['배포했는데', ['배포:deploy:attribute']],
  ['배포하면', ['배포:deploy:attribute']],
  ['배포해주면', ['배포:deploy:verb']],
  ['배포할', ['배포:deploy:future']],
  ['되돌려줘', ['되돌려:revert:verb']],
  ['만들어', ['만들:create:verb']],
  ['만든', ['만든:create:attribute']],
  ['고쳤어', ['고쳤어:?:none']],
  ['바꿔주세요', ['바꿔:change:verb']],
  ['커밋메시지', ['커밋:commit:none', '메시지:message:none']],
  ['커밋메시지써줘', ['커밋:commit:none', '메시지:message:none', '써:create:verb']],
  ['쿠폰테이블에', ['쿠폰:?:none', '테이블:table:adverbial']],
  ['영수함을', ['영수함:?:object']],
  // Not "log" and "in".
  ['로그인을', ['로그인:login:object']],
  // Not "write".
  ['쓰레기를', ['쓰레기:?:object']],
];
for (const [token, expected] of ROWS) {
  test(`splitKorean() reads ${token}`, () => {
    expect(show(token)).toEqual(expected);
  });
}

test('nounEnding() knows particles, verbs and nothing else', () => {
  expect(nounEnding('')).toBe('none');
  expect(nounEnding('에는')).toBe('adverbial');
  expect(nounEnding('하고')).toBe('verb');
  expect(nounEnding('랑')).toBe('join');
  expect(nounEnding('이야')).toBe('statement');
  expect(nounEnding('스크립트')).toBeUndefined();
});

test('isLightVerb() knows what makes a verb of the word before', () => {
  expect(['해줘', '해주세요', '부탁해', 'ㄱㄱ', '진행해줘', '된'].every(isLightVerb)).toBe(true);
  expect(['한글', '하나', '해결', '부분', '고객'].some(isLightVerb)).toBe(false);
});

test('splitMisspelledKorean() mends one wrong syllable of a long word', () => {
  expect(splitMisspelledKorean('마이그레이숀을')?.entry?.meanings[0]?.concept).toBe('migration');
  expect(splitMisspelledKorean('마이그레시숀을')).toBeUndefined();
  expect(splitMisspelledKorean('테스토')).toBeUndefined();
});

test('splitKorean() never throws and loses nothing of a short token', () => {
  const syllable = fc.integer({ min: 0xac00, max: 0xd7a3 }).map((code) => String.fromCharCode(code));
  const part = fc.oneof(
    syllable,
    fc.constantFrom('배포', '해줘', '마이그레이션', '을', '하는', '써', '들', '메시지'),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), (parts) => {
      const token = parts.join('');
      const stems = splitKorean(token);
      if (token.length <= 24) expect(token.startsWith(stems.map(({ text }) => text).join(''))).toBe(true);
      else expect(stems).toEqual([]);
    }),
  );
});
