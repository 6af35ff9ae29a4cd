import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { decide } from '../../src/hooks/decide.ts';
import type { Project } from '../../src/hooks/decision.ts';
import { parseHookEvent } from '../../src/hooks/event.ts';
import { toolCommand, toolError, toolFile, toolMeta } from '../../src/hooks/tool-call.ts';
import { temporaryHome } from '../support/home.ts';
import { APP, bench } from '../support/hook-context.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, PROJECT, payload } from '../support/payloads.ts';

function call(tool: string, input: Payload) {
  return { tool, input, toolUseId: 't1' };
}

describe('toolMeta()', () => {
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
    [
      'Task',
      { subagent_type: 'executor', model: 'opus', prompt: 'p' },
      { agentType: 'executor', model: 'opus' },
    ],
    ['Agent', { subagent_type: 'executor', prompt: 'p' }, { agentType: 'executor' }],
    ['WebFetch', { url: 'https://x.example' }, {}],
    ['mcp__trivial__echo', { text: 'hi' }, {}],
  ];
  for (const [tool, input, meta] of rows) {
    test(`keeps ${JSON.stringify(meta)} of ${tool} ${JSON.stringify(input).slice(0, 60)}`, () => {
      expect(toolMeta(call(tool, input))).toEqual(meta);
    });
  }

  // D25: what upstream's pattern missed, and what it hid by mistake.
  const hidden = [
    '/a/.env',
    '.env',
    'C:\\a\\.env',
    '.env.local',
    '.envrc',
    'credentials.json',
    '/h/.aws/credentials',
    'KEY.PEM',
    'a.p12',
    '/h/.ssh/id_ed25519',
    'id_rsa',
    '.npmrc',
    'secrets.yaml',
    'server.key',
  ];
  for (const file of hidden) {
    test(`hides the path ${file}`, () => {
      expect(toolMeta(call('Read', { file_path: file }))).toEqual({ file: '[SENSITIVE_PATH]' });
      expect(toolFile(call('Read', { file_path: file }), APP)).toBeNull();
    });
  }
  for (const file of [
    '/a/xenv',
    '/h/id_rsa_tools/readme.md',
    '.env.example',
    'src/key.ts',
    'environment.ts',
  ]) {
    test(`shows the path ${file}`, () =>
      expect(toolMeta(call('Read', { file_path: file }))).toEqual({ file }));
  }
});

describe('toolFile()', () => {
  const rows: [file: string, project: Project, expected: string][] = [
    ['/home/dev/app/src/a.ts', APP, 'src/a.ts'],
    ['src/a.ts', APP, 'src/a.ts'],
    ['/home/dev/app2/a.ts', APP, '/home/dev/app2/a.ts'],
    ['C:\\app\\src\\a.ts', { name: 'app', path: 'C:\\app', spellings: ['C:\\app'] }, 'src/a.ts'],
    ['/home/dev/app/a.ts', { name: 'unknown', path: null, spellings: [] }, '/home/dev/app/a.ts'],
    // In a worktree the project is the main working tree, so that both share what is known of a file.
    ['/home/dev/app-fix/src/a.ts', { ...APP, spellings: [PROJECT, '/home/dev/app-fix'] }, 'src/a.ts'],
  ];
  for (const [file, project, expected] of rows) {
    test(`gives ${expected} for ${file} in ${project.path}`, () => {
      expect(toolFile(call('Edit', { file_path: file }), project)).toBe(expected);
    });
  }
  test('gives null for a tool that is not called on a file', () => {
    expect(toolFile(call('Bash', { file_path: 'a.ts' }), APP)).toBeNull();
    expect(toolFile(call('Edit', {}), APP)).toBeNull();
  });
});

describe('toolCommand()', () => {
  test('reads only Bash commands', () => {
    expect(toolCommand(call('Bash', { command: 'cd x && npm run test:unit src/a.ts' }))).toEqual({
      program: 'npm',
      family: 'npm run test:unit',
      targets: ['src/a.ts'],
      hidesFailure: false,
    });
    expect(toolCommand(call('Edit', { command: 'npm test' }))).toBeNull();
    expect(toolCommand(call('Bash', {}))).toBeNull();
  });
});

describe('toolError()', () => {
  test('keeps the normalised error, 500 characters of the text, and the files that it names', () => {
    const error = `src/db.ts:10:5 - error TS2339\n/home/dev/app/lib/a.js:3\n/usr/lib/b.js\nnode_modules/x/c.js\n.env ${'z'.repeat(9000)}`;
    const stored = toolError(call('Bash', { command: 'npx tsc' }), error, APP);
    expect(stored).toMatchObject({
      tool: 'Bash',
      toolUseId: 't1',
      file: null,
      mentionedFiles: ['src/db.ts', 'lib/a.js'],
    });
    expect(stored.error.length).toBeLessThanOrEqual(200);
    expect(stored.errorRaw).toBe(error.slice(0, 500));
    expect(stored.command?.program).toBe('tsc');
  });

  test('never cuts a code point', () => {
    for (let length = 195; length < 205; length++) {
      const { error, errorRaw } = toolError(
        call('Bash', {}),
        `${'a'.repeat(length)}\u{1f600}`.repeat(30),
        APP,
      );
      expect(error.isWellFormed() && errorRaw.isWellFormed()).toBe(true);
    }
  });
});

describe('what is recorded', () => {
  const NAMES = [
    'post-tool-use-bash',
    'post-tool-use-edit',
    'post-tool-use-agent',
    'post-tool-use-failure-bash',
    'post-tool-batch-rejected',
    'user-prompt-submit',
  ];
  const word = fc.string({ unit: 'grapheme', maxLength: 20 });
  const text = fc
    .record({ before: word, planted: fc.constantFrom(...SECRETS), after: word })
    .map(({ before, planted, after }) => ({
      text: `${before} ${planted.text} ${after}`,
      secret: planted.secret,
    }));

  /** The payload with this text wherever a client puts text of the model, of a program or of the user. */
  function withTextEverywhere(name: string, found: string): Payload {
    const input = {
      command: found,
      file_path: found,
      notebook_path: found,
      pattern: found,
      subagent_type: found,
      model: found,
      new_string: found,
      description: found,
    };
    const calls = ['Bash', 'Edit', 'Grep'].map((tool_name) => ({
      tool_name,
      tool_input: input,
      tool_response: `<tool_use_error>${found}</tool_use_error>`,
    }));
    return payload(name, {
      prompt: found,
      error: found,
      tool_input: input,
      tool_response: found,
      tool_calls: calls,
    });
  }

  function recordingOf(input: Payload): string {
    using home = temporaryHome();
    using work = bench(home);
    const event = parseHookEvent(input);
    if (event === undefined) throw new Error('Cannot read the payload');
    return JSON.stringify(decide(event, work.context).recording);
  }

  for (const name of NAMES) {
    for (const tool of ['Bash', 'Edit', 'Grep', 'Agent']) {
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
    expect(recordingOf(withTextEverywhere('post-tool-use-failure-bash', 'no secret here'))).toContain(
      'no secret here',
    );
  });
});
