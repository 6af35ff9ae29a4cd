import { describe, expect, test } from 'bun:test';
import type { TurnRequest } from '../../src/clients/client.ts';
import { codex } from '../../src/clients/codex/client.ts';
import { NO_POLICY, NO_TOOLS, SUBAGENT_DENY } from '../../src/runs/model/tool-policy.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { commandOf, policed, REQUEST, SERVER } from './adapter.ts';
import { linesOf, readTurn, recordedTurn, saidTurn } from './runs-recorded.ts';

const command = (changes: Partial<TurnRequest>) => commandOf('codex', changes);

/** The settings among the arguments. */
function settings(changes: Partial<TurnRequest> = {}): string[] {
  const { args } = command(changes);
  return args.filter((_arg, index) => args[index - 1] === '-c');
}

const read = (name: string) => readTurn(codex, recordedTurn(`codex-${name}`));

describe('command()', () => {
  test('passes on the effort where it is given', () => {
    expect(settings({ thinking: 'low' })).toContain('model_reasoning_effort="low"');
    expect(settings({ thinking: 'max' })).toContain('model_reasoning_effort="max"');
    expect(command({}).args.join(' ')).not.toMatch(/reasoning_effort/);
  });

  test('reads no configuration and no rules, of the user or of the project', () => {
    const { args } = command({});
    for (const flag of ['--ignore-user-config', '--ignore-rules', '--skip-git-repo-check'])
      expect(args).toContain(flag);
    expect(settings()).toContain('project_doc_max_bytes=0');
    expect(settings()).toContain('features.hooks=false');
    expect(args.join(' ')).not.toMatch(/dangerously|--ephemeral|--trust/);
  });

  test('lets no server in but ours, whose secrets go by the environment and not to commands', () => {
    expect(settings().join(' ')).not.toContain('mcp_servers');
    const { args, env } = command({ mcp: SERVER });
    expect(settings({ mcp: SERVER }).filter((setting) => setting.startsWith('mcp_servers'))).toEqual([
      'mcp_servers.self-generation.command="/opt/self-generation"',
      'mcp_servers.self-generation.args=["mcp","a \\"b\\" \\\\"]',
      'mcp_servers.self-generation.env_vars=["TOKEN","SELF_GENERATION_RUN"]',
      'mcp_servers.self-generation.default_tools_approval_mode="approve"',
      'mcp_servers.self-generation.tool_timeout_sec=91',
      'mcp_servers.self-generation.required=true',
      'mcp_servers.self-generation.disabled_tools=[]',
    ]);
    expect(env.TOKEN).toBe('secret');
    expect(args.join(' ')).not.toContain('secret');
    expect(args.find((arg) => arg.startsWith('shell_environment_policy.exclude='))).toContain('"TOKEN"');
    expect(settings({ mcp: SERVER, policy: NO_TOOLS }).join(' ')).not.toContain('mcp_servers');
  });

  test('keeps the login from commands, and does not pass on what an outer client says of its own session', () => {
    const route = { ...REQUEST.route, env: { HELD: 'secret' }, passedOn: ['OF_THE_ROUTE'] };
    const excluded = settings({ route }).find((one) => one.startsWith('shell_environment_policy.exclude='));
    expect(excluded).toBe('shell_environment_policy.exclude=["OF_THE_ROUTE","HELD"]');
    expect(command({ route }).env.HELD).toBe('secret');
    const { passedOn } = command({});
    for (const name of ['CODEX_THREAD_ID', 'CODEX_SESSION_ID', 'CODEX_*', 'NODE_OPTIONS', 'TMPDIR'])
      expect(passedOn).not.toContain(name);
  });
});

describe('the policy', () => {
  test('never offers agents, goals, waiting or questions, whatever is allowed', () => {
    const always = settings(policed({ allow: ['*'] }));
    const off = [
      ...['features.multi_agent', 'features.multi_agent_v2', 'agents.enabled', 'features.goals'],
      ...['features.sleep_tool', 'tools.experimental_request_user_input.enabled'],
    ];
    expect(always).toEqual(expect.arrayContaining(off.map((name) => `${name}=false`)));
  });

  test('has a gap where commands are allowed and going on with them is not', () => {
    expect(codex.gaps(NO_POLICY)).toEqual([]);
    expect(codex.gaps({ deny: SUBAGENT_DENY, allow: null })).toEqual([]);
    expect(codex.gaps({ deny: ['process'], allow: null })).toEqual(['process']);
    expect(codex.gaps({ deny: [], allow: ['exec'] })).toEqual(['process']);
    expect(codex.gaps({ deny: ['group:runtime'], allow: null })).toEqual([]);
    expect(codex.gaps({ deny: ['*'], allow: [] })).toEqual([]);
  });
});

describe('reader()', () => {
  test('tells of tools under the names of its hooks, and of commands without the shell around them', () => {
    const { events } = read('work');
    const calls = events.flatMap((event) => (event.kind === 'tool-call' ? [[event.tool, event.input]] : []));
    expect(calls).toEqual([
      ['Bash', { command: 'cat a.txt' }],
      ['apply_patch', { changes: [{ path: '/home/dev/project/a.txt', kind: 'update' }] }],
      ['Bash', { command: 'sleep 0.2; echo to-stdout; echo "it\'s" >&2; exit 3' }],
      ['mcp__self-generation__echo_back', { text: 'ping' }],
      ['Bash', { command: 'exec 2>&1; touch /etc/not-mine' }],
    ]);
    const results = events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));
    expect(results[2]?.text.split('\n').sort()).toEqual(['', "it's", 'to-stdout']);
    expect(results[3]?.text).toBe('ECHO:ping');
  });

  test('takes off what the session had used before', () => {
    const before = { ...NO_USAGE, inputTokens: 600, outputTokens: 120, cacheReadTokens: 0 };
    const after = (name: string, used = before) =>
      readTurn(codex, recordedTurn(`codex-${name}`), used).conclusion.usage;
    expect(after('resumed')).toMatchObject({ inputTokens: 100, outputTokens: 20, cacheReadTokens: 0 });
    // A session that has begun to count anew.
    expect(after('resumed', { ...before, inputTokens: 10_000 })).toMatchObject({ inputTokens: 700 });
  });

  test('warns of errors after which the client went on', () => {
    const again = { type: 'error', message: 'Reconnecting... 1/5 (stream disconnected)' };
    const work = linesOf(recordedTurn('codex-work'));
    const { events, conclusion } = readTurn(codex, saidTurn([...work.slice(0, 2), again, ...work.slice(2)]));
    expect(events).toContainEqual({ kind: 'warning', text: again.message });
    expect(conclusion).toMatchObject({ outcome: 'success', error: null });
    expect(read('other-model').events[1]).toMatchObject({
      kind: 'warning',
      text: expect.stringContaining('some-other-model'),
    });
  });

  test('tells of thoughts, plans, searches, agents and refused calls', () => {
    const item = (more: object, type = 'item.completed') => ({ type, item: { id: 'item_9', ...more } });
    const { events } = readTurn(
      codex,
      saidTurn([
        item({ type: 'reasoning', text: 'hm' }),
        item({ type: 'agent_message', text: 'half of it' }, 'item.updated'),
        item({ type: 'todo_list', items: [{ text: 'one', completed: false }] }, 'item.started'),
        item({ type: 'todo_list', items: [{ text: 'one', completed: true }] }, 'item.updated'),
        item({ type: 'todo_list', items: [{ text: 'one', completed: true }] }),
        item({ type: 'web_search', query: 'weather' }),
        item({ type: 'collab_tool_call', tool: 'spawn_agent', prompt: 'x', status: 'completed' }),
        item({ type: 'mcp_tool_call', server: 's', tool: 't', error: { message: 'no' }, status: 'failed' }),
        item({ type: 'command_execution', command: "/bin/zsh -lc 'it'\\''s'", status: 'declined' }),
        item({ type: 'hologram' }),
      ]),
    );
    const told = events.map((event) =>
      event.kind === 'tool-call' || event.kind === 'tool-result' ? [event.kind, event.tool] : [event.kind],
    );
    const both = (tool: string) => [
      ['tool-call', tool],
      ['tool-result', tool],
    ];
    const calls = ['update_plan', 'web_search', 'spawn_agent', 'mcp__s__t', 'Bash'].flatMap(both);
    expect(told).toEqual([['reasoning'], ...calls]);
    expect(events.at(-1)).toMatchObject({ isError: true });
    expect(events.at(-2)).toMatchObject({ input: { command: "it's" } });
    expect(events.at(-3)).toMatchObject({ isError: true, text: 'no' });
  });
});
