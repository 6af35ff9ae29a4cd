import { describe, expect, test } from 'bun:test';
import { type Noise, readFailure, readHiddenFailure } from '../../src/lessons/failure.ts';

const read = (line: string, text: string, tool = 'Bash') => readFailure({ tool, line, text });

const REFUSED = 'Error: connect ECONNREFUSED 127.0.0.1:5432';
const ENTROPY = '"ZWVTjPQSdhwRgl204Hc51YCsritMIzn8B"';

describe('what nobody else gains from', () => {
  const cases: [noise: Noise | null, line: string, text: string, tool?: string][] = [
    ['client', 'x', 'File has not been read yet. Read it first before writing to it.', 'Edit'],
    ['client', 'ls', 'Permission to use Bash with command ls has been denied.'],
    ['client', 'ls', '<tool_use_error>Sibling tool call errored</tool_use_error>'],
    ['interrupted', 'npm test', '[Request interrupted by user for tool use]'],
    ['interrupted', 'npm test', "The user doesn't want to proceed with this tool use. It was rejected"],
    ['interrupted', 'npm test', 'Exit code 143\nCommand timed out after 2m 0s'],
    ['interrupted', 'npm run dev', 'Exit code 130\n> dev\n> vite\n\nerror: unknown option --x'],
    ['interrupted', 'npm run dev', 'Exit code 143'],
    ['interrupted', 'node build.js', 'Exit code 137\nbuilding …'],
    ['silent', 'grep -q x a', 'Exit code 1'],
    ['silent', 'grep -q x a', ''],
    ['secret', 'gh pr list', 'HTTP 401: Bad credentials (https://api.github.com/graphql)'],
    ['secret', 'psql shop', 'psql: error: FATAL:  password authentication failed for user "app"'],
    ['secret', 'aws s3 ls', 'Unable to locate credentials. You can configure them by "aws configure".'],
    ['finding', 'npm test', 'FAIL src/a.test.ts\n  ● total › rounds\n\nTests:       1 failed, 2 passed'],
    ['finding', 'npx tsc', "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."],
    ['finding', 'git merge main', 'CONFLICT (content): Merge conflict in a.ts\nAutomatic merge failed'],
    ['finding', 'git commit', 'husky - pre-commit hook exited with code 1 (error)'],
    [
      'secret',
      'npm run lint',
      `a.ts\n  4:9  error  A string with entropy 4.25 : ${ENTROPY}  no-secrets/no-secrets`,
    ],
    ['secret', 'ruff check', 'a.py:3:9: S105 Possible hardcoded password assigned to: "tigerhorse"'],
    ['secret', 'gitleaks detect', 'Finding: key = tigerhorse\nSecret: tigerhorse\nRuleID: generic'],
    ['secret', 'git commit -m x', 'Detect hardcoded secrets...Failed\n- hook id: gitleaks\nkey = tigerhorse'],
    [null, 'gitleaks detect --x', 'Error: unknown flag: --x'],
    ['unclear', 'make', 'Segmentation fault (core dumped)'],
    ['unclear', 'cat a.ts', 'cat: a.ts: No such file or directory'],
    [null, 'gh pr diff --stat', 'unknown flag: --stat'],
    [null, 'npm test', `${REFUSED}\n    at TCPConnectWrap.afterConnect (node:net:1607:16)`],
    [null, 'npm test', `FAIL src/a.test.ts\n  ${REFUSED}\n\nTests: 1 failed, 1 total`],
    [null, 'pytest', 'bash: pytest: command not found'],
    [null, 'kubectl get pods', 'bash: kubectl: Befehl nicht gefunden.'],
    [null, 'kubectl get pods', 'bash: kubectl: コマンドが見つかりません'],
    [null, 'kubectl get pods', 'Der Befehl "kubectl" ist entweder falsch geschrieben oder'],
    [null, 'make tset', "make: *** No rule to make target 'tset'.  Stop."],
    [null, '{}', 'team: Required', 'mcp__linear__create_issue'],
  ];
  for (const [noise, line, text, tool] of cases)
    test(`${noise}: ${text.slice(0, 60)}`, () => expect(read(line, text, tool).noise).toBe(noise));
});

describe('the telling line', () => {
  const cases: [said: string, line: string, before: string, after: string][] = [
    ['error: unknown option --x', 'tool --x', 'Exit code 2\n', '\nUsage: tool [options]'],
    ['node: bad option: --x', 'node --x', 'Exit code 9\n', ''],
    ["ninja: error: unknown target 'tests'", 'ninja tests', "ninja: Entering directory `build'\n", ''],
    [
      'Error: PORT is not set',
      'npm start',
      "/repo/db.js:4\nif (!port) throw new Error('PORT is not set');\n           ^\n\n",
      '',
    ],
    [
      'Error: DATABASE_URL is not set',
      'npm test',
      "/repo/db.js:4\n    throw new Error('DATABASE_URL is not set');\n    ^\n\n",
      '\n    at Object.<anonymous> (/repo/db.js:4:9)',
    ],
    [
      'Could not find rails-7.1.3 in installed gems',
      'rails s',
      '',
      '\nRun `bundle install` to install them.',
    ],
    ["ModuleNotFoundError: No module named 'flask'", 'python a.py', 'Traceback:\n    import flask\n', ''],
    ['the following arguments are required: --count', 'seed', 'usage: seed [-h] --count COUNT\n', ''],
    [
      "sort: 인식할 수 없는 옵션 '--x'",
      'sort --x a',
      '',
      "\n자세한 정보를 보려면 'sort --help'를 실행하십시오.",
    ],
  ];
  for (const [said, line, before, after] of cases)
    test(said, () => expect(read(line, before + said + after).said).toBe(said));

  const unused = '/repo/a.ts\n  1:1  error  Unused variable  no-unused-vars\n';
  const nested = '  2:1  error  Do not nest ternary expressions  no-nested-ternary';
  const others: [said: string, line: string, text: string][] = [
    ['Do not nest ternary expressions (no-nested-ternary)', 'npm run lint', unused + nested],
    ['Break no-nested', 'npm run lint', '  1:1  error  Break no-nested  no-nested'],
    ['TestTax', 'go test ./...', '=== RUN   TestTax\n--- FAIL: TestTax (0.00s)\nFAIL'],
    ['Missing environment variables: PORT', 'npm start', 'Missing environment variables:\n\n  PORT'],
  ];
  for (const [said, line, text] of others) test(said, () => expect(read(line, text).said).toBe(said));

  const quoting = "/repo/a.ts\n  2:1  error  Value 'correct horse 99' is not allowed  acme/no-value";
  const hidden: [what: string, line: string, text: string, said: string][] = [
    ['of a rule tells no value', 'npm run lint', quoting, "Value '…' is not allowed (acme/no-value)"],
    [
      'of a scanner tells nothing of what was found',
      'gitleaks detect',
      'Finding: key = tigerhorse\nSecret: tigerhorse',
      'a secret was found',
    ],
    [
      'does not repeat what of the command is not told',
      'acme login --token tigerhorse711x',
      "error: the token 'tigerhorse711x' has expired",
      "error: the token '…' has expired",
    ],
  ];
  for (const [what, line, text, said] of hidden)
    test(what, () => {
      const failure = read(line, text);
      expect(failure.said).toBe(said);
      expect(JSON.stringify(failure)).not.toContain('horse');
    });
});

describe('by which it is recognised again', () => {
  const docs = 'Missing docs  jsdoc/require-jsdoc';
  const rows: [name: string, line: string, text: string, other: string, otherLine?: string][] = [
    ['line numbers', 'node a.js', 'Error: unexpected token, line 12', 'Error: unexpected token, line 907'],
    ['temporary files', 'make', 'fatal: no /tmp/tmp.8dkQ2/out', 'fatal: no /tmp/tmp.zz81x/out'],
    ['hashes', 'git push', 'error: bad object 3f1c9e0a77', 'error: bad object 9a1bcd4e21'],
    ['times', 'npm ci', 'npm error timeout after 1021ms', 'npm error timeout after 87ms'],
    ['ports of the system', 'npm t', `${REFUSED.slice(0, -4)}51234`, `${REFUSED.slice(0, -4)}49801`],
    [
      'assignments in front',
      'npm t',
      'connect ECONNREFUSED ::1:80',
      'connect ECONNREFUSED ::1:80',
      'CI=1 npm t',
    ],
    ['places of the project', 'npm t', 'cannot open /home/a/x/y.json', 'cannot open /srv/b/z/y.json'],
    ['messages of a rule', 'eslint .', `  1:1  error  ${docs}`, '  9:4  error  No docs  jsdoc/require-jsdoc'],
  ];
  for (const [name, line, text, other, otherLine = line] of rows)
    test(`equal: other ${name}`, () => expect(read(line, text).key).toBe(read(otherLine, other).key));

  const inUse = 'Error: listen EADDRINUSE: address already in use :::';
  const different: typeof rows = [
    ['flag', 'gh pr view --a', 'unknown flag: --a', 'unknown flag: --b', 'gh pr view --b'],
    ['module', 'node a.js', "Error: Cannot find module 'pg'", "Error: Cannot find module 'redis'"],
    ['module with a number', 'python a', "No module named 'psycopg2'", "No module named 'psycopg3'"],
    ['port', 'npm t', REFUSED, REFUSED.replace('5432', '6379')],
    ['port in use', 'npm start', `${inUse}3000`, `${inUse}4000`],
    ['script', 'npm run a', 'npm error Missing script: "a"', 'npm error Missing script: "b"', 'npm run b'],
    ['program', 'pytest', 'error: unrecognized arguments', 'error: unrecognized arguments', 'mypy'],
    ['rule', 'eslint .', `  1:1  error  ${docs}`, '  1:1  error  Missing docs  jsdoc/require-param'],
  ];
  for (const [name, line, text, other, otherLine = line] of different)
    test(`different: another ${name}`, () =>
      expect(read(line, text).key).not.toBe(read(otherLine, other).key));

  test('prose behind a path is no path', () => {
    const { key } = read('cmake --build build', 'Error: /repo/build is not a directory');
    expect(key).toContain('is not a directory');
  });
});

describe('failures behind a pipe, a list or what does nothing', () => {
  const hidden = (line: string, text: string) => readHiddenFailure({ tool: 'Bash', line, text })?.said;
  const SCRIPT = 'npm error Missing script: "x"';
  const lists = ['|| true', '; echo "exit $?"', '& wait', '2>&1 | tail -5'].map((end) => `npm run x ${end}`);
  for (const line of [...lists, 'if [ -d web ]; then npm run x; fi', '(npm run x || :) && ls'])
    test(line, () => expect(hidden(line, `${SCRIPT}\nexit 1`)).toBe(SCRIPT));
  test('ruff check --output=json | head', () => {
    const said = "error: unexpected argument '--output' found";
    expect(hidden('ruff check --output=json | head', said)).toBe(said);
  });

  const unseen: [why: string, line: string, text: string][] = [
    ['no pipe', 'npm run x', SCRIPT],
    ['all joined by &&', 'npm ci && npm run x', SCRIPT],
    ['an alternative', 'npm run x || npm run y', SCRIPT],
    ['what the line itself prints', 'echo "error: unknown option --x"; ls', 'error: unknown option --x'],
    ['a search in a list', 'grep -r script .; true', 'a.txt: Missing script: "x"'],
    ['a search', 'grep -r "Missing script" . | head', 'a.txt: Missing script: "x"'],
    ['a report', 'npm test | tail', 'Tests: 1 failed, 2 passed\nunknown option --x'],
    ['a long answer', 'npm run x | head', `${'a line\n'.repeat(200)}unknown option --x`],
    ['not at the beginning', 'npm run x | head', 'a\nb\nc\nunknown option --x'],
    ['nothing printed', 'npm run x | head', ''],
  ];
  for (const [why, line, text] of unseen) test(why, () => expect(hidden(line, text)).toBeUndefined());
});
