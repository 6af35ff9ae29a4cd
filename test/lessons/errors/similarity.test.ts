import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  areDifferent,
  differingNames,
  errorSimilarity,
  errorTraits,
  markPhrases,
  namesOf,
} from '../../../src/lessons/errors/similarity.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';

const similarity = (left: string, right: string) => errorSimilarity(errorTraits(left), errorTraits(right));

const READING = 'TypeError: Cannot read properties of undefined (reading <STR>)';
const TRACEBACK = `Traceback (most recent call last):
  File "/home/dev/shop/cart.py", line 12, in total
    return sum(prices)
  File "/home/dev/shop/prices.py", line 40, in load
    raise ValueError("unknown currency in the price list")
ValueError: unknown currency in the price list`;

type Row = [why: string, left: string, right: string];

const alike: Row[] = [
  ['they are equal', READING, READING],
  ['they differ in case', 'Boom happened', 'bOOM happened'],
  ['only names differ', "KeyError: 'price'", "KeyError: 'currency'"],
  ['only the object differs', 'No such container: web', 'Error: No such container: api_1'],
  ['only places differ', 'src/a.ts(3,1): error TS2304: x', 'lib/b.ts(90,12): error TS2304: x'],
  ['one has a stack around it', 'ValueError: unknown currency in the price list', TRACEBACK],
  [
    'one ran in a script',
    'AssertionError: the cart total is negative',
    'Exit code 1\n> shop@1.0.0 test\n> node test.js\n\nAssertionError: the cart total is negative\nnpm error Lifecycle script `test` failed',
  ],
  ['a code says it', 'error TS2531: Object is possibly null.', "a.ts:1:2 - error TS18047: 'x' is 'null'."],
  [
    'a cause of one program says it',
    'npm ERR! connect ECONNREFUSED ::1:4873',
    'npm error Connection refused',
  ],
  [
    'a cause says it in another language',
    'bash: line 1: jq: command not found',
    'bash: jq: 명령어를 찾을 수 없음',
  ],
  ['the same program is missing', 'sh: 1: tsc: not found', 'zsh: command not found: tsc'],
  ['the letters are Korean', '설정 파일의 형식이 잘못되었습니다', '오류: 설정 파일의 형식이 잘못되었습니다'],
];
for (const [why, left, right] of alike) {
  test(`errorSimilarity() is high when ${why}`, () => {
    expect(similarity(left, right)).toBeGreaterThan(0.67);
    expect(areDifferent(errorTraits(left), errorTraits(right))).toBe(false);
  });
}

const unlike: Row[] = [
  ['null stands for undefined', READING, READING.replace('undefined', 'null')],
  ['what is missing exists', 'relation "jobs" does not exist', 'relation "jobs" already exists'],
  ['another program is missing', 'zsh: command not found: pnpm', 'zsh: command not found: terraform'],
  [
    'the code is another',
    'a.ts(1,2): error TS2304: Cannot find it',
    'a.ts(1,2): error TS2322: Cannot find it',
  ],
  ['the status is another', 'Request failed with status code 404', 'Request failed with status code 429'],
  [
    'the errno is another',
    "EACCES: permission denied, open 'a'",
    "ENOENT: no such file or directory, open 'a'",
  ],
  ['only the cause is the same', 'connect ECONNREFUSED 127.0.0.1:3000', 'curl: (7) Connection refused'],
  ['the server is another', 'connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED ::1:6379'],
  [
    'only the frame is the same',
    "error: failed to push some refs to 'origin'\n ! [remote rejected] main (pre-receive hook declined)",
    "error: failed to push some refs to 'origin'\nerror: src refspec main does not match any",
  ],
  [
    'both only say that make failed',
    'make: *** [Makefile:5: lib] Error 1',
    'make: *** [Makefile:9: app] Error 2',
  ],
  ['only names are the same', 'order_items is locked by worker_7', 'order_items of worker_7 has no rows'],
];
for (const [why, left, right] of unlike) {
  test(`errorSimilarity() is 0 when ${why}`, () => expect(similarity(left, right)).toBe(0));
}

test('errorSimilarity() is 0 when an error has no words', () => {
  for (const text of ['', '<STR>', '%%%%%', '^^^^', '12 34']) {
    expect(similarity(text, text)).toBe(0);
    expect(similarity(text, READING)).toBe(0);
  }
});

const known =
  'error:§null§undefined§<STR>§module§the§42§TS2304§ENOENT§\n§command not found: jq§Connection refused';
const words = `${known}§already exists§not found§오류§없습니다`.split('§');
const word = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom(...words));
const error = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));

test('errorSimilarity() gives the same number between 0 and 1 when the errors are swapped', () => {
  fc.assert(
    fc.property(error, error, (left, right) => {
      const number = similarity(left, right);
      expect(number).toBeCloseTo(similarity(right, left), 10);
      expect(number).toBeGreaterThanOrEqual(0);
      expect(number).toBeLessThanOrEqual(1);
    }),
  );
});

test('errorSimilarity() is 1 when an error that has words is compared with itself', () => {
  fc.assert(
    fc.property(error, (text) => {
      if (errorTraits(text).weights.size > 0) expect(similarity(text, text)).toBeCloseTo(1, 10);
    }),
  );
});

test('errorTraits() gives words with weights, telling words and names when the error has them', () => {
  const traits = errorTraits("psql: error: the price_list of 'shop' was rejected by policy");
  const weights = { psql: 0.3, error: 0.3, price_list: 0.3, reject: 1, policy: 1 };
  expect(Object.fromEntries(traits.weights)).toEqual(weights);
  expect(traits.words).toEqual([['rejected', 'policy']]);
  expect(namesOf(traits)).toEqual(['price_list', 'shop']);
});

test('errorTraits() ends soon when the error is a mebibyte', () => {
  const compare = (unit: string) => similarity(unit.repeat(1 << 20), unit.repeat(1 << 20));
  const units = ['a', 'a ', '<', "'", '"', '/', 'a/', '\n', ' \n', 'E  ', '[1', '한', '1', 'Error: a\n'];
  expect(cpuTimeMs(() => units.forEach(compare))).toBeLessThan(10_000);
});

const phrases: [what: string, text: string, found: string[][]][] = [
  ['all codes of a mistake', 'a.ts(1,2): error TS2304: Cannot find it', [['TS2304'], ['TS2552']]],
  ['nothing of nothing', 'nothing that is known', []],
  [
    'a missing program with what shells of several languages say beside it',
    'zsh: command not found: jq',
    ['found', 'such', 'recognized', '찾을', '내부', 'gefunden', 'コマンドが見つかりません'].map((word) => [
      'jq',
      word,
    ]),
  ],
];
for (const [what, text, found] of phrases)
  test(`markPhrases() gives ${what}`, () => expect(markPhrases(errorTraits(text))).toEqual(found));

test('markPhrases() gives the other wordings of a cause, with gaps as parts', () => {
  const found = markPhrases(errorTraits('Error: listen EADDRINUSE: :::3000'));
  expect(found).toContainEqual(['address already in use']);
  expect(found).toContainEqual(['port ', ' already in use']);
});

const IN_USE = 'listen EADDRINUSE: address already in use';
const UNIQUE = 'duplicate key value violates unique constraint "users_email_key"\nDETAIL: Key (email)=';
const column = (name: string) => `ERROR: column "${name}" of relation "jobs" does not exist`;
type Named = [why: string, asked: string, known: string, ...differing: string[]];
const named: Named[] = [
  [
    'the module is another',
    "Cannot find module 'express'",
    "Cannot find module 'lodash'",
    'express',
    'lodash',
  ],
  ['the module is the same', "Cannot find module 'lodash'", "a.js: Cannot find package 'lodash'"],
  ['the port is another', `${IN_USE} :::3000`, `${IN_USE} 0.0.0.0:9229`, ':3000', ':9229'],
  [
    'this machine is written otherwise',
    'connect ECONNREFUSED ::1:6379',
    'connect ECONNREFUSED 127.0.0.1:6379',
  ],
  ['the column is another, of one relation', column('sent_at'), column('paid_at'), 'sent_at', 'paid_at'],
  [
    'the file is the same at another place',
    "open '/srv/a/server.key': Permission denied",
    "open '/home/dev/server.key': Permission denied",
  ],
  [
    'the first sentence names the same, and a detail behind it something else',
    `${UNIQUE}(b@example.com) exists.`,
    `${UNIQUE}(a@example.com) exists.`,
  ],
  [
    'one of its lines names the same',
    "Cannot find module 'express'\nCannot find module 'lodash'",
    "Cannot find module 'lodash'",
  ],
  ['one names nothing', "Cannot find module 'express'", 'Cannot find module'],
  [
    'the system says it of another file',
    "ENOSPC: no space left on device, write '/srv/a.log'",
    "ENOSPC: no space left on device, write '/srv/b.log'",
  ],
  [
    'the name is the same in another language and order',
    "make: *** 'build'에서 필요로 하는 'proto.go' 타겟을 만들 규칙이 없습니다.",
    "make: *** No rule to make target 'proto.go', needed by 'build'.",
  ],
];
for (const [why, first, second, ...differing] of named) {
  test(`differingNames() finds ${differing.join(' and ') || 'nothing'} when ${why}`, () => {
    const { asked, known } = differingNames(errorTraits(first), errorTraits(second)) ?? {};
    expect([asked ?? [], known ?? []].flat()).toEqual(differing);
  });
}
