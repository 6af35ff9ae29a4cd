import { describe, expect, test } from 'bun:test';
import { claude } from '../../src/clients/claude/client.ts';
import type { TurnRequest } from '../../src/clients/client.ts';
import { ASKS_FIRST, type Permissions } from '../../src/runs/model/permissions.ts';
import { NO_POLICY, NO_TOOLS, type ToolPolicy } from '../../src/runs/model/tool-policy.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { commandOf, REQUEST, SERVER, SESSION, STARTED } from './adapter.ts';
import { cutTurn, linesOf, type RecordedTurn, readTurn, recordedTurn, saidTurn } from './runs-recorded.ts';

const NO_RULES = { allow: [], ask: [], deny: [] };

const command = (changes: Partial<TurnRequest>) => commandOf('claude', changes);
const settingsOf = (changes: Partial<TurnRequest>) =>
  JSON.parse(command(changes).files['settings.json'] ?? '');

/** The value after a flag. */
function flagValue(flag: string, changes: Partial<TurnRequest> = {}): string | undefined {
  const { args } = command(changes);
  return args[args.indexOf(flag) + 1];
}

const offered = (policy: Partial<ToolPolicy>) =>
  flagValue('--tools', { policy: { ...NO_POLICY, ...policy } });
const read = (name: string) => readTurn(claude, recordedTurn(name));

describe('command()', () => {
  test('passes on model, budget and effort where they are given', () => {
    const args = command({ model: 'opus', budgetUsd: 0.5, thinking: 'xhigh' }).args;
    expect(args).toContain('--model=opus');
    expect(args).toContain('--max-budget-usd=0.5');
    expect(flagValue('--effort', { thinking: 'minimal' })).toBe('low');
    expect(flagValue('--effort', { thinking: 'max' })).toBe('max');
    expect(command({}).args.join(' ')).not.toMatch(/--(?:model|max-budget-usd|effort)/);
  });

  test('switches thinking off by variables', () => {
    const { args, env } = command({ thinking: 'off' });
    expect(args).not.toContain('--effort');
    expect(env).toMatchObject({ CLAUDE_CODE_DISABLE_THINKING: '1', MAX_THINKING_TOKENS: '0' });
    expect(command({}).env.CLAUDE_CODE_DISABLE_THINKING).toBeUndefined();
  });

  const rows: [string, Partial<Permissions>, string, object][] = [
    ['may look where it would be asked', {}, 'dontAsk', NO_RULES],
    ['edits files where the requester does', { mode: 'edit' }, 'acceptEdits', NO_RULES],
    // The mode would let through `rm` and the like too.
    ['edits files by a grant', { allow: ['edit'] }, 'dontAsk', { ...NO_RULES, allow: ['Edit(./**)'] }],
    ['leaves the judgement to the client', { mode: 'auto' }, 'auto', NO_RULES],
    [
      'has rules in the names of the client',
      { allow: ['exec(npm test:*)', 'Read(~/notes/**)', 'web_fetch', 'mcp__x__y'] },
      'dontAsk',
      {
        ...NO_RULES,
        allow: [
          ...['Bash(npm test:*)', 'Read(~/notes/**)', 'Glob(~/notes/**)', 'Grep(~/notes/**)'],
          ...['WebFetch', 'mcp__x__y'],
        ],
      },
    ],
    [
      'changes nothing in plan mode, whatever the user’s own rules are',
      { mode: 'plan' },
      'dontAsk',
      { ...NO_RULES, ask: ['Edit', 'Write', 'NotebookEdit'] },
    ],
    [
      'keeps to what is forbidden, and offers what is forbidden as a whole',
      { mode: 'edit', deny: ['Read(./.env)', 'WebFetch'] },
      'acceptEdits',
      { ...NO_RULES, ask: ['WebFetch'], deny: ['Read(./.env)', 'Glob(./.env)', 'Grep(./.env)'] },
    ],
  ];
  for (const [title, permissions, mode, rules] of rows) {
    test(title, () => {
      const asked = { permissions: { ...ASKS_FIRST, ...permissions } };
      expect(flagValue('--permission-mode', asked)).toBe(mode);
      expect(settingsOf(asked).permissions).toEqual(rules);
      expect(command(asked).args.join(' ')).not.toMatch(/dangerously|bypass|npm test/);
    });
  }

  test('switches hooks off and leaves the project out', () => {
    expect(flagValue('--settings')).toBe(`${REQUEST.directory}/settings.json`);
    expect(settingsOf({})).toMatchObject({ disableAllHooks: true, outputStyle: 'default' });
    expect(flagValue('--setting-sources')).toBe('user');
    expect(command({}).env).toMatchObject({
      SELF_GENERATION_INTERNAL: '1',
      CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
    });
  });

  test('lets no server in but ours, and runs in safe mode where there is none', () => {
    const servers = (changes: Partial<TurnRequest>) =>
      JSON.parse(command(changes).files['mcp.json'] ?? '{"mcpServers":{}}').mcpServers;
    expect(command({}).args).toContain('--strict-mcp-config');
    expect(command({}).args).not.toContain('--mcp-config');
    expect(flagValue('--mcp-config', { mcp: SERVER })).toBe('/home/dev/turn/mcp.json');
    expect(servers({})).toEqual({});
    expect(servers({ mcp: SERVER })).toEqual({ 'self-generation': { type: 'stdio', ...STARTED } });
    expect(command({ mcp: SERVER }).env.MCP_TOOL_TIMEOUT).toBe('90500');
    expect(servers({ mcp: SERVER, policy: NO_TOOLS })).toEqual({});
    expect(command({}).env.CLAUDE_CODE_SAFE_MODE).toBe('1');
    expect(command({ mcp: SERVER }).env.CLAUDE_CODE_SAFE_MODE).toBeUndefined();
    expect(JSON.stringify(command({ mcp: SERVER }).args)).not.toContain('secret');
  });

  test('does not pass on what an outer client says of its own session', () => {
    const { passedOn } = command({});
    expect(passedOn.filter((name) => /^CLAUDE.*\*$/.test(name))).toEqual([]);
    expect(passedOn).not.toContain('CLAUDE_CODE_SESSION_ID');
  });
});

describe('the policy', () => {
  const ALL = 'Bash,Edit,Glob,Grep,NotebookEdit,Read,TodoWrite,WebFetch,WebSearch,Write';

  test('never offers agents, commands in the background or alarms, whatever is allowed', () => {
    const policy = { allow: ['*'] };
    expect(offered(policy)).toBe(ALL);
    const denied = flagValue('--disallowedTools', { policy: { ...NO_POLICY, ...policy } })?.split(',');
    const never = 'Task Agent Bash(run_in_background:true) Monitor CronCreate ScheduleWakeup'.split(' ');
    expect(denied).toEqual(expect.arrayContaining(never));
    expect(command({}).env).toMatchObject({
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      CLAUDE_CODE_DISABLE_CRON: '1',
    });
  });
});

describe('reader()', () => {
  test('tells of what a failing command printed', () => {
    const texts = read('claude-work').events.flatMap((event) =>
      event.kind === 'tool-result' ? [event.text] : [],
    );
    expect(texts[2]).toBe('Exit code 3\nto-stdout\nto-stderr');
  });

  test('counts a message once, however many lines it has', () => {
    const usages = read('claude-work').events.flatMap((event) =>
      event.kind === 'usage' ? [event.usage.inputTokens] : [],
    );
    expect(usages).toEqual([100, 100, 200, 200, 200, 300, 400, 500, 500]);
  });

  test('counts what the turn took, not what the session has taken', () => {
    const before = { ...NO_USAGE, costUsd: 0.0001 };
    for (const name of ['claude-resumed', 'claude-announce']) {
      const turn = recordedTurn(name);
      const { usage } = readTurn(claude, turn, before).conclusion;
      expect(usage).toMatchObject({ inputTokens: 100, costUsd: 0.00002 });
      expect(linesOf(turn).at(-1)?.total_cost_usd).toBeGreaterThan(0.0001);
    }
  });

  test('takes the part that came on top where the client tells only totals', () => {
    const older = linesOf(recordedTurn('claude-resumed')).map(
      ({ model_usage_since_last_result: _, ...line }) => line,
    );
    const turn = saidTurn(older, { session: recordedTurn('claude-resumed').session });
    const { usage } = readTurn(claude, turn, { ...NO_USAGE, costUsd: 0.0001 }).conclusion;
    const model = 'claude-haiku-5-5';
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 20, costSource: 'client', model });
    expect(usage.costUsd).toBeCloseTo(0.00002, 8);
  });

  test('adds the models that were asked on the side, and names the one that wrote most', () => {
    const count = (inputTokens: number, outputTokens: number, costUSD: number) => ({
      ...{ inputTokens, outputTokens, costUSD, cacheReadInputTokens: 1000, cacheCreationInputTokens: 200 },
    });
    const lines = linesOf(recordedTurn('claude-resumed')).map((line) =>
      line.type === 'result'
        ? { ...line, model_usage_since_last_result: { small: count(1, 2, 0.01), large: count(30, 40, 0.5) } }
        : line,
    );
    const { usage } = readTurn(claude, saidTurn(lines)).conclusion;
    expect(usage).toEqual({
      ...{ inputTokens: 2431, outputTokens: 42, cacheReadTokens: 2000, cacheWriteTokens: 400 },
      ...{ costUsd: 0.51, costSource: 'client', model: 'large' },
    });
  });

  test('adds up the results of a turn that went on after one', () => {
    const lines = linesOf(recordedTurn('claude-resumed'));
    const more = lines.slice(1).map((line) => ({ ...line, uuid: `again-${line.uuid}` }));
    const { conclusion } = readTurn(claude, saidTurn([...lines, ...more]));
    expect(conclusion.usage).toMatchObject({ inputTokens: 200, outputTokens: 40, costUsd: 0.00004 });
  });

  test('counts what was spent on a budget that is used up', () => {
    const { usage } = read('claude-over-budget').conclusion;
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 20, costUsd: 0.00002 });
  });

  test('tells of a call that was not permitted, and warns of a service asked again, and of another model', () => {
    const warnings = (turn: RecordedTurn) =>
      readTurn(claude, turn).events.flatMap((event) => (event.kind === 'warning' ? [event.text] : []));
    const refused = (turn: RecordedTurn) =>
      readTurn(claude, turn).events.filter((event) => event.kind === 'refused');
    expect(warnings(recordedTurn('claude-retried'))).toEqual([expect.stringContaining('asked again')]);
    const system = { type: 'system', session_id: SESSION };
    const said = saidTurn([
      { ...system, subtype: 'permission_denied', tool_name: 'Write', tool_use_id: 'toolu_1' },
      { ...system, subtype: 'model_fallback', original_model: 'a', fallback_model: 'b' },
    ]);
    expect(refused(said)).toEqual([{ kind: 'refused', id: 'toolu_1' }]);
    expect(warnings(said)).toEqual(['the model a was replaced by b']);
  });

  const RESULT = linesOf(recordedTurn('claude-resumed')).at(-1) ?? {};
  const spoilt: [string, object][] = [
    ['is marked as an error', { is_error: true }],
    ['does not say whether it is one', { is_error: 'no' }],
    ['has another subtype', { subtype: 'error_x' }],
    ['came about without the model', { num_turns: 0 }],
    ['was cut off by the model', { stop_reason: 'max_tokens' }],
    ['is a refusal', { stop_reason: 'refusal' }],
    ['is blank', { result: ' \n' }],
  ];
  for (const [title, change] of spoilt) {
    test(`is no success when the result ${title}`, () => {
      const { session } = recordedTurn('claude-resumed');
      const conclude = (line: object) => readTurn(claude, saidTurn([line], { session })).conclusion;
      expect(conclude(RESULT).outcome).toBe('success');
      const conclusion = conclude({ ...RESULT, ...change });
      expect(conclusion.outcome).toBe('error');
      expect(conclusion.error).toBeTruthy();
    });
  }

  test('takes nothing that an agent of the client says for the words of the turn', () => {
    const lines = linesOf(recordedTurn('claude-killed')).map((line) =>
      line.type === 'assistant' ? { ...line, parent_tool_use_id: 'toolu_1' } : line,
    );
    const { events, conclusion } = readTurn(claude, saidTurn(lines));
    expect(conclusion.text).toBeNull();
    expect(events.some(({ kind }) => kind === 'text')).toBe(false);
  });

  test('says nothing of lines and blocks of types that it does not know, and tells thoughts apart', () => {
    const message = { id: 'm', content: [{ type: 'hologram' }, { type: 'thinking', thinking: 'hm' }] };
    const { events } = readTurn(
      claude,
      saidTurn([{ type: 'news' }, { type: 'assistant', message }, { type: 'system', subtype: 'new' }]),
    );
    expect(events.map(({ kind }) => kind)).toEqual(['reasoning', 'usage']);
  });

  test('never forgets the text, wherever the turn is cut off', () => {
    const work = recordedTurn('claude-work');
    for (let kept = 0; kept < linesOf(work).length; kept++)
      expect(readTurn(claude, cutTurn(work, kept)).conclusion.text === null).toBe(kept < 3);
  });

  test('keeps the last plain words of a client that fails without any other, without secrets', () => {
    const said = (lines: readonly string[], stderr = '') => {
      const reader = claude.reader({ session: { kind: 'new', id: SESSION }, before: NO_USAGE });
      for (const line of lines) reader.read(line);
      return reader.conclude({ code: 7, signal: null }, stderr).error;
    };
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const lines = ['one', 'two', '', `Cannot log in with ${token}`, 'Segmentation fault'];
    const error = 'ended with exit code 7, without a result; its last output: two / Cannot log in with ';
    expect(said(lines)).toStartWith(error);
    expect(said(lines)).toEndWith(' / Segmentation fault');
    expect(said(lines)).not.toContain(token);
    expect(said(lines, 'what it complained of')).toBe('what it complained of');
    expect(said([])).toBe('ended with exit code 7, without a result');
  });

  test('keeps of a text of megabytes no more than its beginning', () => {
    const text = '긴 답 👍 '.repeat(100_000);
    const content = [{ type: 'text', text }];
    const message = (id: string) => ({ type: 'assistant', message: { id, content } });
    const reader = claude.reader({ session: { kind: 'new', id: SESSION }, before: NO_USAGE });
    for (let index = 0; index < 20; index++)
      reader.read(JSON.stringify(message(index < 10 ? 'one' : `m${index}`)));
    expect(reader.conclude(null, '').text?.length).toBe(64 * 1024);
  });
});
