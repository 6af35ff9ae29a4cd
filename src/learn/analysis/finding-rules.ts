/** The rules of linters, formatters and compilers that an output names: the same rule is the same finding. */

const OUTPUT_LENGTH_MAX = 8000;
const RULES_MAX = 4;

/** Each gives the rule in its first group, or in its second. */
const SHAPES: readonly RegExp[] = [
  // golangci-lint, clang-tidy: `main.go:12:3: message (rule)`, `[rule-name]`
  /^\s*\S+:\d+:\d+:? .*(?:\((?=[a-z])([a-z][\w-]{2,40})\)|\[([a-z][\w.-]*-[\w.,-]{2,60})\])\s*$/gm,
  // Biome: `src/a.ts:61:2 lint/correctness/useExhaustiveDependencies`, `src/a.ts format`
  /\s((?:lint|assist|suppressions)\/[a-z]\w*\/\w+|format)(?=\s+(?:FIXABLE\s*)?━)/g,
  // ESLint: `  12:5  error  message  rule-name`
  /^\s+\d+:\d+\s+(?:error|warning)\s+.*\s{2,}(@?[a-z][\w@/-]*)\s*$/gm,
  // Ruff, flake8, markdownlint, ShellCheck: `a.py:1:1: F401 message`, `README.md:3 MD040/fenced-code-language`
  /^\s*\S+:\d+(?::\d+)?:? (?:error )?([A-Z]{1,5}\d{2,5})\b/gm,
  /\b(SC\d{4}|MD\d{3})\b/g,
  // TypeScript, Rust, C#
  /\berror (TS\d{4,5}|CS\d{4})\b/g,
  /\berror\[(E\d{4})\]/g,
];

/** The rules that an output names, in the order of the shapes. */
export function findingRules(output: string): string[] {
  const text = output.slice(0, OUTPUT_LENGTH_MAX);
  const rules = SHAPES.flatMap((shape) =>
    [...text.matchAll(shape)].map(([, one, other]) => one ?? other ?? ''),
  );
  return [...new Set(rules.filter((rule) => rule !== ''))].slice(0, RULES_MAX);
}
