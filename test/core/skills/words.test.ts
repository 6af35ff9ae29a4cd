import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { canAct, readTypedWords, readWords, type Word } from '../../../src/core/skills/words.ts';

/** `migration` is a noun, `create!` a verb, `create~` describes; `@` marks an adverbial, `|` the end of a phrase. */
function show(words: readonly Word[]): string {
  const form = { noun: '', verb: '!', attribute: '~' };
  return words
    .map(({ meanings, form: of, role, endsPhrase }) =>
      [meanings[0]?.concept ?? '-', form[of], role === 'adverbial' ? '@' : '', endsPhrase ? '|' : ''].join(
        '',
      ),
    )
    .join(' ');
}

const ROWS: [what: string, text: string, expected: string][] = [
  ['an English request', 'please deploy the branch to staging', 'deploy!| branch| staging@'],
  ['the same in Korean', '브랜치를 스테이징에 배포해줘', 'branch| staging@| deploy!|'],
  ['a noun with a verb after it', 'production rollback 해줘', 'production rollback!|'],
  ['a noun with a particle of its own', 'release를 만들어줘', 'release| create!|'],
  ['a describing verb', '컬럼 추가하는 마이그레이션 만들어줘', 'column create~| migration create!|'],
  ['what was done', '배포했어', 'deploy~|'],
  ['what can be done', '배포할 수 있어', 'deploy!|'],
  ['a request without a verb form', '배포 부탁해', 'deploy!|'],
  ['an English phrase', 'open a pull request', 'open!| pr'],
  ['a phrase with something inside', 'roll the release back', 'rollback!| release|'],
  ['a Korean phrase in two words', '릴리스 노트를 써줘', 'changelog| create!|'],
  ['a noun that is a verb elsewhere', 'the build is red', 'build| red'],
  ['a verb that is a noun elsewhere', 'log the user id', 'to log!| user id'],
  ['participles', 'stories covering the errors', 'story| error@'],
  ['what needs doing', 'the types need regenerating', 'type| create!|'],
  ['compounds with their head', 'the release notes page', 'changelog page'],
  ['unknown words by their stem', 'the vouchers', 'voucher'],
  ['identifiers as names', 'fix useCart', 'fix!| -'],
];
for (const [what, text, expected] of ROWS) {
  test(`readWords() reads ${what}`, () => {
    expect(show(readWords(text))).toBe(expected);
  });
}

test('readTypedWords() takes a long time for slowness', () => {
  for (const text of ['it takes nine seconds', '불러오는 데 3분이나 걸려']) {
    expect(show(readTypedWords([text])[0] ?? [])).toContain('slow');
  }
});

test('readTypedWords() mends a few typos, readWords() none', () => {
  const typos = 'migratoin '.repeat(20);
  const mended = readTypedWords([typos, typos]).flat();
  expect(mended.filter(({ kind }) => kind === 'thing').length).toBe(8);
  expect(readWords(typos).filter(({ kind }) => kind === 'thing').length).toBe(0);
});

test('canAct() knows what can be asked for', () => {
  expect((['action', 'deed', 'task'] as const).every(canAct)).toBe(true);
  expect((['thing', 'area', 'common', 'domain', 'quality', 'unknown', 'name'] as const).some(canAct)).toBe(
    false,
  );
});

test('readWords() never throws and gives the same for the same text', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'deploy',
      'the',
      'roll',
      'back',
      '배포해줘',
      '해줘',
      '를',
      '릴리스',
      '노트',
      'a/b.ts',
      ',',
      '.',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const text = words.join(' ');
      expect(readWords(text)).toEqual(readWords(text));
      readTypedWords([text]);
    }),
  );
});
