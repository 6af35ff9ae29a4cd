import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeResolution, type Helper } from '../../src/core/describe-resolution.ts';
import { messagesIn } from '../../src/core/messages.ts';

const ENGLISH = messagesIn('en');

function edit(file: string | null): Helper {
  return { tool: 'Edit', file, command: null };
}
function bash(command: string): Helper {
  return { tool: 'Bash', file: null, command };
}
function read(file: string): Helper {
  return { tool: 'Read', file, command: null };
}
const search: Helper = { tool: 'Grep', file: null, command: null };
const READ = 'read a.ts, then Edit succeeded';
const RETRIED = 'tried again without a change: `npm test` passed';

type Found = Parameters<typeof describeResolution>[0];
const rows: [what: string, found: Partial<Found>, expected: string][] = [
  ['nothing stood between', {}, '`npm test` passed'],
  ['it was tried again', { retried: true }, 'tried again without a change: `npm test` passed'],
  ['a file tool just worked', { tool: 'Edit', command: null }, ''],
  ['a file tool just worked again', { tool: 'Edit', command: null, retried: true }, ''],
  ['a file tool worked after a look', { tool: 'Edit', command: null, helpers: [read('a.ts')] }, READ],
  ['the look was twice', { tool: 'Edit', command: null, helpers: [read('a.ts'), read('a.ts')] }, READ],
  ['the look was with a command', { tool: 'Edit', command: null, helpers: [bash('cat')] }, ''],
  ['nothing but a tool without a file helped', { tool: 'Edit', command: null, helpers: [search] }, ''],
  [
    'a file tool worked after an edit and a look',
    { tool: 'Write', command: null, helpers: [read('a.ts'), edit('b.ts')] },
    'edited b.ts, then Write succeeded',
  ],
  ['git was only asked', { helpers: [bash('git status')], retried: true }, RETRIED],
  ['files were only shown', { helpers: [bash('cat'), bash('git diff && cat')], retried: true }, RETRIED],
  ['packages were only listed', { helpers: [bash('npm ls')] }, '`npm test` passed'],
  [
    'a command looked and changed',
    { helpers: [bash('git status && npm install')] },
    'ran `git status && npm install`, then `npm test` passed',
  ],
  [
    'one command looked and another changed',
    { helpers: [bash('git status'), bash('npm install')] },
    'ran `npm install`, then `npm test` passed',
  ],
  ['a file was edited', { helpers: [edit('src/a.ts')] }, 'edited src/a.ts, then `npm test` passed'],
  [
    'a file was edited twice',
    { helpers: [edit('a.ts'), edit('a.ts')] },
    'edited a.ts, then `npm test` passed',
  ],
  ['a retry had an edit', { helpers: [edit('a.ts')], retried: true }, 'edited a.ts, then `npm test` passed'],
  [
    'many files were edited',
    { helpers: ['a', 'b', 'c', 'd'].map(edit) },
    'edited c, d (+2), then `npm test` passed',
  ],
  ['a command was run', { helpers: [bash('npm install')] }, 'ran `npm install`, then `npm test` passed'],
  ['only the same command was run', { helpers: [bash('npm test')] }, '`npm test` passed'],
  [
    'a file was edited and a command was run',
    { helpers: [bash('npm install'), edit('a.ts')] },
    'edited a.ts, ran `npm install`, then `npm test` passed',
  ],
  ['a file was only read', { helpers: [read('a.ts')] }, '`npm test` passed'],
  ['an edit has no file', { helpers: [edit(null), edit('')] }, '`npm test` passed'],
  ['a name has quotes and line ends', { helpers: [edit('a"b\\\nc')] }, 'edited ab c, then `npm test` passed'],
];
for (const [what, found, expected] of rows) {
  test(`describeResolution() gives ${expected || 'nothing'} when ${what}`, () => {
    const whole: Found = { helpers: [], tool: 'Bash', command: 'npm test', retried: false, ...found };
    expect(describeResolution(whole, ENGLISH)).toBe(expected);
  });
}

test('describeResolution() speaks Korean when it is given those messages', () => {
  const found: Found = { helpers: [edit('a.ts')], tool: 'Bash', command: 'npm test', retried: false };
  expect(describeResolution(found, messagesIn('ko'))).toBe('a.ts 수정 후 `npm test` 통과');
  const looked: Found = { helpers: [read('a.ts')], tool: 'Edit', command: null, retried: false };
  expect(describeResolution(looked, messagesIn('ko'))).toBe('a.ts 확인 후 Edit 성공');
});

test('describeResolution() gives one bounded line that JSON does not escape when names are arbitrary', () => {
  const helper = fc.record({
    tool: fc.constantFrom('Edit', 'Bash', 'Read'),
    file: fc.option(fc.string({ unit: 'binary', maxLength: 200 })),
    command: fc.option(fc.string({ unit: 'binary', maxLength: 200 })),
  });
  fc.assert(
    fc.property(fc.array(helper), fc.boolean(), (helpers, retried) => {
      const text = describeResolution({ helpers, tool: 'Bash', command: 'npm test', retried }, ENGLISH);
      expect(text.length).toBeLessThanOrEqual(140);
      expect(JSON.stringify(text)).toBe(`"${text}"`);
    }),
    { numRuns: 500 },
  );
});
