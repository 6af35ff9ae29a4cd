/** What linters, formatters, compilers and tests find in the code under work, one line each. */

export type Finding = {
  /** The rule's id as its tool prints it; null for compilers and tests, whose findings are nobody's convention. */
  readonly rule: string | null;
  readonly message: string;
};

const LINES_MAX = 400;
const FINDINGS_MAX = 40;
const MESSAGE_LENGTH_MAX = 200;

type Pattern = { readonly expression: RegExp; readonly rule: number; readonly message: number };

/** Place, rule and message in the order in which the tools print them. */
const PATTERNS: readonly Pattern[] = [
  // golangci-lint, swiftlint, ktlint: path:12:3: message (rule)
  {
    expression: /^\S+?:\d+:\d+:? (?:(?:warning|error): )?(.+?) \(([a-z][\w/-]{2,40})\)$/i,
    message: 1,
    rule: 2,
  },
  // ruff, flake8: path:12:3: E501 [*] message
  { expression: /^\S+?:\d+:\d+:? ([A-Z]{1,4}\d{2,5}) (?:\[\*\] )?(.+)$/, rule: 1, message: 2 },
  // pylint: path:12:3: C0114: message (name)
  { expression: /^\S+?:\d+:\d+: ([CRWEF]\d{4}): (.+)$/, rule: 1, message: 2 },
  // rubocop: path:12:3: C: [Correctable] Layout/LineLength: message
  { expression: /^\S+?:\d+:\d+: [CWEF]: (?:\[Correctable\] )?([A-Z]\w+\/\w+): (.+)$/, rule: 1, message: 2 },
  // markdownlint: path:12:3 MD040/fenced-code-language message
  { expression: /^\S+?:\d+(?::\d+)?:? (?:error )?(MD\d{3}(?:\/[\w-]+)*) (.+)$/, rule: 1, message: 2 },
  // shellcheck: ^-- SC2086 (info): message
  { expression: /^\^-+\^? (SC\d{4})(?: \(\w+\))?: (.+)$/, rule: 1, message: 2 },
  // ESLint, stylelint: 12:3  error  message  rule-name
  {
    expression: /^\d+:\d+ {2,}(?:error|warning|✖|×|⚠)\s+(.+?) {2,}((?:@[\w-]+\/)?[a-z][\w/-]+)$/,
    message: 1,
    rule: 2,
  },
];

/** Findings of compilers and tests: they say what is wrong with the change at hand. */
const NO_RULE: readonly RegExp[] = [
  /^\S+?[(:]\d+[,:]\d+\)?:? (?:- )?error (TS\d+: .+)$/,
  /^error\[E\d+\]: (.+)$/,
  /^--- FAIL: (\S+)/,
  /^\(fail\) (.+)$/,
  /^test (\S+) \.\.\. FAILED$/,
  /^● (.+ › .+)$/,
  // A file of tests alone says less than the test below it.
  /^(?:✗|✘|×|✕|FAIL|FAILED) +(?!\S+\.[cm]?[jt]sx?(?: \([\d.]+ m?s\))?$)(.+)$/,
  /^\S+?:\d+(?::\d+)?:? (?:error|fatal error): (.+)$/,
  /^(?:E {2,})?((?:Assertion|Type|Reference|Syntax|Value|Key|Attribute|Name|Import)Error\b.*)$/,
  /^\S+\.\w{1,5}:\d+:\d+: (.+)$/,
];

/** `path:61:2 lint/correctness/useExhaustiveDependencies  FIXABLE ━━━`; the message stands below, behind a mark. */
const BIOME = /^(?:at )?\S+?(?::\d+:\d+)? ((?:lint|assist|format)(?:\/\w+)*)\b[ A-Z]* ━/;
const BIOME_MESSAGE = /^[×!✖i] (.+)$/;

/** The findings in an output, in its order, each rule and message once. */
export function findingsIn(output: string): Finding[] {
  const found = new Map<string, Finding>();
  let biomeRule: string | null = null;
  const lines = output.split('\n', LINES_MAX);
  for (const [index, line] of lines.entries()) {
    const text = line.trim().replace(/^\[[\w:-]{1,24}\] /, '');
    if (text.length < 4 || found.size >= FINDINGS_MAX) continue;
    const heading = BIOME.exec(text)?.[1];
    if (heading !== undefined) {
      biomeRule = heading;
      continue;
    }
    const message = biomeRule === null ? undefined : BIOME_MESSAGE.exec(text)?.[1];
    const finding =
      message === undefined
        ? (findingOf(text) ?? compilerFinding(text, lines[index + 1] ?? ''))
        : { rule: biomeRule, message: message.slice(0, MESSAGE_LENGTH_MAX) };
    if (message !== undefined) biomeRule = null;
    if (finding !== undefined) found.set(`${finding.rule} ${finding.message}`, finding);
  }
  return [...found.values()];
}

/** rustc and clippy print the place below. */
function compilerFinding(text: string, next: string): Finding | undefined {
  const message = /^(?:error|warning): (.+)$/.exec(text)?.[1];
  return message === undefined || !/^\s*--> /.test(next)
    ? undefined
    : { rule: null, message: message.slice(0, MESSAGE_LENGTH_MAX) };
}

/** Of linters with many rules the message names the one that was broken: `G306: Expect … (gosec)`. */
const OF_MANY_RULES = /^(?:gosec|staticcheck|stylecheck|gosimple)$/;
function finding(rule: string | null, message: string): Finding {
  const inner =
    rule === null || !OF_MANY_RULES.test(rule) ? undefined : /^([A-Z]{1,4}\d{3,5}): /.exec(message)?.[1];
  return { rule: inner ?? rule, message: message.slice(0, MESSAGE_LENGTH_MAX) };
}

function findingOf(text: string): Finding | undefined {
  for (const { expression, rule, message } of PATTERNS) {
    const match = expression.exec(text);
    if (match) return finding(match[rule] ?? null, match[message] ?? '');
  }
  for (const expression of NO_RULE) {
    const message = expression.exec(text)?.[1];
    if (message !== undefined) return finding(null, message);
  }
  return undefined;
}

/** Rules that every project has: compilers', and those that are on by default and say no more than "unused". */
const COMMON =
  /^(?:typecheck|unused|deadcode|ineffassign|staticcheck|govet|gosimple|errcheck|gofmt|goimports|format|assist\/.*|lint\/correctness\/.*|no-unused-vars|@typescript-eslint\/no-unused-vars|no-undef|prettier\/prettier|lint\/correctness\/noUnused\w+|E501|E999|F401|F811|F821|F841|W\d+|E[1-7]\d\d|Layout\/.*)$/;

/** Rules that look for secrets: their messages quote what they found. */
const OF_SECRETS = /secret|gitleaks|trufflehog|entropy|ggshield|credential|^(?:G101|S10[5-7]|B10[5-7])$/i;

/** Whether a finding is about a secret in the code. */
export function isOfSecrets({ rule, message }: Finding): boolean {
  return (
    OF_SECRETS.test(rule ?? '') ||
    /\bentropy\b|hard-?coded (?:password|secret|credential|token)/i.test(message)
  );
}

/** Whether the rule is one that a project has chosen, so that knowing it before helps. */
export function isOwnRule(rule: string | null): rule is string {
  return rule !== null && !COMMON.test(rule) && !OF_SECRETS.test(rule);
}
