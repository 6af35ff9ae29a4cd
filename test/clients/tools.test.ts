import { describe, expect, test } from 'bun:test';
import type { HookCall } from '../../src/clients/client.ts';
import { type EndedCall, hookCalls, hookEvents } from '../../src/clients/tools.ts';
import type { Json } from '../../src/core/guards.ts';
import { CLIENTS, type ClientName } from '../support/clients.ts';

const PATCH = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-x\n+y\n*** Add File: b.md\n+z\n*** End Patch';

describe('hookCalls()', () => {
  const file = (tool: string, path: string): HookCall => ({ tool, input: { file_path: path } });
  const rows: [client: ClientName, tool: string, input: Json, calls: HookCall[]][] = [
    ['claude', 'Bash', { command: 'ls' }, [{ tool: 'Bash', input: { command: 'ls' } }]],
    ['claude', 'read', { path: 'a' }, [{ tool: 'read', input: { path: 'a' } }]],
    ['codex', 'Bash', { command: 'ls' }, [{ tool: 'Bash', input: { command: 'ls' } }]],
    ['codex', 'shell', { command: ['npm', 'test'] }, [{ tool: 'Bash', input: { command: 'npm test' } }]],
    [
      'codex',
      'shell',
      { command: ['bash', '-lc', 'npm test | tail'] },
      [{ tool: 'Bash', input: { command: 'npm test | tail' } }],
    ],
    ['codex', 'exec_command', { cmd: 'ls' }, [{ tool: 'Bash', input: { cmd: 'ls', command: 'ls' } }]],
    [
      'codex',
      'apply_patch',
      { changes: [{ path: '/a', kind: 'add' }, { path: '/b', kind: 'update' }, { path: '/a' }, 5] },
      [file('Edit', '/a'), file('Edit', '/b')],
    ],
    ['codex', 'apply_patch', { changes: [] }, [{ tool: 'Edit', input: {} }]],
    ['gemini', 'run_shell_command', { command: 'ls' }, [{ tool: 'Bash', input: { command: 'ls' } }]],
    [
      'gemini',
      'run_shell_command',
      { command: 'npm start', is_background: true },
      [{ tool: 'Bash', input: { command: 'npm start', is_background: true, run_in_background: true } }],
    ],
    ['gemini', 'activate_skill', { name: 'a' }, [{ tool: 'Skill', input: { skill: 'a' } }]],
    ['opencode', 'skill', { name: 'a' }, [{ tool: 'Skill', input: { skill: 'a' } }]],
    ['gemini', 'read_file', { absolute_path: '/a' }, [file('Read', '/a')]],
    ['gemini', 'write_file', { file_path: '/a', content: 'x' }, [file('Write', '/a')]],
    ['gemini', 'replace', { file_path: '/a', old_string: 'x' }, [file('Edit', '/a')]],
    ['gemini', 'grep_search', { pattern: 'x' }, [{ tool: 'Grep', input: { pattern: 'x' } }]],
    ['gemini', 'web_fetch', { prompt: 'x' }, [{ tool: 'web_fetch', input: { prompt: 'x' } }]],
    ['opencode', 'bash', { command: 'ls' }, [{ tool: 'Bash', input: { command: 'ls' } }]],
    ['opencode', 'edit', { filePath: '/a' }, [file('Edit', '/a')]],
    ['opencode', 'read', {}, [{ tool: 'Read', input: {} }]],
    ['opencode', 'apply_patch', { patchText: PATCH }, [file('Edit', 'src/a.ts'), file('Edit', 'b.md')]],
    ['opencode', 'mcp__x__y', { a: 1 }, [{ tool: 'mcp__x__y', input: { a: 1 } }]],
    ['opencode', 'my-x_get_all', { a: 1 }, [{ tool: 'mcp__my-x__get_all', input: { a: 1 } }]],
    ['opencode', 'plan_exit', {}, [{ tool: 'plan_exit', input: {} }]],
  ];
  for (const [client, tool, input, calls] of rows) {
    test(`names ${tool} of ${client} as the hooks do: ${JSON.stringify(input).slice(0, 60)}`, () => {
      expect(CLIENTS[client].hookCalls({ tool, input })).toEqual(calls);
    });
  }

  test('names no more than twenty files of a patch', () => {
    const changes = Array.from({ length: 50 }, (_, index) => ({ path: `/f${index}` }));
    expect(hookCalls({ tool: 'apply_patch', input: { changes } })).toHaveLength(20);
  });
});

describe('hookEvents()', () => {
  const common = { session_id: 's', cwd: '/a' };
  const ended = {
    tool: 'bash',
    input: { command: 'npm test' },
    id: 'call_1',
    isError: false,
    text: 'x',
    code: 0,
  };
  const eventsOf = (changes: Partial<EndedCall>) =>
    hookEvents(CLIENTS.opencode, { ...ended, ...changes }, common);
  const rows: [what: string, changes: Partial<EndedCall>, event: Json][] = [
    ['worked', {}, { name: 'PostToolUse', isUnfinished: false, output: 'x' }],
    ['failed with an exit code', { code: 3 }, { name: 'PostToolUseFailure', error: 'Exit code 3\nx' }],
    ['failed, as the client says', { isError: true }, { name: 'PostToolUseFailure', error: 'x' }],
    ['failed without a word', { isError: true, text: ' ' }, { error: 'Exit code ?' }],
    ['ended in a way that nobody knows', { code: null }, { name: 'PostToolUse', isUnfinished: true }],
    ['is no command', { tool: 'webfetch', code: null }, { name: 'PostToolUse', isUnfinished: false }],
    ['was rejected', { isError: true, text: '<tool_use_error>no' }, { name: 'PostToolBatch' }],
  ];
  test.each(rows)('tells of a call that %s', (_, changes, event) => {
    expect(eventsOf(changes)).toMatchObject([{ sessionId: 's', cwd: '/a', ...event }]);
  });

  test('gives each file of a patch an id of its own, which names the client and is the same each time', () => {
    const patch = { tool: 'apply_patch', input: { patchText: PATCH } };
    const ids = eventsOf(patch).map((event) => 'toolUseId' in event && event.toolUseId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^opencode:\w+$/);
    expect(eventsOf(patch).map((event) => 'toolUseId' in event && event.toolUseId)).toEqual(ids);
    expect(eventsOf({ ...patch, id: 'call_2' })[0]).not.toMatchObject({ toolUseId: ids[0] });
  });
});
