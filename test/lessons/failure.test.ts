import { describe, expect, test } from 'bun:test';
import { type Noise, readFailure, readHiddenFailure } from '../../src/lessons/failure.ts';

const read = (line: string, text: string, tool = 'Bash') => readFailure({ tool, line, text });

describe('what nobody else gains from', () => {
  const cases: [noise: Noise | null, line: string, text: string, tool?: string][] = [
    ['client', 'x', 'File has not been read yet. Read it first before writing to it.', 'Edit'],
    ['client', 'ls', 'Permission to use Bash with command ls has been denied.'],
    ['client', 'ls', '<tool_use_error>Sibling tool call errored</tool_use_error>'],
    ['interrupted', 'npm test', '[Request interrupted by user for tool use]'],
    [
      'interrupted',
      'npm test',
      "The user doesn't want to proceed with this tool use. The tool use was rejected",
    ],
    ['interrupted', 'npm test', 'Exit code 143\nCommand timed out after 2m 0s'],
    ['interrupted', 'npm run dev', 'Exit code 130\n> dev\n> vite\n\nerror: unknown option --x'],
    ['interrupted', 'npm run dev', 'Exit code 143'],
    ['interrupted', 'node build.js', 'Exit code 137\nbuilding …'],
    ['silent', 'grep -q x a', 'Exit code 1'],
    ['silent', 'grep -q x a', ''],
    ['secret', 'gh pr list', 'HTTP 401: Bad credentials (https://api.github.com/graphql)'],
    ['secret', 'psql shop', 'psql: error: FATAL:  password authentication failed for user "app"'],
    [
      'secret',
      'aws s3 ls',
      'Unable to locate credentials. You can configure credentials by running "aws configure".',
    ],
    [
      'finding',
      'npm test',
      'FAIL src/a.test.ts\n  ● total › rounds\n\nTests:       1 failed, 2 passed, 3 total',
    ],
    ['finding', 'npx tsc', "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."],
    [
      'finding',
      'git merge main',
      'CONFLICT (content): Merge conflict in a.ts\nAutomatic merge failed; fix conflicts',
    ],
    ['finding', 'git commit', 'husky - pre-commit hook exited with code 1 (error)'],
    [
      'secret',
      'npm run lint',
      '/repo/a.ts\n  4:9  error  Found a string with entropy 4.25 : "ZWVTjPQSdhwRgl204Hc51YCsritMIzn8B"  no-secrets/no-secrets',
    ],
    ['secret', 'ruff check', 'a.py:3:9: S105 Possible hardcoded password assigned to: "tigerhorse"'],
    ['secret', 'gitleaks detect', 'Finding: key = tigerhorse\nSecret: tigerhorse\nRuleID: generic'],
    [
      'secret',
      'git commit -m x',
      'Detect hardcoded secrets.....Failed\n- hook id: gitleaks\nkey = tigerhorse',
    ],
    [null, 'gitleaks detect --x', 'Error: unknown flag: --x'],
    ['unclear', 'make', 'Segmentation fault (core dumped)'],
    ['unclear', 'cat a.ts', 'cat: a.ts: No such file or directory'],
    [null, 'gh pr diff --stat', 'unknown flag: --stat'],
    [
      null,
      'npm test',
      'Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect (node:net:1607:16)',
    ],
    [
      null,
      'npm test',
      'FAIL src/a.test.ts\n  Error: connect ECONNREFUSED 127.0.0.1:5432\n\nTests: 1 failed, 1 total',
    ],
    [null, 'pytest', 'bash: pytest: command not found'],
    [null, 'make tset', "make: *** No rule to make target 'tset'.  Stop."],
    [null, '{}', 'team: Required', 'mcp__linear__create_issue'],
  ];
  for (const [noise, line, text, tool] of cases)
    test(`${noise}: ${text.slice(0, 60)}`, () => expect(read(line, text, tool).noise).toBe(noise));
});

describe('the telling line', () => {
  const cases: [said: string, line: string, text: string][] = [
    [
      'error: unknown option --x',
      'tool --x',
      'Exit code 2\nerror: unknown option --x\nUsage: tool [options]',
    ],
    [
      "ninja: error: unknown target 'tests'",
      'ninja tests',
      "ninja: Entering directory `build'\nninja: error: unknown target 'tests'",
    ],
    [
      'Error: DATABASE_URL is not set',
      'npm test',
      "/repo/db.js:4\n    throw new Error('DATABASE_URL is not set');\n    ^\n\nError: DATABASE_URL is not set\n    at Object.<anonymous> (/repo/db.js:4:9)",
    ],
    [
      'Could not find rails-7.1.3 in locally installed gems',
      'rails s',
      'Could not find rails-7.1.3 in locally installed gems\nRun `bundle install` to install missing gems.',
    ],
    [
      'Do not nest ternary expressions (no-nested-ternary)',
      'npm run lint',
      '/repo/a.ts\n  1:1  error  Unused variable  no-unused-vars\n  2:1  error  Do not nest ternary expressions  no-nested-ternary',
    ],
    ['TestTax', 'go test ./...', '=== RUN   TestTax\n--- FAIL: TestTax (0.00s)\nFAIL'],
    [
      "ModuleNotFoundError: No module named 'flask'",
      'python a.py',
      'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import flask\nModuleNotFoundError: No module named \'flask\'',
    ],
    [
      'the following arguments are required: --count',
      'seed',
      'usage: seed [-h] --count COUNT\nthe following arguments are required: --count',
    ],
    ['Missing environment variables: PORT', 'npm start', 'Missing environment variables:\n\n  PORT'],
    [
      "sort: 인식할 수 없는 옵션 '--x'",
      'sort --x a',
      "sort: 인식할 수 없는 옵션 '--x'\n자세한 정보를 보려면 'sort --help'를 실행하십시오.",
    ],
  ];
  for (const [said, line, text] of cases) test(said, () => expect(read(line, text).said).toBe(said));

  test('of a rule tells no value', () => {
    const { said, key } = read(
      'npm run lint',
      "/repo/a.ts\n  2:1  error  Value 'correct horse 99' is not allowed  acme/no-value",
    );
    expect(said).toBe("Value '…' is not allowed (acme/no-value)");
    expect(key).not.toContain('horse');
  });

  test('of a scanner tells nothing of what was found', () => {
    const failure = read('gitleaks detect', 'Finding: key = tigerhorse\nSecret: tigerhorse');
    expect(JSON.stringify(failure)).not.toContain('horse');
  });

  test('does not repeat what of the command is not told', () => {
    const failure = read('acme login --token hunter4711x', "error: the token 'hunter4711x' has expired");
    expect(failure.said).toBe("error: the token '…' has expired");
    expect(failure.key).not.toContain('hunter');
  });
});

describe('by which it is recognised again', () => {
  const same: [name: string, left: [string, string], right: [string, string]][] = [
    [
      'other line numbers',
      ['node a.js', 'Error: unexpected token, line 12'],
      ['node a.js', 'Error: unexpected token, line 907'],
    ],
    [
      'other temporary files',
      ['make', 'fatal: could not read /tmp/tmp.8dkQ2/out'],
      ['make', 'fatal: could not read /tmp/tmp.zz81x/out'],
    ],
    [
      'other hashes',
      ['git push', 'error: bad object 3f1c9e0a77'],
      ['git push', 'error: bad object 9a1bcd4e21'],
    ],
    ['other times', ['npm ci', 'npm error timeout after 1021ms'], ['npm ci', 'npm error timeout after 87ms']],
    [
      'other ports of the system',
      ['npm t', 'Error: connect ECONNREFUSED 127.0.0.1:51234'],
      ['npm t', 'Error: connect ECONNREFUSED 127.0.0.1:49801'],
    ],
    [
      'other assignments in front',
      ['npm t', 'Error: connect ECONNREFUSED ::1:80'],
      ['CI=1 npm t', 'Error: connect ECONNREFUSED ::1:80'],
    ],
    [
      'another place of the project',
      ['npm t', 'cannot open /home/a/x/y.json'],
      ['npm t', 'cannot open /srv/b/z/y.json'],
    ],
    [
      'the same rule of another file',
      ['eslint .', '  1:1  error  Missing docs  jsdoc/require-jsdoc'],
      ['eslint .', '  9:4  error  No docs here  jsdoc/require-jsdoc'],
    ],
  ];
  for (const [name, left, right] of same)
    test(`equal: ${name}`, () => expect(read(...left).key).toBe(read(...right).key));

  const different: [name: string, left: [string, string], right: [string, string]][] = [
    ['another flag', ['gh pr view --a', 'unknown flag: --a'], ['gh pr view --b', 'unknown flag: --b']],
    [
      'another module',
      ['node a.js', "Error: Cannot find module 'pg'"],
      ['node a.js', "Error: Cannot find module 'redis'"],
    ],
    [
      'another module with a number',
      ['python a', "No module named 'psycopg2'"],
      ['python a', "No module named 'psycopg3'"],
    ],
    [
      'another port',
      ['npm t', 'Error: connect ECONNREFUSED 127.0.0.1:5432'],
      ['npm t', 'Error: connect ECONNREFUSED 127.0.0.1:6379'],
    ],
    [
      'another port in use',
      ['npm start', 'Error: listen EADDRINUSE: address already in use :::3000'],
      ['npm start', 'Error: listen EADDRINUSE: address already in use :::4000'],
    ],
    [
      'another script',
      ['npm run a', 'npm error Missing script: "a"'],
      ['npm run b', 'npm error Missing script: "b"'],
    ],
    [
      'another program',
      ['pytest', 'error: unrecognized arguments'],
      ['mypy', 'error: unrecognized arguments'],
    ],
    [
      'another rule',
      ['eslint .', '  1:1  error  Missing docs  jsdoc/require-jsdoc'],
      ['eslint .', '  1:1  error  Missing docs  jsdoc/require-param'],
    ],
  ];
  for (const [name, left, right] of different)
    test(`different: ${name}`, () => expect(read(...left).key).not.toBe(read(...right).key));

  test('prose behind a path is no path', () => {
    expect(read('cmake --build build', 'Error: /repo/build is not a directory').key).toContain(
      'is not a directory',
    );
  });
});

describe('failures behind a pipe, a list or what does nothing', () => {
  const hidden = (line: string, text: string) => readHiddenFailure({ tool: 'Bash', line, text })?.said;
  const seen: [line: string, text: string, said: string][] = [
    [
      'cat -A a | head',
      'cat: illegal option -- A\nusage: cat [-belnstuv] [file ...]',
      'cat: illegal option -- A',
    ],
    ['npm run tset 2>&1 | tail -5', 'npm error Missing script: "tset"', 'npm error Missing script: "tset"'],
    [
      'ruff check --output=json | head',
      "error: unexpected argument '--output' found",
      "error: unexpected argument '--output' found",
    ],
  ];
  for (const line of [
    'npm run x || true',
    'npm run x; echo "exit $?"',
    'npm run x & wait',
    'if [ -d web ]; then npm run x; fi',
    '(npm run x || :) && ls',
  ])
    seen.push([line, 'npm error Missing script: "x"\nexit 1', 'npm error Missing script: "x"']);
  for (const [line, text, said] of seen.slice(1)) test(line, () => expect(hidden(line, text)).toBe(said));

  const unseen: [why: string, line: string, text: string][] = [
    ['no pipe', 'npm run x', 'npm error Missing script: "x"'],
    ['all joined by &&', 'npm ci && npm run x', 'npm error Missing script: "x"'],
    ['an alternative', 'npm run x || npm run y', 'npm error Missing script: "x"'],
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
