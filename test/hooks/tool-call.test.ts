import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Project } from '../../src/hooks/decision.ts';
import { callRecord, hiddenError, toolError, toolMeta } from '../../src/hooks/tool-call.ts';
import { APP } from '../support/hook-context.ts';
import { decideIn } from '../support/hook-play.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, PROJECT, payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';

type Besides = { readonly remark?: string; readonly cwd?: string };

function call(tool: string, input: Payload, { remark, cwd }: Besides = {}) {
  return { tool, input, toolUseId: 't1', remark: remark ?? null, chars: 7, cwd };
}

describe('toolMeta()', () => {
  const metaOf = (tool: string, input: Payload) =>
    toolMeta(call(tool, input), callRecord(call(tool, input), APP));
  const key = (value: string) => `API_KEY=${`sk-${'live-'}`}${value}`;
  const rows: [tool: string, input: Payload, meta: Payload][] = [
    ['Bash', { command: 'npm test -- --bail' }, { command: 'npm' }],
    ['Bash', { command: '  npm test' }, { command: 'npm' }],
    ['Bash', { command: `${key('123456789012345678')} curl https://x.example` }, { command: 'curl' }],
    ['Bash', { command: 'cd app && CI=1 make check' }, { command: 'make' }],
    ['Bash', { command: '/usr/bin/python3 -m pytest' }, { command: 'python3' }],
    ['Bash', { command: '' }, { command: '' }],
    ['Bash', {}, { command: '' }],
    ['Bash', { command: 7 }, { command: '' }],
    ['Read', { file_path: '/home/dev/app/a.ts' }, { file: '/home/dev/app/a.ts' }],
    ['Write', { file_path: 'a.ts', content: 'x' }, { file: 'a.ts' }],
    ['Edit', { file_path: 'a.ts', old_string: 'x' }, { file: 'a.ts' }],
    ['MultiEdit', { file_path: 'a.ts', edits: [] }, { file: 'a.ts' }],
    ['NotebookEdit', { notebook_path: '/n/a.ipynb' }, { file: '/n/a.ipynb' }],
    ['Edit', {}, {}],
    ['Edit', { file_path: null }, {}],
    ['Grep', { pattern: 'TODO', path: 'src' }, { pattern: 'TODO' }],
    ['Grep', { pattern: `password=${'hunter2hunter2'}` }, { pattern: 'password=[REDACTED]' }],
    ['Glob', { pattern: '**/*.ts' }, { pattern: '**/*.ts' }],
    ['Glob', {}, {}],
    ['Task', { subagent_type: 'x', model: 'opus', prompt: 'p' }, { agentType: 'x', model: 'opus' }],
    ['Agent', { subagent_type: 'executor', prompt: 'p' }, { agentType: 'executor' }],
    ['WebFetch', { url: 'https://x.example' }, {}],
    ['mcp__trivial__echo', { text: 'hi' }, {}],
  ];
  for (const [tool, input, meta] of rows)
    test(`keeps ${JSON.stringify(meta)} of ${tool} ${JSON.stringify(input).slice(0, 60)}`, () =>
      expect(metaOf(tool, input)).toEqual(meta));

  // D25: what upstream's pattern missed, and what it hid by mistake.
  const hidden = [
    ...'/a/.env .env C:\\a\\.env .env.local .envrc credentials.json /h/.aws/credentials KEY.PEM'.split(' '),
    ...'a.p12 /h/.ssh/id_ed25519 id_rsa .npmrc secrets.yaml server.key'.split(' '),
  ];
  test.each(hidden)('hides the path %s', (file) => {
    expect(metaOf('Read', { file_path: file })).toEqual({ file: '[SENSITIVE_PATH]' });
    expect(callRecord(call('Read', { file_path: file }), APP).file).toBeNull();
  });

  const open = '/a/xenv /h/id_rsa_tools/readme.md .env.example src/key.ts environment.ts'.split(' ');
  test.each(open)('shows the path %s', (file) =>
    expect(metaOf('Read', { file_path: file })).toEqual({ file }),
  );
});

const UNKNOWN: Project = { name: 'unknown', path: null, spellings: [] };
const WORKTREE: Project = { ...APP, spellings: [PROJECT, '/home/dev/app-fix'] };
/** Inside the project: to be told relative to the worktree. */
const INNER: Project = { ...APP, spellings: [PROJECT, `${PROJECT}/.worktrees/fix`] };

describe('callRecord()', () => {
  const files: [file: string, project: Project, expected: string][] = [
    ['/home/dev/app/src/a.ts', APP, 'src/a.ts'],
    ['src/a.ts', APP, 'src/a.ts'],
    ['/home/dev/app2/a.ts', APP, '/home/dev/app2/a.ts'],
    ['C:\\app\\src\\a.ts', { name: 'app', path: 'C:\\app', spellings: ['C:\\app'] }, 'src/a.ts'],
    ['/home/dev/app/a.ts', UNKNOWN, '/home/dev/app/a.ts'],
    // In a worktree the project is the main working tree, so that both share what is known of a file.
    ['/home/dev/app-fix/src/a.ts', WORKTREE, 'src/a.ts'],
    ['/home/dev/app/.worktrees/fix/src/a.ts', INNER, 'src/a.ts'],
  ];
  for (const [file, project, expected] of files)
    test(`keeps the file ${expected} for ${file} in ${project.path} with ${project.spellings.length} places`, () =>
      expect(callRecord(call('Edit', { file_path: file }), project).file).toBe(expected));

  test('keeps no file of a tool that is not called on one', () => {
    expect(callRecord(call('Bash', { file_path: 'a.ts' }), APP).file).toBeNull();
    expect(callRecord(call('Edit', {}), APP).file).toBeNull();
  });

  const lines: [tool: string, input: Payload, line: string | null][] = [
    ['Bash', { command: 'cd web && npm test 2>&1 | tail' }, 'cd web && npm test 2>&1 | tail'],
    ['Bash', { command: 'a\nb' }, 'a\nb'],
    ['PowerShell', { command: 'Get-Item x' }, 'Get-Item x'],
    ['Bash', {}, null],
    ['Edit', { file_path: 'a.ts', new_string: 'CONTENT' }, null],
    ['Read', { file_path: 'a.ts' }, null],
    ['Agent', { prompt: 'SUBTASK' }, null],
    ['Task', { prompt: 'SUBTASK' }, null],
    ['Grep', { pattern: 'x', path: 'src' }, '{"pattern":"x","path":"src"}'],
    ['mcp__db__query', { sql: 'SELECT 1' }, '{"sql":"SELECT 1"}'],
    ['mcp__db__list', {}, null],
  ];
  test.each(lines)('of %s %j keeps the line %j', (tool, input, line) =>
    expect(callRecord(call(tool, input), APP).line).toBe(line),
  );

  test.each<[tool: string, input: Payload, programs: string | null]>([
    ['Bash', { command: 'cd x && npm run test:unit src/a.ts' }, 'npm run test:unit'],
    ['PowerShell', { command: 'npm test' }, 'npm test'],
    ['Bash', { command: 'ls' }, ''],
    ['Bash', {}, null],
    ['Edit', { command: 'npm test' }, null],
  ])('of %s %j names the programs %j', (tool, input, programs) =>
    expect(callRecord(call(tool, input), APP).command).toBe(programs),
  );

  const directories: [cwd: string | undefined, project: Project, directory: string | null][] = [
    [PROJECT, APP, ''],
    [`${PROJECT}/`, APP, ''],
    [`${PROJECT}/web/src`, APP, 'web/src'],
    ['/srv/elsewhere', APP, '/srv/elsewhere'],
    ['/home/dev/app-fix', WORKTREE, ''],
    ['/home/dev/app-fix/web', WORKTREE, 'web'],
    ['C:\\app\\web', { name: 'app', path: 'C:\\app', spellings: ['C:\\app'] }, 'web'],
    [undefined, APP, null],
  ];
  for (const [cwd, project, directory] of directories) {
    test(`keeps the directory ${JSON.stringify(directory)} of a shell in ${cwd}`, () => {
      const besides = cwd === undefined ? {} : { cwd };
      expect(callRecord(call('Bash', { command: 'ls' }, besides), project).directory).toBe(directory);
      expect(callRecord(call('Grep', { pattern: 'x' }, besides), project).directory).toBeNull();
    });
  }

  test('makes a path relative before it looks for secrets: what stands above the project is none', () => {
    const root = `/home/${'aZ3kQ9xW1mR7tB5vN8cH2yL6dJ4fP0gS'}/app`;
    const project = { name: 'app', path: root, spellings: [root] };
    const shell = call('Bash', { command: 'ls' }, { cwd: `${root}/web` });
    expect(callRecord(call('Edit', { file_path: `${root}/src/a.ts` }), project).file).toBe('src/a.ts');
    expect(callRecord(shell, project).directory).toBe('web');
    expect(callRecord(shell, APP).directory).toContain('[REDACTED]');
  });

  test('keeps what the agent said before, on one line and cut', () => {
    const remark = `Now\nI try it with --bail. ${'word '.repeat(200)}`;
    const kept = callRecord(call('Bash', { command: 'ls' }, { remark }), APP).remark ?? '';
    expect(kept).toStartWith('Now I try it with --bail. word');
    expect(kept.length).toBe(240);
    expect(callRecord(call('Bash', { command: 'ls' }, { remark: '' }), APP).remark).toBeNull();
    expect(callRecord(call('Bash', { command: 'ls' }), APP).remark).toBeNull();
  });

  test('keeps 2,000 characters of a command and 300 of any other input', () => {
    const long = 'word '.repeat(5000);
    expect(callRecord(call('Bash', { command: long }), APP).line).toBe(long.slice(0, 2000));
    expect(callRecord(call('mcp__x__y', { text: long }), APP).line).toHaveLength(300);
  });

  for (const { text, secret } of SECRETS) {
    test(`keeps no secret in line and remark: ${text.slice(0, 12)}`, () => {
      const record = callRecord(call('Bash', { command: `run ${text}` }, { remark: `now ${text}` }), APP);
      expect(record.line).toStartWith('run ');
      expect(record.remark).toStartWith('now ');
      expect(JSON.stringify(record)).not.toContain(secret);
    });
  }
});

describe('toolError()', () => {
  test('keeps the key, the telling line and the whole text beside the call', () => {
    const printed = "Exit code 1\n> lint\nerror: unknown option '--bail'";
    const input = { command: 'npm run lint -- --bail' };
    expect(toolError(call('Bash', input, { cwd: `${PROJECT}/web`, remark: 'I try' }), printed, APP)).toEqual({
      tool: 'Bash',
      toolUseId: 't1',
      command: 'npm run lint',
      line: 'npm run lint -- --bail',
      directory: 'web',
      remark: 'I try',
      file: null,
      chars: 7,
      error: "unknown option '--bail' · npm",
      said: "error: unknown option '--bail'",
      errorRaw: printed,
      noise: null,
    });
  });

  const noises: [command: string, printed: string, noise: string][] = [
    ['npm test', 'Exit code 1', 'silent'],
    ['npm test', 'Exit code 1\nboom in tests', 'unclear'],
    ['npx tsc', 'src/db.ts:10:5 - error TS2339: Property "x" does not exist', 'finding'],
    ['npm test', 'Command timed out after 2m', 'interrupted'],
    ['gh api x', 'HTTP 401: Unauthorized', 'secret'],
  ];
  test.each(noises)('of %s that prints %j says that it is %s', (command, printed, noise) =>
    expect(toolError(call('Bash', { command }), printed, APP).noise).toBe(noise),
  );

  test('neither keeps what a cut has torn nor what the command said as a secret', () => {
    const long = `Exit code 1\n${'x'.repeat(5990)} PASSWORD=hunter2Super ${'downloading '.repeat(900)}PASSWORD=hunter3Secret ${'y'.repeat(1990)}`;
    const kept = JSON.stringify(toolError(call('Bash', { command: 'npm test' }), long, APP));
    expect(kept).not.toContain('hunter');
    const command = 'mysql --password=Zw4kTiger9 shop';
    const echoed = toolError(call('Bash', { command }), 'Exit code 1\nERROR: unknown option Zw4kTiger9', APP);
    expect(JSON.stringify(echoed)).not.toContain('Zw4kTiger9');
    expect(echoed.said).toBe('ERROR: unknown option …');
  });

  test('finds the line that tells also at the end of a long text, and keeps the beginning and what stands around that line', () => {
    const printed = `Exit code 1\n${'downloading\n'.repeat(20_000)}error: unknown option '--bail'`;
    const { errorRaw } = toolError(call('Bash', { command: 'npm test -- --bail' }), printed, APP);
    expect(errorRaw.length).toBeLessThanOrEqual(2000);
    expect(errorRaw).toStartWith('Exit code 1\ndownloading\n');
    expect(errorRaw).toEndWith(`…\n${printed.slice(-700)}`);
    const short = `Exit code 1\n${'downloading\n'.repeat(300)}error: unknown option '--bail'`;
    const { said } = toolError(call('Bash', { command: 'npm test -- --bail' }), short, APP);
    expect(said).toBe("error: unknown option '--bail'");
  });

  test('never cuts a code point', () => {
    for (let length = 195; length < 205; length++) {
      const printed = `${'a'.repeat(length)}\u{1f600}`.repeat(30);
      const { error, said, errorRaw } = toolError(call('Bash', {}), printed, APP);
      expect(error.isWellFormed() && said.isWellFormed() && errorRaw.isWellFormed()).toBe(true);
      expect(Math.max(error.length, said.length - 40)).toBeLessThanOrEqual(200);
    }
  });
});

describe('hiddenError()', () => {
  const printed = 'bash: pnpm: command not found';
  const hidden = (tool: string, command: string, output: string) =>
    hiddenError({ ...call(tool, { command }), output }, callRecord(call(tool, { command }), APP));

  test('reads the failure that a pipe hides', () => {
    expect(hidden('Bash', 'pnpm test | tail -5', printed)).toMatchObject({
      line: 'pnpm test | tail -5',
      error: 'pnpm: command not found · pnpm test',
      said: printed,
      errorRaw: printed,
      noise: null,
      isHidden: true,
    });
  });

  const none: [what: string, tool: string, command: string, output: string][] = [
    ['without a pipe', 'Bash', 'pnpm test', printed],
    ['of a search', 'Bash', 'grep -r pnpm docs | head', printed],
    ['that says nothing', 'Bash', 'pnpm test | tail -5', ''],
    ['that says that it worked', 'Bash', 'pnpm test | tail -5', 'all good'],
    ['of another tool', 'Grep', 'pnpm test | tail -5', printed],
  ];
  test.each(none)('finds none in a call %s', (_what, tool, command, output) =>
    expect(hidden(tool, command, output)).toBeUndefined(),
  );
});

describe('what is recorded', () => {
  const home = homePerTest();
  const calls = ['bash', 'edit', 'agent', 'failure-bash'].map((name) => `post-tool-use-${name}`);
  const NAMES = [...calls, 'post-tool-batch-rejected', 'user-prompt-submit'];
  const word = fc.string({ unit: 'grapheme', maxLength: 20 });
  const text = fc
    .record({ before: word, planted: fc.constantFrom(...SECRETS), after: word })
    .map(({ before, planted, after }) => ({ ...planted, text: `${before} ${planted.text} ${after}` }));

  /** The payload with this text wherever a client puts text of the model, of a program or of the user. */
  function withTextEverywhere(name: string, found: string): Payload {
    const fields = ['command', 'file_path', 'notebook_path', 'pattern', 'subagent_type', 'model'];
    const input = Object.fromEntries(
      [...fields, 'new_string', 'description', 'sql'].map((field) => [field, found]),
    );
    const calls = ['Bash', 'Edit', 'Grep'].map((tool_name) => ({
      tool_name,
      tool_input: input,
      tool_response: `<tool_use_error>${found}</tool_use_error>`,
    }));
    return payload(name, {
      prompt: found,
      error: found,
      tool_input: input,
      tool_response: { stdout: `bash: x: command not found ${found}` },
      remark: found,
      tool_calls: calls,
    });
  }

  const recordingOf = (input: Payload) => JSON.stringify(decideIn(home, input).recording);

  for (const name of NAMES) {
    for (const tool of ['Bash', 'Edit', 'Grep', 'Agent', 'mcp__db__query']) {
      test(`never holds a secret: ${name} of ${tool}`, () => {
        fc.assert(
          fc.property(text, (planted) => {
            const recording = recordingOf({ ...withTextEverywhere(name, planted.text), tool_name: tool });
            expect(recording).toContain('"kind"');
            expect(recording).not.toContain(planted.secret);
          }),
          { numRuns: 60, seed: 3 },
        );
      });
    }
  }

  test('would show a planted text that is no secret', () => {
    const plain = 'no secret here';
    expect(recordingOf(withTextEverywhere('post-tool-use-failure-bash', plain))).toContain(plain);
  });
});
