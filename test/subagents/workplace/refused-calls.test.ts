import { describe, expect, test } from 'bun:test';
import type { AgentEvent } from '../../../src/clients/runs/run-client.ts';
import type { ClientName } from '../../../src/core/client-name.ts';
import type { Json } from '../../../src/core/guards.ts';
import { ASKS_FIRST, type Permissions } from '../../../src/core/runs/permissions.ts';
import type { Run } from '../../../src/core/runs/run.ts';
import { RefusedCalls } from '../../../src/subagents/workplace/refused-calls.ts';
import { madeRun } from '../../support/made-run.ts';

const RULE = 'The user has specified a rule which prevents you from using this specific tool call.';

type Call = readonly [tool: string, input: Json, refusal: string | 'event' | null];

function notesOf(
  calls: readonly Call[],
  changes: Partial<Run> = {},
  permitted: readonly string[] = [],
): string[] {
  const refused = new RefusedCalls(madeRun({ permissions: ASKS_FIRST, ...changes }));
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

describe('RefusedCalls', () => {
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
        '"subagents spawn --permissions edit,exec(npm test:*)".',
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
  test('keeps what the setting has already', () => {
    expect(notesOf([edit], {}, ['exec(make:*)'])[0]).toContain(`'["exec(make:*)","edit"]'`);
  });
  test('knows nothing that the setting would do in plan mode', () => {
    const permissions: Permissions = { mode: 'plan', allow: [], deny: [] };
    expect(notesOf([edit], { permissions })[0]).not.toContain('config set');
    expect(notesOf([edit], { permissions })[0]).toContain('--permissions edit');
  });
  const clients: [ClientName, string, Json, string][] = [
    ['gemini', 'write_file', { file_path: 'a' }, 'Tool execution denied by policy.'],
    ['opencode', 'write', { filePath: 'a' }, RULE],
  ];
  for (const [client, tool, input, text] of clients)
    test(`understands how ${client} says it`, () =>
      expect(notesOf([[tool, input, text]], { client })[0]).toContain('Write a. To allow it'));
  test('names no more than three, and each once', () => {
    const calls = ['a', 'b', 'c', 'd', 'a'].map((file): Call => ['Edit', { file_path: file }, 'event']);
    expect(notesOf(calls)[0]).toContain('Edit a, Edit b, Edit c and 1 more. To');
  });
  test('asks for all commands where one is several', () => {
    expect(notesOf([['Bash', { command: 'cd x && npm test' }, 'event']])[0]).toContain('"exec"]');
  });
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
