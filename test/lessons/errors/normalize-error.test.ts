import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isInformative, normalizeError } from '../../../src/lessons/errors/normalize-error.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';

const rows: [error: unknown, expected: string][] = [
  ["Cannot find module '/Users/dev/project/src/index.ts'", 'Cannot find module <STR>'],
  ['Error at line 42 in /src/app.js: unexpected token', 'Error at line <N> in <PATH> unexpected token'],
  ['cat: /tmp/missing.txt: No such file or directory', 'cat: <PATH> No such file or directory'],
  ['./src/a.ts(12,5): error TS2304', '.<PATH> error TS<N>'],
  ['src/index.ts:10:5 error', 'src<PATH> error'],
  ['fetch https://api.example.com/v1/users failed 404', 'fetch https:<PATH> failed <N>'],
  ["can't resolve x, don't retry", 'can<STR>t retry'],
  ['a and/or b', 'a and<PATH> b'],
  ["'' empty", "'' empty"],
  ['port 3000 step 3 v1.2.3', 'port <N> step 3 v1.2.3'],
  ['Exit code 1', 'Exit code 1'],
  ['Error "/path/to/file" at line 123', 'Error <STR> at line <N>'],
  // Windows
  ['C:\\Users\\me\\x.ts(12)', '<PATH>'],
  ['c:\\a b', '<PATH> b'],
  ['.\\src\\a.ts failed', '<PATH> failed'],
  // The line with the exit code
  ['Exit code 1\nboom', 'boom'],
  ['Exit code 127\r\nbash: foo: command not found', 'bash: foo: command not found'],
  ['Exit code 2\n\n\nboom', 'boom'],
  ['Exit code 1\n', 'Exit code 1'],
  ['Exit code 1\n\n', 'Exit code 1'],
  ['Exit code 10', 'Exit code <N>'],
  ['Exit code 1\nExit code 2\nboom', 'Exit code 2\nboom'],
  ['boom\nExit code 1', 'boom\nExit code 1'],
  // The lines in which package managers repeat the script
  ['Exit code 1\n\n> shop@1.0.0 test\n> node test.js\n\nError: boom', 'Error: boom'],
  ['> shop@1.0.0 test\r\n> node test.js\r\n\r\nError: boom', 'Error: boom'],
  [
    '\n> shop@1.0.0 test\n> node test.js\n\nError: boom\n> not a script line',
    'Error: boom\n> not a script line',
  ],
  ['> shop@1.0.0 test\nboom', 'boom'],
  ['> shop@1.0.0 test\n  \n\t\nboom', 'boom'],
  ['> shop@1.0.0 pretest\n> tsc\n\n> shop@1.0.0 test\n> node test.js\n\nError: boom', 'Error: boom'],
  ['Exit code 1\n\n> shop@1.0.0 test\n> node test.js\n', '> node test.js'],
  ['> ', '>'],
  ['>', '>'],
  ['> \n', '>'],
  ['>boom\nbang', '>boom\nbang'],
  ['boom\n> shop@1.0.0 test\nbang', 'boom\n> shop@1.0.0 test\nbang'],
  ['Exit code 1\n>>> print(x)\nNameError', '>>> print(x)\nNameError'],
  // Limits
  [`"${'x'.repeat(100)}"`, '<STR>'],
  [`"${'x'.repeat(101)}"`, `"${'x'.repeat(101)}"`],
  ['x'.repeat(300), 'x'.repeat(200)],
  [`${'x'.repeat(199)}😀`, 'x'.repeat(199)],
  [`${'x'.repeat(198)}😀y`, `${'x'.repeat(198)}😀`],
  ['  spaced  ', 'spaced'],
  // Whatever is thrown
  ['', ''],
  [null, ''],
  [undefined, ''],
  [new TypeError('boom'), 'TypeError: boom'],
  [42, '<N>'],
  [{}, '[object Object]'],
];
for (const [error, expected] of rows) {
  test(`normalizeError() gives ${JSON.stringify(expected.slice(0, 60))} when it reads ${JSON.stringify(String(error).slice(0, 60))}`, () => {
    expect(normalizeError(error)).toBe(expected);
  });
}

test('normalizeError() gives at most 200 units of well-formed text when the error is any well-formed text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (error) => {
      const normalized = normalizeError(error);
      expect(normalized.length).toBeLessThanOrEqual(200);
      expect(normalized.isWellFormed()).toBe(true);
      expect(normalizeError(error)).toBe(normalized);
    }),
  );
});

for (const unit of '"§\'§/§1§\\§C:\\§Exit code 1\n§\n§> §> \n§ §\t\n§😀'.split('§')) {
  test(`normalizeError() ends soon when it is given a mebibyte of ${JSON.stringify(unit)}`, () => {
    const took = cpuTimeMs(() => {
      normalizeError(unit.repeat(Math.ceil((1024 * 1024) / unit.length)));
    });
    expect(took).toBeLessThan(500);
  });
}

const informative: [error: string, expected: boolean][] = [
  ['Exit code 1', false],
  ['Exit code <N>', false],
  ['exit code 1 ', false],
  ['', false],
  ['<STR>', false],
  ['<PATH> <N> <STR>', false],
  ['[REDACTED]', false],
  ['abc', false],
  ['a 1 b 2 c', false],
  ['boom', true],
  ['Cannot find module <STR>', true],
  ['Exit code 1 from tsc', true],
  ['권한이 없습니다', true],
  ['ошибка', true],
  ['::: ---', false],
];
for (const [error, expected] of informative) {
  test(`isInformative() is ${expected} when the error is ${JSON.stringify(error)}`, () => {
    expect(isInformative(error)).toBe(expected);
  });
}
