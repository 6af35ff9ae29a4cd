import { describe, expect, test } from 'bun:test';
import { findingsIn, isOwnRule } from '../../src/lessons/findings.ts';

describe('findings of tools, as they print them', () => {
  const cases: [tool: string, output: string, ...found: [rule: string | null, message: string][]][] = [
    [
      'golangci-lint',
      'cmd/a.go:12:3: result 1 (error) is always nil (unparam)',
      ['unparam', 'result 1 (error) is always nil'],
    ],
    [
      'ESLint stylish',
      '/a.ts\n   3:1   error    Unexpected var  no-var\n  12:10  warning  No return type  @a/typed\n\n✖ 2 problems',
      ['no-var', 'Unexpected var'],
      ['@a/typed', 'No return type'],
    ],
    [
      'biome',
      'src/a.ts:7:3 lint/style/noNonNullAssertion ━━━━━━\n\n  × Forbidden non-null assertion.\n\n  > 7 │   a!.b',
      ['lint/style/noNonNullAssertion', 'Forbidden non-null assertion.'],
    ],
    ['ruff', 'src/a.py:1:8: F401 [*] `os` imported but unused', ['F401', '`os` imported but unused']],
    ['flake8', './a.py:10:80: E501 line too long (92 > 79)', ['E501', 'line too long (92 > 79)']],
    [
      'pylint',
      'a.py:1:0: C0114: Missing docstring (missing-docstring)',
      ['missing-docstring', 'C0114: Missing docstring'],
    ],
    [
      'mypy',
      'a.py:12: error: Incompatible type  [return-value]',
      [null, 'Incompatible type  [return-value]'],
    ],
    ['tsc', "src/a.ts(3,7): error TS2322: Type 'a' is not 'b'.", [null, "TS2322: Type 'a' is not 'b'."]],
    [
      'tsc --pretty',
      "src/a.ts:3:7 - error TS2322: Type 'a' is not 'b'.",
      [null, "TS2322: Type 'a' is not 'b'."],
    ],
    ['rustc', 'error[E0308]: mismatched types\n --> src/main.rs:4:18', [null, 'mismatched types']],
    ['clippy', 'warning: unneeded `return`\n  --> src/main.rs:2:5\n   |', [null, 'unneeded `return`']],
    [
      'markdownlint',
      'README.md:12 MD040/fenced-code-language A block should have a language [Context: "```"]',
      ['MD040/fenced-code-language', 'A block should have a language [Context: "```"]'],
    ],
    [
      'shellcheck',
      'In a.sh line 3:\nrm $x\n   ^-- SC2086 (info): Double quote it.',
      ['SC2086', 'Double quote it.'],
    ],
    [
      'rubocop',
      'app/a.rb:3:5: C: [Correctable] Style/Quotes: Prefer single ones.',
      ['Style/Quotes', 'Prefer single ones.'],
    ],
    [
      'stylelint',
      'a.css\n  2:10  ✖  Expected "#FFF" to be "#fff"  hex-case',
      ['hex-case', 'Expected "#FFF" to be "#fff"'],
    ],
    ['pytest', 'FAILED tests/a.py::test_tax - assert 1 == 2', [null, 'tests/a.py::test_tax - assert 1 == 2']],
    [
      'jest',
      'FAIL src/a.test.ts\n  ● total › rounds\n\n    expect(received).toBe(expected)',
      [null, 'total › rounds'],
    ],
    ['vitest', ' FAIL  src/a.test.ts > cart > adds', [null, 'src/a.test.ts > cart > adds']],
    ['go test', '--- FAIL: TestTax (0.00s)', [null, 'TestTax']],
    ['cargo test', 'test parser::nested ... FAILED', [null, 'parser::nested']],
    ['bun test', '(fail) cart > adds [0.10ms]', [null, 'cart > adds [0.10ms]']],
    ['a wrong call is none', "error: unexpected argument '--x' found"],
    ['a log is none', 'server listening on 0.0.0.0:3000'],
  ];
  for (const [tool, output, ...found] of cases)
    test(tool, () => expect(findingsIn(output).map(({ rule, message }) => [rule, message])).toEqual(found));
});

test("rules that every project has are nobody's convention", () => {
  const common = 'unused errcheck E501 F401 no-unused-vars prettier/prettier Layout/LineLength'.split(' ');
  expect([...common, null].filter(isOwnRule)).toEqual([]);
  const own = 'no-nested-ternary ireturn MD040 B006 lint/style/noNonNullAssertion'.split(' ');
  expect(own.filter(isOwnRule)).toEqual(own);
});

test('each finding once, and no more than forty', () => {
  const line = (index: number) => `a.go:${index}:1: message ${index % 60} (rule)`;
  const output = Array.from({ length: 300 }, (_none, index) => line(index)).join('\n');
  expect(findingsIn(output)).toHaveLength(40);
});
