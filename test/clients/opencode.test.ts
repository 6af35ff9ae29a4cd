import { describe, expect, test } from 'bun:test';
import type { TurnRequest } from '../../src/clients/client.ts';
import { opencode } from '../../src/clients/opencode/client.ts';
import { ASKS_FIRST, type Permissions } from '../../src/runs/model/permissions.ts';
import { NO_TOOLS } from '../../src/runs/model/tool-policy.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { commandOf, SERVER } from './adapter.ts';
import { type RecordedTurn, readTurn, recordedTurn, saidTurn } from './runs-recorded.ts';

const SESSION = 'ses_e0789dbffffeYbQ5z1klM1XTR9';

const command = (changes: Partial<TurnRequest>) => commandOf('opencode', changes);
const configuration = (changes: Partial<TurnRequest>) =>
  JSON.parse(command(changes).env.OPENCODE_CONFIG_CONTENT ?? '');
const permissions = (changes: Partial<TurnRequest>): Record<string, string> =>
  configuration(changes).agent['self-generation-sub-agent'].permission;

const read = (name: string) => readTurn(opencode, recordedTurn(`opencode-${name}`));

describe('command()', () => {
  test('passes on model and variant where they are given', () => {
    expect(command({ model: 'scripted/some-model' }).args).toContain('--model=scripted/some-model');
    expect(command({ thinking: 'high' }).args).toContain('--variant=high');
    expect(command({ thinking: 'off' }).args).toContain('--variant=none');
    expect(command({}).args.join(' ')).not.toMatch(/--(?:model|variant)/);
  });

  test('reads no configuration, instructions or plugins of the user and of the project', () => {
    const { args, env, passedOn } = command({});
    expect(args).toContain('--pure');
    expect(env).toMatchObject({
      XDG_CONFIG_HOME: '/home/dev/turn/opencode-home',
      OPENCODE_TEST_HOME: '/home/dev/turn',
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
      SELF_GENERATION_INTERNAL: '1',
    });
    expect(passedOn).not.toContain('OPENCODE_PERMISSION');
    expect(passedOn).not.toContain('OPENCODE_CONFIG_CONTENT');
    const off = { share: 'disabled', snapshot: false, lsp: false, instructions: [] };
    expect(configuration({})).toMatchObject(off);
  });

  test("gives the child's commands the user's configuration of Git and of other programs back", () => {
    const { files, env } = command({});
    expect(files['opencode-home/git/config']).toContain('path = ~/.config/git/config');
    expect(env.BASH_ENV).toBe('/home/dev/turn/shell-env.sh');
    expect(files['shell-env.sh']).toBe('unset BASH_ENV XDG_CONFIG_HOME OPENCODE_CONFIG_CONTENT\n');
  });

  test('names our server in a file, and no other', () => {
    const servers = (changes: Partial<TurnRequest>) =>
      JSON.parse(commandOf('opencode', changes).files['opencode-home/opencode/opencode.json'] ?? '').mcp;
    const command = [SERVER.command, ...SERVER.args];
    const local = { type: 'local', command, environment: SERVER.env, enabled: true, timeout: 90_500 };
    expect(servers({})).toEqual({});
    expect(servers({ mcp: SERVER })).toEqual({ 'self-generation': local });
    expect(servers({ mcp: SERVER, policy: NO_TOOLS })).toEqual({});
    expect(JSON.stringify(commandOf('opencode', { mcp: SERVER }).env)).not.toContain('secret');
  });

  test('has a database of its own, which the next turn of the run finds again', () => {
    const { keeps, env } = command({});
    expect(keeps).toEqual(['opencode-sessions']);
    expect(env.OPENCODE_DB).toBe('/home/dev/turn/opencode-sessions/opencode.db');
  });
});

describe('the permissions', () => {
  const bash = (changes: Partial<Permissions>) =>
    permissions({ permissions: { ...ASKS_FIRST, ...changes } }).bash as unknown;

  test('allow a command by its rule, and no file that it writes into', () => {
    expect(bash({ allow: ['exec(npm test:*)'] })).toEqual({
      ...{ '?*': 'deny', 'npm test': 'allow', 'npm test *': 'allow', '*>*': 'deny' },
    });
  });
  test('allow nothing by a rule that means more here than elsewhere', () => {
    expect(bash({ allow: ['Bash(cat a?)', 'Bash(npm run *:*)'] })).toEqual({ '?*': 'deny', '*>*': 'deny' });
  });
  test('deny a command also behind a variable, another program, and by its path', () => {
    expect(Object.keys(bash({ mode: 'all', deny: ['Bash(rm:*)'] }) as object)).toEqual([
      ...['?*', 'rm', '* rm', '*/rm', 'rm *', '* rm *', '*/rm *'],
    ]);
  });
  test('keep from being read what the client’s own rules keep', () => {
    const { read, grep } = permissions({ permissions: { ...ASKS_FIRST, deny: ['read(*.env)', 'grep'] } });
    expect([read, grep] as unknown[]).toEqual([
      { '*': 'allow', '*.env': 'deny' },
      { '*': 'allow', '?*': 'deny' },
    ]);
  });
});

describe('the policy', () => {
  test('never allows agents, skills or questions, whatever is allowed', () => {
    const rules = permissions({ policy: { deny: [], allow: ['*'] } });
    for (const name of ['task', 'skill', 'question', 'doom_loop', 'plan_exit'])
      expect(rules[name]).toBe('deny');
    expect(rules['*']).toBe('deny');
    expect(configuration({}).permission).toEqual({ '*': 'deny' });
  });
});

describe('reader()', () => {
  test('tells of what a failing command printed', () => {
    const results = read('work').events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));
    expect(results.find(({ tool }) => tool === 'bash')?.text).toContain('to-stderr');
  });

  test('shows that agents are not to be had', () => {
    const { events } = read('work');
    const isRefusal = (text: string) => text.includes('unavailable tool');
    const call = events.find((event) => event.kind === 'tool-result' && isRefusal(event.text));
    expect(call).toMatchObject({ isError: true });
    expect(JSON.stringify(call)).not.toContain('task,');
  });

  const part = (changes: object) => ({ id: 'prt_1', messageID: 'msg_1', ...changes });
  const finish = (reason: string, changes: object = {}) => ({
    type: 'step_finish',
    sessionID: SESSION,
    part: part({
      reason,
      tokens: { input: 10, output: 2, reasoning: 3, cache: { read: 400, write: 5000 } },
      cost: 0.25,
      ...changes,
    }),
  });
  const text = (words: string, messageID = 'msg_1') => ({
    type: 'text',
    sessionID: SESSION,
    part: part({ messageID, text: words }),
  });
  const conclude = (lines: readonly object[], rest: Partial<RecordedTurn> = {}) =>
    readTurn(opencode, saidTurn(lines, rest)).conclusion;

  test('counts what came from a cache as input, what was thought as output, and the cost of all steps', () => {
    const lines = [finish('tool-calls', { id: 'prt_0' }), text('done'), finish('stop')];
    expect(conclude(lines)).toMatchObject({
      outcome: 'success',
      usage: {
        ...{ inputTokens: 10_820, outputTokens: 10, cacheReadTokens: 800, cacheWriteTokens: 10_000 },
        ...{ costUsd: 0.5, costSource: 'client' },
      },
    });
  });

  test('names the model by the log, the last that was asked other than for a title', () => {
    const asked = (model: string, isSmall: boolean) =>
      `timestamp=x level=INFO run=1 message=stream providerID=p modelID=${model} session.id=s small=${isSmall} agent=a\n`;
    const model = (stderr: string, lines: readonly object[] = [text('done'), finish('stop')]) =>
      conclude(lines, { stderr }).usage.model;
    expect(model(asked('a', false) + asked('b', false) + asked('c', true))).toBe('p/b');
    expect(model('level=INFO message=stream providerID=p')).toBeNull();
    expect(model(asked('a', false), [])).toBeNull();
  });

  test('names the model that was asked for as long as it does not know better', () => {
    const { session, stdout, stderr } = recordedTurn('opencode-work');
    const reader = opencode.reader({ session, before: NO_USAGE, model: 'p/asked' });
    const events = stdout.split('\n').flatMap((line) => [...reader.read(line)]);
    const usages = events.flatMap((event) => (event.kind === 'usage' ? [event.usage.model] : []));
    expect(usages).toEqual(usages.map(() => 'p/asked'));
    expect(reader.conclude(null, '').usage.model).toBe('p/asked');
    expect(reader.conclude(null, stderr).usage.model).toBe('scripted/some-model');
  });

  test('leaves the cost open of a model whose price the client does not know', () => {
    const { usage } = conclude([text('done'), finish('stop', { cost: 0 })]);
    expect(usage).toMatchObject({ costUsd: null, costSource: null });
  });

  test('joins the pieces of the last message, and of no other', () => {
    const lines = [text('first', 'msg_0'), text('sec'), text('ond'), finish('stop')];
    expect(conclude(lines)).toMatchObject({ outcome: 'success', text: 'second' });
    expect(conclude([text('first', 'msg_0'), finish('stop')]).error).toBe('the answer is empty');
  });

  const spoilt: [string, object[]][] = [
    ['one more step began', [{ type: 'step_start', sessionID: SESSION, part: {} }]],
    ['an error followed', [{ type: 'error', sessionID: SESSION, error: { name: 'X', data: {} } }]],
    ['the model was cut off', [finish('length', { id: 'prt_2' })]],
  ];
  for (const [title, more] of spoilt) {
    test(`is no success when ${title}`, () => {
      const good = [text('done'), finish('stop')];
      expect(conclude(good).outcome).toBe('success');
      const conclusion = conclude([...good, ...more]);
      expect(conclusion).toMatchObject({ outcome: 'error', text: 'done' });
      expect(conclusion.error).toBeTruthy();
    });
  }

  test('tells the error of a client that did not come to say anything, and nothing of its log', () => {
    const log = 'timestamp=2026-11-22T02:19:03.157Z level=ERROR run=1 message="Failed to fetch models.dev"\n';
    const error =
      '\u001b[91m\u001b[1mError: \u001b[0mUnexpected error\n\nFailed query: \n  CREATE TABLE x\n\nparams: \n';
    const exit = { code: 1, signal: null };
    expect(conclude([], { stderr: log + error, exit }).error).toBe(
      'Error: Unexpected error Failed query: CREATE TABLE x params:',
    );
    expect(conclude([], { stderr: log, exit }).error).toBe('ended with exit code 1, without a result');
  });

  test('stays with an error, whatever is said after it', () => {
    const error = { type: 'error', sessionID: SESSION, error: { name: 'X', data: { message: 'it broke' } } };
    const lines = [error, { type: 'step_start', sessionID: SESSION }, text('done'), finish('stop')];
    expect(conclude(lines)).toMatchObject({ outcome: 'error', error: 'it broke', text: 'done' });
  });

  test('says nothing of lines of types that it does not know, and tells thoughts apart', () => {
    const lines = [
      { type: 'news', sessionID: SESSION },
      { type: 'reasoning', sessionID: SESSION, part: part({ text: 'hm' }) },
    ];
    expect(readTurn(opencode, saidTurn(lines)).events.slice(1)).toEqual([{ kind: 'reasoning', text: 'hm' }]);
  });
});
