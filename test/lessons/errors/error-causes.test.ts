import { describe, expect, test } from 'bun:test';
import { causesIn, mayName, wordingsOf } from '../../../src/lessons/errors/error-marks.ts';
import { CAUSES } from '../../../src/lessons/errors/error-wordings.ts';

const CELLS = CAUSES.split('|');

/** The first wording of each cause. */
function namesOf(causes: ReadonlySet<number>): string[] {
  return [...causes].map((cause) => wordingsOf(cause)[0]?.join('*') ?? '');
}

const rows: [text: string, telling: string[], general: string[]][] = [
  ['connect ECONNREFUSED 127.0.0.1:3000', ['econnrefused'], []],
  ['Connection refused', ['econnrefused'], []],
  ['connect ECONNREFUSED 127.0.0.1:6379', ['redis*refused'], []],
  ['Port 3000 is already in use', ['eaddrinuse'], []],
  ['Port 3000\nis already in use', [], []],
  ["ModuleNotFoundError: No module named 'x'", ['no module named'], []],
  ['EACCES: permission denied', [], ['eacces']],
  ['ERROR:  relation "a" does not exist', ['relation * does not exist'], []],
  ['ERROR:  column "b" of relation "a" does not exist', ['column * does not exist'], []],
  ['all is well', [], []],
  ['', [], []],
];
for (const [text, telling, general] of rows) {
  test(`causesIn() finds ${[...telling, ...general].join() || 'nothing'} in ${JSON.stringify(text)}`, () => {
    const causes = causesIn(text);
    expect(namesOf(causes.telling)).toEqual(telling);
    expect(namesOf(causes.general)).toEqual(general);
  });
}

test('mayName() says whether a wording of the causes is in the text', () => {
  const { telling } = causesIn('Connection refused');
  expect(mayName('Error: ECONNREFUSED', telling)).toBe(true);
  expect(mayName('Error: ENOTFOUND', telling)).toBe(false);
  expect(mayName('Connection refused', new Set())).toBe(false);
});

describe('the table of causes', () => {
  const wordings: { wording: string; cause: number }[] = [];
  let cause = 0;
  for (const [index, cell] of CELLS.entries()) {
    if (cell.startsWith('\n')) cause = index;
    else if (cell !== '~') wordings.push({ wording: cell, cause });
  }

  test('has every wording once, in lower case, and none that is empty', () => {
    expect(wordings.length).toBeGreaterThan(500);
    expect(new Set(wordings.map(({ wording }) => wording)).size).toBe(wordings.length);
    expect(wordings.filter(({ wording }) => wording !== wording.toLowerCase() || wording === '')).toEqual([]);
  });

  test('marks each wording that has gaps, and no other', () => {
    const isWrong = (wording: string) => wording.startsWith('*') !== wording.slice(1).includes('*');
    expect(wordings.filter(({ wording }) => isWrong(wording))).toEqual([]);
  });

  test('has no wording that another cause takes away or that names two', () => {
    const wrong = wordings.flatMap(({ wording, cause }) => {
      const { telling, general } = causesIn(wording.replace(/^\*/, '').replaceAll('*', ' x '));
      const others = [...telling].filter((found) => found !== cause);
      return (telling.has(cause) || general.has(cause)) && others.length === 0 ? [] : [wording];
    });
    expect(wrong).toEqual([]);
  });
});
