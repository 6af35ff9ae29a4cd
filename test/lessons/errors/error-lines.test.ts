import { expect, test } from 'bun:test';
import { tellingLines } from '../../../src/lessons/errors/error-lines.ts';

const rows: [what: string, output: string, lines: string[]][] = [
  ['a line alone', 'Error: boom', ['Error: boom']],
  [
    'the exception of a Python stack',
    'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    g(x)\n    ^^^^\n  File "/b.py", line 2, in g\n    raise E\nValueError: bad price\n',
    ['ValueError: bad price'],
  ],
  [
    'the error of a Node stack',
    '/home/dev/a.js:3\n  throw new Error("boom");\n  ^\n\nError: boom\n    at f (/home/dev/a.js:3:9)\n    at node:internal/main:1\n\nNode.js v22.1.0',
    ['/home/dev/a.js:3', 'Error: boom'],
  ],
  [
    'what a script printed',
    'Exit code 1\n\n> shop@1.0.0 build\n> tsc -p .\n\nsrc/a.ts(1,2): error TS1: no\nnpm error Lifecycle script `build` failed',
    ['src/a.ts(1,2): error TS1: no'],
  ],
  [
    'the message behind npm, log and pytest prefixes',
    'npm ERR! errno 1\nnpm ERR! Missing script\n[2025-01-01T10:00:00Z] price list locked\nE       fixture missing',
    ['Missing script', 'price list locked', 'fixture missing'],
  ],
  [
    'the compiler message, not its drawing',
    'error[E0308]: mismatched types\n --> src/main.rs:7:16\n  |\n7 | let x: i32 = "a";\n  |              ^^^ expected\n\nerror: aborting due to 1 previous error',
    ['error[E0308]: mismatched types'],
  ],
  ["the client's wrapped answer", '<tool_use_error>File not read</tool_use_error>', ['File not read']],
  [
    'the lines as they are when none tells',
    'make: *** [Makefile:1: all] Error 2',
    ['make: *** [Makefile:1: all] Error 2'],
  ],
  ['nothing of nothing', '', ['']],
];
for (const [what, output, lines] of rows) {
  test(`tellingLines() gives ${what}`, () => expect(tellingLines(output)).toEqual(lines));
}

test('tellingLines() gives the first and last lines that sound like an error when there are many', () => {
  const log = Array.from({ length: 5000 }, (_, index) => `step number ${index} done`);
  log[10] = 'cannot open the price list';
  log[4990] = 'the build failed badly';
  expect(tellingLines(log.join('\n'))).toEqual(['cannot open the price list', 'the build failed badly']);
  const failures = Array.from({ length: 30 }, (_, index) => `failure of part ${index}`);
  const parts = tellingLines(failures.join('\n')).map((line) => Number(line.split(' ')[3]));
  expect(parts).toEqual([0, 1, 2, 3, 26, 27, 28, 29]);
});

test('tellingLines() cuts a line that is too long', () => {
  expect(tellingLines(`error ${'x'.repeat(9999)}`)[0]).toHaveLength(400);
});
