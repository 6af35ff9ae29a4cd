import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  plainLine,
  quotedCommands,
  ranCommand,
  simpleCommands,
  tellingWord,
} from '../../../src/learn/analysis/shell-words.ts';

describe('simpleCommands()', () => {
  const rows: [string, string[][]][] = [
    ['npm test', [['npm', 'test']]],
    [
      'cd app && CI=1 npm test 2>&1 | tail -5',
      [
        ['cd', 'app'],
        ['npm', 'test'],
        ['tail', '-5'],
      ],
    ],
    ['echo "npm run evil && rm x"', [['echo', 'npm run evil && rm x']]],
    ['a > out.txt; b < in.txt', [['a'], ['b']]],
    ['x=$(git log) && echo `date`', [['git', 'log'], ['echo'], ['date']]],
    ["cat <<'EOF'\nnpm test\nEOF", [['cat']]],
    ['', []],
  ];
  for (const [line, expected] of rows) {
    test(`reads ${JSON.stringify(line)}`, () => expect(simpleCommands(line)).toEqual(expected));
  }

  test('ends with any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void ranCommand(text, text)));
  });
});

test('plainLine() leaves out what only moves and reports', () => {
  expect(plainLine('cd app && bun run lint 2>&1 | tail -5')).toBe('bun run lint');
  expect(plainLine('echo done')).toBe('');
});

test('quotedCommands() gives what stands in backticks', () => {
  expect(quotedCommands('not that: run `a b`, then `c`')).toEqual(['a b', 'c']);
});

describe('ranCommand()', () => {
  const ran: [string, string][] = [
    ['cd app && bun run test 2>&1 | tail -5', 'bun run test'],
    ['CI=1 bun run test --bail', 'bun run test'],
    [
      'go test -tags=integration ./cmd/x/integration_test/',
      'go test -tags=integration ./…/integration_test/',
    ],
    ['gh pr diff 104 --name-only', 'gh pr diff <number> --name-only'],
    ['gh api repos/a/b --jq .x --paginate', 'gh api … --paginate'],
    ['cd web && bun run lint', 'cd web && bun run lint'],
  ];
  for (const [line, command] of ran) {
    test(`finds ${command} in ${line}`, () => expect(ranCommand(line, command)).toBe(true));
  }
  const others: [string, string][] = [
    ['bun run test:unit', 'bun run test'],
    ['rtk bun run test', 'bun run test'],
    ['echo "bun run test"', 'bun run test'],
    ['grep -r "make deploy" .', 'make deploy'],
    ['echo make deploy', 'make deploy'],
    ["cat <<'EOF'\nmake deploy\nEOF", 'make deploy'],
    ['gh pr diff --name-only', 'gh pr diff <number> --name-only'],
    ['anything at all', '…'],
    ['anything at all', '… all'],
    ['cd web; ls; bun run lint', 'cd web && bun run lint'],
    ['bun run test', ''],
  ];
  for (const [line, command] of others) {
    test(`does not find ${command} in ${line}`, () => expect(ranCommand(line, command)).toBe(false));
  }

  test('takes no long time for many placeholders', () => {
    const start = performance.now();
    ranCommand(`a ${'b '.repeat(1000)}`, `a ${'… b '.repeat(30)} c`);
    expect(performance.now() - start).toBeLessThan(500);
  });

  test('tellingWord() is one that any such line holds', () => {
    expect(tellingWord('gh pr diff <number> --name-only')).toBe('--name-only');
    expect(tellingWord('… <x>')).toBeUndefined();
  });
});
