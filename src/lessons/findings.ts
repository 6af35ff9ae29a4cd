/** What linters, formatters, compilers and tests find in the code under work, one line each. */

export type Finding = {
  /** The rule's id as its tool prints it; null for compilers and tests, whose findings are nobody's convention. */
  readonly rule: string | null;
  readonly message: string;
};

const LINES_MAX = 400;
const FINDINGS_MAX = 40;
const MESSAGE_LENGTH_MAX = 200;

/** What tools print: the message, and the rule where there is one. The first that fits counts. */
const PATTERNS: readonly RegExp[] = [
  // golangci-lint, swiftlint, ktlint: path:12:3: message (rule)
  /^\S+?:\d+:\d+:? (?:(?:warning|error): )?(?<message>.+?) \((?<rule>[a-z][\w/-]{2,40})\)$/i,
  // ruff, flake8: path:12:3: E501 [*] message
  /^\S+?:\d+:\d+:? (?<rule>[A-Z]{1,4}\d{2,5}) (?:\[\*\] )?(?<message>.+)$/,
  // pylint: path:12:3: C0114: message (name)
  /^\S+?:\d+:\d+: (?<rule>[CRWEF]\d{4}): (?<message>.+)$/,
  // rubocop: path:12:3: C: [Correctable] Layout/LineLength: message
  /^\S+?:\d+:\d+: [CWEF]: (?:\[Correctable\] )?(?<rule>[A-Z]\w+\/\w+): (?<message>.+)$/,
  // markdownlint: path:12:3 MD040/fenced-code-language message
  /^\S+?:\d+(?::\d+)?:? (?:error )?(?<rule>MD\d{3}(?:\/[\w-]+)*) (?<message>.+)$/,
  // shellcheck: ^-- SC2086 (info): message
  /^\^-+\^? (?<rule>SC\d{4})(?: \(\w+\))?: (?<message>.+)$/,
  // ESLint, stylelint: 12:3  error  message  rule-name
  /^\d+:\d+ {2,}(?:error|warning|✖|×|⚠)\s+(?<message>.+?) {2,}(?<rule>(?:@[\w-]+\/)?[a-z][\w/-]+)$/,
  // Compilers and tests say what is wrong with the change at hand: tsc, rustc, go test, bun, cargo test
  /^\S+?[(:]\d+[,:]\d+\)?:? (?:- )?error (?<message>TS\d+: .+)$/,
  /^error\[E\d+\]: (?<message>.+)$/,
  /^--- FAIL: (?<message>\S+)/,
  /^\(fail\) (?<message>.+)$/,
  /^test (?<message>\S+) \.\.\. FAILED$/,
  // jest, vitest; a file of tests alone says less than the test below it.
  /^● (?<message>.+ › .+)$/,
  /^(?:✗|✘|×|✕|FAIL|FAILED) +(?!\S+\.[cm]?[jt]sx?(?: \([\d.]+ m?s\))?$)(?<message>.+)$/,
  // gcc and clang, Python and JavaScript, go vet
  /^\S+?:\d+(?::\d+)?:? (?:error|fatal error): (?<message>.+)$/,
  /^(?:E {2,})?(?<message>(?:Assertion|Type|Reference|Syntax|Value|Key|Attribute|Name|Import)Error\b.*)$/,
  /^\S+\.\w{1,5}:\d+:\d+: (?<message>.+)$/,
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
    const heading: string | undefined = BIOME.exec(text)?.[1];
    const message = biomeRule === null ? undefined : BIOME_MESSAGE.exec(text)?.[1];
    const ofBiome = message === undefined ? undefined : { rule: biomeRule, message };
    if (heading !== undefined || message !== undefined) biomeRule = heading ?? null;
    const finding = ofBiome ?? findingOf(text, lines[index + 1] ?? '');
    if (heading !== undefined || finding === undefined) continue;
    const kept = { ...finding, message: finding.message.slice(0, MESSAGE_LENGTH_MAX) };
    found.set(`${kept.rule} ${kept.message}`, kept);
  }
  return [...found.values()];
}

/** Of linters with many rules the message names the one that was broken: `G306: Expect … (gosec)`. */
const OF_MANY_RULES = /^(?:gosec|staticcheck|stylecheck|gosimple)$/;

/** `next`: the line below, in which rustc and clippy print the place. */
function findingOf(text: string, next: string): Finding | undefined {
  for (const pattern of PATTERNS) {
    const { rule = null, message = '' } = pattern.exec(text)?.groups ?? {};
    if (message === '') continue;
    const isOfMany = rule !== null && OF_MANY_RULES.test(rule);
    return { rule: (isOfMany && /^([A-Z]{1,4}\d{3,5}): /.exec(message)?.[1]) || rule, message };
  }
  const message = /^\s*--> /.test(next) ? /^(?:error|warning): (.+)$/.exec(text)?.[1] : undefined;
  return message === undefined ? undefined : { rule: null, message };
}

/** Rules that every project has: compilers', and those that are on by default and say no more than "unused". */
const COMMON =
  /^(?:typecheck|unused|deadcode|ineffassign|staticcheck|govet|gosimple|errcheck|gofmt|goimports|format|assist\/.*|lint\/correctness\/.*|no-unused-vars|@typescript-eslint\/no-unused-vars|no-undef|prettier\/prettier|lint\/correctness\/noUnused\w+|E501|E999|F401|F811|F821|F841|W\d+|E[1-7]\d\d|Layout\/.*)$/;

/** Rules that look for secrets: their messages quote what they found. */
const OF_SECRETS = /secret|gitleaks|trufflehog|entropy|ggshield|credential|^(?:G101|S10[5-7]|B10[5-7])$/i;

/** Returns true if a finding is about a secret in the code. */
export function isOfSecrets({ rule, message }: Finding): boolean {
  return (
    OF_SECRETS.test(rule ?? '') ||
    /\bentropy\b|hard-?coded (?:password|secret|credential|token)/i.test(message)
  );
}

/** Returns true if the rule is one that a project has chosen, so that knowing it before helps. */
export function isOwnRule(rule: string | null): rule is string {
  return rule !== null && !COMMON.test(rule) && !OF_SECRETS.test(rule);
}
