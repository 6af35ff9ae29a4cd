import { describe, expect, test } from 'bun:test';
import type { AgentEvent } from '../../../src/clients/client.ts';
import type { Json } from '../../../src/core/guards.ts';
import {
  ASKS_FIRST,
  grantProblem,
  type Permissions,
  splitGrants,
} from '../../../src/runs/model/permissions.ts';
import type { Run } from '../../../src/runs/model/run.ts';
import { refusedCalls } from '../../../src/runs/workspace/refused-calls.ts';
import type { ClientName } from '../../support/clients.ts';
import { madeRun } from '../../support/made-run.ts';

const RULE = 'The user has specified a rule which prevents you from using this specific tool call.';

type Call = readonly [tool: string, input: Json, refusal: string | 'event' | null];

function notesOf(
  calls: readonly Call[],
  changes: Partial<Run> = {},
  permitted: readonly string[] = [],
): string[] {
  const refused = refusedCalls(madeRun({ permissions: ASKS_FIRST, ...changes }));
  calls.forEach(([tool, input, refusal], index) => {
    const id = `call-${index}`;
    const events: AgentEvent[] = [
      { kind: 'tool-call', id, tool, input },
      ...(refusal === 'event' ? [{ kind: 'refused', id } as const] : []),
      { kind: 'tool-result', id, tool, isError: refusal !== null, text: refusal ?? 'done' },
    ];
    for (const event of events) refused.observe(event);
  });
  return refused.notes(permitted);
}

const edit: Call = ['Edit', { file_path: 'src/a.ts' }, 'event'];

describe('refusedCalls()', () => {
  test('says nothing when nothing was refused, or something failed by itself', () => {
    expect(notesOf([['Bash', { command: 'ls' }, null]])).toEqual([]);
    expect(notesOf([['Bash', { command: 'npm test' }, 'Exit code 1']])).toEqual([]);
  });
  test('names the calls, and both ways in which the user lets them through', () => {
    const [note] = notesOf([
      edit,
      ['Bash', { command: 'npm test --ci' }, 'Permission to use Bash has been denied because …'],
    ]);
    expect(note).toBe(
      'Not permitted in default mode: Edit src/a.ts, Bash npm test --ci. To allow it, the user sets tools.subagents.allow ' +
        `(self-generation config set tools.subagents.allow '["edit","exec(npm test:*)"]'), or the user starts it with ` +
        `"self-generation subagents spawn --permissions 'edit,exec(npm test:*)' …".`,
    );
  });
  test('promises nothing of a setting where a rule of the user’s forbids it', () => {
    const permissions: Permissions = { mode: 'default', allow: [], deny: ['Bash(git push:*)'] };
    const calls: Call[] = [['Bash', { command: 'git push origin' }, 'event']];
    expect(notesOf(calls, { permissions })).toEqual([
      "Not permitted in default mode: Bash git push origin. The user's own settings forbid or ask about: Bash(git push:*).",
    ]);
    expect(notesOf([...calls, ['Bash', { command: 'make' }, 'event']], { permissions })[0]).toContain(
      '"exec(make:*)"]',
    );
  });
  test('keeps what the setting has already', () =>
    expect(notesOf([edit], {}, ['exec(make:*)'])[0]).toContain(`'["exec(make:*)","edit"]'`));
  test('knows nothing that the setting would do in plan mode', () => {
    const permissions: Permissions = { mode: 'plan', allow: [], deny: [] };
    expect(notesOf([edit], { permissions })[0]).not.toContain('config set');
    expect(notesOf([edit], { permissions })[0]).toContain("--permissions 'edit'");
  });
  const clients: [ClientName, string, Json, string][] = [
    ['gemini', 'write_file', { file_path: 'a' }, 'Tool execution denied by policy.'],
    ['opencode', 'write', { filePath: 'a' }, RULE],
  ];
  for (const [client, tool, input, text] of clients)
    test(`understands how ${client} says it`, () =>
      expect(notesOf([[tool, input, text]], { client })[0]).toContain('Write a. To allow it'));
  test('names commands that a shell takes as they stand, whatever the setting holds already', () => {
    const [note = ''] = notesOf([edit, ['Bash', { command: 'make' }, 'event']], {}, ["exec(echo 'a b')"]);
    const commands = [/\((self-generation config .+?)\), or/, /"(self-generation subagents .+) …"/];
    const [setting, spawn] = commands.map((one) => {
      const words = one.exec(note)?.[1]?.replace(/^self-generation/, 'printf "%s\\n"') ?? '';
      return Bun.spawnSync(['sh', '-c', words]).stdout.toString().trimEnd().split('\n').at(-1);
    });
    expect(JSON.parse(setting ?? '')).toEqual(["exec(echo 'a b')", 'edit', 'exec(make:*)']);
    expect(splitGrants(spawn ?? '').map(grantProblem)).toEqual([undefined, undefined]);
  });
  test('advises nothing that is granted already, that cannot be granted, or that would not help', () => {
    const all: Permissions = { mode: 'all', allow: [], deny: [] };
    const git: Call = ['Write', { file_path: '.git/config' }, 'event'];
    expect(notesOf([git], { permissions: all })).toEqual([
      'Not permitted in all mode: Write .git/config. No permission allows here: Write .git/config.',
    ]);
    const outside: Call = ['read_file', { file_path: '/etc/x' }, 'Tool execution denied by policy.'];
    for (const [call, client] of [
      [outside, 'gemini'],
      [['mcp__files__get', {}, 'event'], 'claude'],
    ] as const)
      expect(notesOf([call as Call], { client })[0]).not.toContain('To allow it');
    expect(notesOf([['Glob', { pattern: '/x/*' }, 'event']])[0]).toContain(`'["read"]'`);
  });
  test('names the command by which a conversation is given more, and of a team the setting alone', () => {
    const part = { id: 'x', name: '1' };
    const said = (kind: 'conversation' | 'orchestration', changes: Partial<Run> = {}) =>
      notesOf([edit], { part: { kind, ...part }, ...changes })[0];
    expect(said('conversation')).toContain(`"self-generation run --permissions 'edit' …".`);
    expect(said('orchestration')).toEndWith(`config set tools.subagents.allow '["edit"]').`);
    const permissions: Permissions = { mode: 'plan', allow: [], deny: [] };
    expect(said('orchestration', { permissions })).toBe('Not permitted in plan mode: Edit src/a.ts.');
    expect(notesOf([], { client: 'codex', part: { kind: 'conversation', ...part } })).toEqual([]);
  });
  test('quotes no secret', () => {
    const secret = `sk-ant-api03-${'aB3'.repeat(30)}`;
    const [note] = notesOf([['Bash', { command: `login ${secret}` }, 'event']]);
    expect(note).toContain('Bash login [REDACTED');
    expect(note).not.toContain(secret.slice(0, 20));
  });
  test('names no more than three, and each once', () => {
    const calls = ['a', 'b', 'c', 'd', 'a'].map((file): Call => ['Edit', { file_path: file }, 'event']);
    expect(notesOf(calls)[0]).toContain('Edit a, Edit b, Edit c and 1 more. To');
  });
  test('asks for all commands where one is several', () =>
    expect(notesOf([['Bash', { command: 'cd x && npm test' }, 'event']])[0]).toContain('"exec"]'));
  test('is silent about tools that the policy denies: no permission would let them through', () => {
    const policy = { deny: ['edit', 'write'], allow: null };
    expect(notesOf([edit], { policy })).toEqual([]);
  });
  test('says for Codex, which does not tell, that it could only look', () => {
    expect(notesOf([], { client: 'codex' })[0]).toStartWith('Not permitted in default mode: changing files.');
    expect(notesOf([], { client: 'codex', permissions: { ...ASKS_FIRST, mode: 'edit' } })).toEqual([]);
    expect(notesOf([], { client: 'codex', policy: { deny: ['write'], allow: null } })).toEqual([]);
  });
});
