import { describe, expect, test } from 'bun:test';
import type { RunWithMessages } from '../../src/runs/model/run.ts';
import { labelProblem, matchRun } from '../../src/runs/requester.ts';
import { childKeyOf, madeRunWithTurn } from '../support/made-run.ts';

const id = (beginning: string) => beginning.padEnd(32, '0');

/** Of these the first has an id of digits only at its beginning, and the second and third begin alike. */
const RUNS: readonly RunWithMessages[] = [
  madeRunWithTurn({ id: id('12345678'), number: 1, label: 'fix tests' }),
  madeRunWithTurn({ id: id('abcd1111'), number: 2, label: 'docs' }),
  madeRunWithTurn({ id: id('abcd2222'), number: 3, label: 'docs of the API' }),
  madeRunWithTurn({ id: id('ffff0000'), number: 12, label: 'twin' }),
  madeRunWithTurn({ id: id('99990000'), number: 11, label: 'twin' }),
  madeRunWithTurn({ id: id('77770000'), number: 10, label: 'agent: fix' }),
  madeRunWithTurn({ id: id('66660000'), number: 9, label: '1234' }),
  madeRunWithTurn({ id: id('66661111'), number: 13, label: 'pair' }),
  madeRunWithTurn({ id: id('66662222'), number: 14, label: 'pair' }, { state: 'success' }),
  { ...madeRunWithTurn({ id: id('66663333'), number: 15, label: 'queue' }, { state: 'error' }), waiting: 1 },
  madeRunWithTurn({ id: id('66664444'), number: 16, label: 'queue' }, { state: 'success' }),
];

const found: [words: string, number: number][] = [
  ['last', 16],
  ['1', 1],
  ['#1', 1],
  [' 12 ', 12],
  ['0012', 12],
  [childKeyOf(id('abcd1111')), 2],
  ['abcd1', 2],
  ['ABCD2', 3],
  ['abcd1111-0000', 2],
  [id('ffff0000'), 12],
  // No run has the number, so it is the beginning of an id.
  ['12345', 1],
  ['1234', 1],
  ['id:1234', 1],
  ['id:9999', 11],
  ['fix tests', 1],
  ['fix', 1],
  // The whole label of one, the beginning of another.
  ['docs', 2],
  ['docs of', 3],
  ['agent: fix', 10],
  ['agent: f', 10],
  // Of two with one label the newest, or the one that works; the same where the label is only begun.
  ['twin', 12],
  ['tw', 12],
  ['pair', 13],
  ['pai', 13],
  ['queue', 15],
];

const DOCS = 'It may be #2 "docs" (running), #3 "docs of the API" (running): use the number';

const notFound: [words: string | undefined, kind: 'missing' | 'ambiguous' | 'empty', error: string][] = [
  [undefined, 'empty', 'Missing subagent id.'],
  ['', 'empty', 'Missing subagent id.'],
  ['  ', 'empty', 'Missing subagent id.'],
  ['4', 'missing', 'Invalid subagent index: 4'],
  ['#4', 'missing', 'Invalid subagent index: 4'],
  ['0', 'missing', 'Invalid subagent index: 0'],
  ['555', 'missing', 'Invalid subagent index: 555'],
  ['5555', 'missing', 'Invalid subagent index: 5555'],
  ['#12345', 'missing', 'Invalid subagent index: 12345'],
  ['agent:main:subagent:none', 'missing', 'Unknown subagent session: agent:main:subagent:none'],
  ['abcd', 'ambiguous', `Ambiguous run id prefix: abcd. ${DOCS}`],
  ['id:abcd', 'ambiguous', `Ambiguous run id prefix: abcd. ${DOCS}`],
  ['abc', 'missing', 'Unknown subagent id: abc'],
  ['id:12', 'missing', 'Unknown subagent id: id:12'],
  ['id:', 'missing', 'Unknown subagent id: id:'],
  ['id:fix', 'missing', 'Unknown subagent id: id:fix'],
  ['doc', 'ambiguous', `Ambiguous subagent label prefix: doc. ${DOCS}`],
  ['nothing', 'missing', 'Unknown subagent id: nothing'],
  ['\u001b[2Jno\nthing', 'missing', 'Unknown subagent id: no thing'],
];

describe('matchRun()', () => {
  for (const [words, number] of found)
    test(`finds run ${number} by ${JSON.stringify(words)}`, () => {
      const answer = matchRun(words, RUNS);
      expect(answer.kind === 'found' ? answer.run.run.number : answer.error).toBe(number);
    });

  for (const [words, kind, error] of notFound)
    test(`says "${error}" to ${JSON.stringify(words)}`, () =>
      expect(matchRun(words, RUNS)).toEqual({ kind, error }));

  test('knows no last one where there is none', () =>
    expect(matchRun('last', [])).toEqual({ kind: 'missing', error: 'Unknown subagent id: last' }));

  test('takes a beginning of digits for an id only when no run has that number', () => {
    const both = [...RUNS, madeRunWithTurn({ id: id('55550000'), number: 12345 })];
    const numberOf = (words: string) => {
      const answer = matchRun(words, both);
      return answer.kind === 'found' ? answer.run.run.number : answer.error;
    };
    expect([numberOf('12345'), numberOf('id:12345')]).toEqual([12345, 1]);
  });
});

describe('labelProblem()', () => {
  const words = [
    'last',
    'all',
    'project',
    '*',
    '3',
    '#3',
    '1234',
    'id:abcd',
    'abcd',
    'ABCD-1234',
    id('ffff'),
    childKeyOf(id('f')),
  ];
  for (const label of words)
    test(`refuses ${label}, by which no run could be named`, () => {
      expect(labelProblem(label)).toStartWith(`Cannot call a run "${label}": `);
      expect(labelProblem(label)).toEndWith('. Choose another label');
    });

  test('has nothing against a label by which its run is found', () => {
    for (const label of ['docs', 'fix #3', 'lasting', 'all tests', 'agent: fix', 'abc', 'v2'])
      expect(labelProblem(label)).toBeUndefined();
  });
});
