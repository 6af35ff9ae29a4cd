import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Candidate, parseSearch, rankTexts } from '../../src/core/word-search.ts';

const RANKING = { weights: [8, 4, 2, 1], comparedMax: 60 };

/** Texts get the ids 1, 2, … and are one column, or several as an array. */
function ranked(search: string, texts: readonly (string | readonly string[])[], own: readonly number[] = []) {
  const candidates = texts.map(
    (text, index): Candidate => ({
      id: index + 1,
      isOwn: own.includes(index + 1),
      columns: typeof text === 'string' ? [text] : text,
    }),
  );
  return rankTexts(parseSearch(search), candidates, RANKING);
}

describe('parseSearch()', () => {
  const rows: [search: string, parts: string[][]][] = [
    ['cannot read', [['cannot'], ['read']]],
    ['  Cannot\tREAD\n', [['cannot'], ['read']]],
    ['src/db.ts', [['src', 'db', 'ts']]],
    ['C:\\app\\db.ts', [['c', 'app', 'db', 'ts']]],
    ['error_kb', [['error', 'kb']]],
    ['read read READ', [['read']]],
    ['--legacy-peer-deps', [['legacy', 'peer', 'deps']]],
    ['"quoted" (a) b* ^c {d}:', [['quoted'], ['a'], ['b'], ['c'], ['d']]],
    ['Café', [['cafe']]],
    ['모듈을 찾을', [['모듈을'], ['찾을']]],
    ['모듈'.normalize('NFD'), [['모듈']]],
    ['', []],
    ['!!! -- "" * 🎉 \ud83d', []],
  ];
  for (const [search, parts] of rows) {
    test(`reads ${JSON.stringify(parts)} in ${JSON.stringify(search)}`, () => {
      expect(parseSearch(search).map((word) => word.parts)).toEqual(parts);
    });
  }

  test('takes ten words at most, of a text of any length', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `word${index}`).join(' ');
    expect(parseSearch(many)).toHaveLength(10);
    expect(parseSearch('x'.repeat(100_000))[0]?.text.length).toBeLessThanOrEqual(1000);
  });
});

describe('rankTexts()', () => {
  const found: [search: string, text: string, isFound: boolean][] = [
    ['cannot', 'Cannot read', true],
    ['cann', 'Cannot read', true],
    ['annot', 'Cannot read', false],
    ['read.', 'Cannot read', true],
    ['db.ts', 'at open (src/db.ts:10:5)', true],
    ['src/db.ts', 'at open (src/db.ts:10:5)', true],
    ['src\\db.ts', 'at open (src/db.ts:10:5)', true],
    ['db.ts', 'src/mydb.ts', false],
    ['db.ts', 'src/db.tsx', false],
    ['lib/db.ts', 'src/db.ts', false],
    ['src/d', 'src/db.ts', false],
    ['src/db', 'src/dbase.ts', true],
    ['e', 'error', false],
    ['e', 'code e', true],
    ['모', '모듈을 찾을 수 없습니다', true],
    ['모듈', '모듈을 찾을 수 없습니다', true],
    ['듈', '모듈을 찾을 수 없습니다', false],
    ['모듈', '새모듈', false],
    ['cafe', 'Café closed', true],
    ['CAFÉ', 'cafe closed', true],
    ['été', 'L’ÉTÉ', true],
    ['2345', 'error TS2345', false],
    ['ts2345', 'error TS2345: Argument', true],
  ];
  for (const [search, text, isFound] of found) {
    test(`${isFound ? 'finds' : 'does not find'} ${search} in ${text}`, () => {
      expect(ranked(search, [text])).toEqual(isFound ? [1] : []);
    });
  }

  const orders: [
    why: string,
    search: string,
    texts: (string | string[])[],
    own: number[],
    order: number[],
  ][] = [
    ['all words come before some', 'port refused', ['port port port', 'refused on that port'], [], [2, 1]],
    ['the phrase comes before the words', 'read port', ['port read', 'cannot read port'], [], [2, 1]],
    ['the phrase may end within a word', 'read po', ['port was read', 'cannot read port'], [], [2, 1]],
    ['the own project comes before others', 'port', ['port port port', 'no port'], [2], [2, 1]],
    ['the phrase comes before the own project', 'read port', ['port read', 'read port'], [1], [2, 1]],
    ['all words come before the own project', 'read port', ['read', 'port is read'], [1], [2, 1]],
    ['the rarer word counts more', 'error zebra', ['error', 'error', 'error', 'zebra'], [], [4, 3, 2, 1]],
    ['the whole word comes before its beginning', 'port', ['portal', 'port'], [], [2, 1]],
    [
      'the short text comes before the long one',
      'port',
      [`port ${'and more '.repeat(9)}`, 'port'],
      [],
      [2, 1],
    ],
    [
      'the first column counts most',
      'port',
      [
        ['x', 'port', '', ''],
        ['port', 'x', '', ''],
      ],
      [],
      [2, 1],
    ],
    [
      'the second more than the third',
      'port',
      [
        ['', 'x', 'port', ''],
        ['', 'port', 'x', ''],
      ],
      [],
      [2, 1],
    ],
    [
      'the third more than the last',
      'port',
      [
        ['', '', 'x', 'port'],
        ['', '', 'port', 'x'],
      ],
      [],
      [2, 1],
    ],
    ['the newest comes first among equals', 'port', ['port', 'port', 'port'], [], [3, 2, 1]],
    ['nothing comes of nothing', '???', ['???'], [], []],
  ];
  for (const [why, search, texts, own, order] of orders) {
    test(why, () => {
      expect(ranked(search, texts, own)).toEqual(order);
    });
  }

  test('does not take the end of a column and the beginning of the next for one word', () => {
    expect(
      ranked('no/port', [
        ['no', 'port'],
        ['is no port', ''],
      ]),
    ).toEqual([2]);
  });

  test('looks no further when enough have all words', () => {
    let looked = 0;
    const endless = function* (): Generator<Candidate> {
      for (let id = 1000; id > 0; id--) {
        looked++;
        yield { id, isOwn: true, columns: ['a port'] };
      }
    };
    expect(rankTexts(parseSearch('port'), endless(), { ...RANKING, comparedMax: 5 })).toEqual([
      1000, 999, 998, 997, 996,
    ]);
    expect(looked).toBe(5);
  });

  test('compares those with all words, or else with the rarest, when there are too many', () => {
    const texts = [...Array.from({ length: 50 }, () => 'error here'), 'zebra', 'zebra error'];
    const candidates = texts.map((text, index) => ({ id: index, isOwn: true, columns: [text] }));
    const few = { ...RANKING, comparedMax: 2 };
    expect(rankTexts(parseSearch('error zebra'), candidates, few)).toEqual([51, 50]);
  });

  const texts = fc.array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom('Error: no port', 'port error', '모듈 오류', 'src/db.ts error'),
    ),
    { maxLength: 12 },
  );

  test('takes any search, and gives the same order for any order of the same texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), texts, (search, all) => {
        const candidates = all.map((text, id) => ({
          id,
          isOwn: id % 2 === 0,
          columns: [text, '', '', text],
        }));
        const words = parseSearch(`${search} error`);
        const order = rankTexts(words, candidates, RANKING);
        expect(rankTexts(words, candidates.toReversed(), RANKING)).toEqual(order);
        expect(new Set(order).size).toBe(order.length);
      }),
    );
  });

  test('finds every text by any of its words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (text) => {
        for (const { text: word } of parseSearch(text)) expect(ranked(word, [text])).toEqual([1]);
      }),
      { numRuns: 500 },
    );
  });
});
