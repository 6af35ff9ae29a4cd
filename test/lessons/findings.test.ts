import { describe, expect, test } from 'bun:test';
import { findingsIn, isOwnRule } from '../../src/lessons/findings.ts';

describe('findings of tools, as they print them', () => {
  const cases: [tool: string, output: string, found: [rule: string | null, message: string][]][] = [
    [
      'golangci-lint',
      'cmd/a.go:12:3: result 1 (error) is always nil (unparam)',
      [['unparam', 'result 1 (error) is always nil']],
    ],
    [
      'ESLint stylish',
      '/repo/src/a.ts\n   3:1   error    Unexpected var, use let or const instead  no-var\n  12:10  warning  Missing return type on function  @typescript-eslint/explicit-function-return-type\n\n✖ 2 problems (1 error, 1 warning)',
      [
        ['no-var', 'Unexpected var, use let or const instead'],
        ['@typescript-eslint/explicit-function-return-type', 'Missing return type on function'],
      ],
    ],
    [
      'biome',
      'src/a.ts:7:3 lint/style/noNonNullAssertion ━━━━━━━━━━━━━━\n\n  × Forbidden non-null assertion.\n\n  > 7 │   a!.b',
      [['lint/style/noNonNullAssertion', 'Forbidden non-null assertion.']],
    ],
    ['ruff', 'src/a.py:1:8: F401 [*] `os` imported but unused', [['F401', '`os` imported but unused']]],
    [
      'flake8',
      './a.py:10:80: E501 line too long (92 > 79 characters)',
      [['E501', 'line too long (92 > 79 characters)']],
    ],
    [
      'pylint',
      'a.py:1:0: C0114: Missing module docstring (missing-module-docstring)',
      [['missing-module-docstring', 'C0114: Missing module docstring']],
    ],
    [
      'mypy',
      'a.py:12: error: Incompatible return value type (got "str", expected "int")  [return-value]',
      [[null, 'Incompatible return value type (got "str", expected "int")  [return-value]']],
    ],
    [
      'tsc',
      "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
      [[null, "TS2322: Type 'string' is not assignable to type 'number'."]],
    ],
    [
      'tsc --pretty',
      "src/a.ts:3:7 - error TS2322: Type 'string' is not assignable.",
      [[null, "TS2322: Type 'string' is not assignable."]],
    ],
    ['rustc', 'error[E0308]: mismatched types\n --> src/main.rs:4:18', [[null, 'mismatched types']]],
    [
      'clippy',
      'warning: unneeded `return` statement\n  --> src/main.rs:2:5\n   |',
      [[null, 'unneeded `return` statement']],
    ],
    [
      'markdownlint',
      'README.md:12 MD040/fenced-code-language Fenced code blocks should have a language specified [Context: "```"]',
      [
        [
          'MD040/fenced-code-language',
          'Fenced code blocks should have a language specified [Context: "```"]',
        ],
      ],
    ],
    [
      'shellcheck',
      'In a.sh line 3:\nrm $x\n   ^-- SC2086 (info): Double quote to prevent globbing and word splitting.',
      [['SC2086', 'Double quote to prevent globbing and word splitting.']],
    ],
    [
      'rubocop',
      'app/a.rb:3:5: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings.',
      [['Style/StringLiterals', 'Prefer single-quoted strings.']],
    ],
    [
      'stylelint',
      'src/a.css\n  2:10  ✖  Expected "#FFF" to be "#fff"  color-hex-case',
      [['color-hex-case', 'Expected "#FFF" to be "#fff"']],
    ],
    [
      'pytest',
      'FAILED tests/test_a.py::test_tax - assert 1 == 2',
      [[null, 'tests/test_a.py::test_tax - assert 1 == 2']],
    ],
    [
      'jest',
      'FAIL src/a.test.ts\n  ● total › rounds\n\n    expect(received).toBe(expected)',
      [[null, 'total › rounds']],
    ],
    ['vitest', ' FAIL  src/a.test.ts > cart > adds', [[null, 'src/a.test.ts > cart > adds']]],
    ['go test', '--- FAIL: TestTax (0.00s)', [[null, 'TestTax']]],
    ['cargo test', 'test parser::nested ... FAILED', [[null, 'parser::nested']]],
    ['bun test', '(fail) cart > adds [0.10ms]', [[null, 'cart > adds [0.10ms]']]],
    ['a wrong call is none', "error: unexpected argument '--x' found", []],
    ['a log is none', 'server listening on 0.0.0.0:3000', []],
  ];
  for (const [tool, output, found] of cases) {
    test(tool, () => expect(findingsIn(output).map(({ rule, message }) => [rule, message])).toEqual(found));
  }
});

test("rules that every project has are nobody's convention", () => {
  for (const rule of [
    'unused',
    'errcheck',
    'E501',
    'F401',
    'no-unused-vars',
    'prettier/prettier',
    'Layout/LineLength',
    null,
  ])
    expect(isOwnRule(rule)).toBe(false);
  for (const rule of ['no-nested-ternary', 'ireturn', 'MD040', 'B006', 'lint/style/noNonNullAssertion'])
    expect(isOwnRule(rule)).toBe(true);
});

test('each finding once, and no more than forty', () => {
  const line = (index: number) => `a.go:${index}:1: message ${index % 60} (rule)`;
  const output = Array.from({ length: 300 }, (_none, index) => line(index)).join('\n');
  expect(findingsIn(output)).toHaveLength(40);
});
