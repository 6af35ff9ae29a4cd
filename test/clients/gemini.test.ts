import { describe, expect, test } from 'bun:test';
import type { TurnRequest } from '../../src/clients/client.ts';
import { gemini } from '../../src/clients/gemini/client.ts';
import { LOGIN_KIND } from '../../src/clients/gemini/configuration.ts';
import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import { NO_TOOLS } from '../../src/runs/model/tool-policy.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { commandOf, policed, SERVER, STARTED } from './adapter.ts';
import { linesOf, readTurn, recordedTurn, saidTurn } from './runs-recorded.ts';

const command = (changes: Partial<TurnRequest>) => commandOf('gemini', changes);
const settings = (changes: Partial<TurnRequest> = {}) =>
  JSON.parse(command(changes).files['.gemini/settings.json'] ?? '');

type Rule = { readonly toolName?: string; readonly mcpName?: string; readonly decision?: string };

/** The rules as the client reads them, the strongest first. */
function rules(changes: Partial<TurnRequest>): Rule[] {
  const parsed = Bun.TOML.parse(command(changes).files['.gemini/policies/run.toml'] ?? '');
  const { rule } = parsed as { rule: (Rule & { priority: number })[] };
  return rule.toSorted((left, right) => right.priority - left.priority);
}

describe('the permissions', () => {
  const denied = (deny: readonly string[]) =>
    rules({ permissions: { ...ASKS_NEVER, deny } }).flatMap(({ decision, ...rule }) =>
      decision === 'deny' ? [rule] : [],
    );

  test('keep back what the client’s own settings exclude, also of what reads', () => {
    const names = denied(['read_file', 'glob']).map(({ toolName }) => toolName);
    expect(names).toEqual(expect.arrayContaining(['read_file', 'glob']));
    expect(names).not.toContain('grep_search');
  });
  test('deny a command by its beginning, and wherever it stands behind something else', () => {
    const found = denied(['run_shell_command(git push:*)']) as {
      commandPrefix?: string;
      argsPattern?: string;
    }[];
    expect(found.some(({ commandPrefix }) => commandPrefix === 'git push')).toBeTrue();
    const patterns = found.flatMap(({ argsPattern }) => (argsPattern?.includes('push') ? [argsPattern] : []));
    const isDenied = (command: string) =>
      patterns.some((pattern) => new RegExp(pattern).test(JSON.stringify({ command })));
    const pushes = ['X=1 git push', 'sudo git push origin', '/usr/bin/git push', 'a="b c" git push -f'];
    for (const command of pushes) expect(isDenied(command), command).toBeTrue();
    for (const command of ['git pull', 'legit pushy', 'git pusher'])
      expect(isDenied(command), command).toBeFalse();
  });
});

const read = (name: string) => readTurn(gemini, recordedTurn(`gemini-${name}`));

describe('command()', () => {
  test('has a home of its own, of which the sessions stay', () => {
    const { env, keeps } = command({});
    expect(env.GEMINI_CLI_HOME).toBe('/home/dev/turn');
    expect(keeps).toEqual(['.gemini/tmp']);
    expect(command({ agentDir: '/home/dev/agent' }).env.GEMINI_CLI_HOME).toBe('/home/dev/turn');
  });

  test('switches hooks, agents, skills and discovered tools off, and leaves the project out', () => {
    const { hooksConfig, experimental, skills, tools, security, advanced } = settings();
    expect(hooksConfig.enabled).toBe(false);
    expect(experimental.enableAgents).toBe(false);
    expect(skills.enabled).toBe(false);
    expect(tools).toMatchObject({ allowed: [], discoveryCommand: '', callCommand: '', sandbox: false });
    expect(security.folderTrust.enabled).toBe(false);
    expect(advanced.ignoreLocalEnv).toBe(true);
    expect(command({}).env.GEMINI_CLI_TRUST_WORKSPACE).toBe('false');
    expect(command({}).args).not.toContain('--skip-trust');
  });

  test('never asks, and allows nothing but by its rules', () => {
    const { args } = command({});
    expect(args[args.indexOf('--approval-mode') + 1]).toBe('default');
    expect(args[args.indexOf('--extensions') + 1]).toBe('none');
    expect(args).not.toContain('--prompt');
  });

  test('is one process, which heeds signals', () => {
    expect(command({}).env.GEMINI_CLI_NO_RELAUNCH).toBe('true');
  });

  test('lets no server in but ours, for which the project has to be trusted', () => {
    const allowed = (changes: Partial<TurnRequest>) => {
      const { args } = command(changes);
      return args[args.indexOf('--allowed-mcp-server-names') + 1];
    };
    expect(allowed({})).toBe('none');
    expect(settings()).toMatchObject({ mcpServers: {}, mcp: { allowed: [], serverCommand: '' } });
    expect(allowed({ mcp: SERVER })).toBe('self-generation');
    expect(command({ mcp: SERVER }).args).toContain('--skip-trust');
    expect(settings({ mcp: SERVER }).mcpServers).toEqual({
      'self-generation': { ...STARTED, timeout: 90_500, trust: true },
    });
    expect(JSON.stringify(command({ mcp: SERVER }).args)).not.toContain('secret');
    expect(settings({ mcp: SERVER, policy: NO_TOOLS }).mcpServers).toEqual({});
  });

  test('sets the effort for both generations of models, and none that was not asked for', () => {
    const thinking = (changes: Partial<TurnRequest>) =>
      settings(changes).modelConfigs?.customOverrides.map(
        (override: { modelConfig: object }) => override.modelConfig,
      );
    const configs = (budget: number, level: string) => [
      { generateContentConfig: { thinkingConfig: { thinkingBudget: budget } } },
      { generateContentConfig: { thinkingConfig: { thinkingLevel: level } } },
    ];
    expect(thinking({ thinking: 'low' })).toEqual(configs(1024, 'LOW'));
    expect(thinking({ thinking: 'medium' })).toEqual(configs(8192, 'MEDIUM'));
    expect(thinking({ thinking: 'high' })).toEqual(configs(24_576, 'HIGH'));
    expect(thinking({})).toBeUndefined();
  });

  test('keeps the login from commands, and does not pass on what moves the prompt to arguments', () => {
    expect(settings().security.environmentVariableRedaction.enabled).toBe(true);
    const { passedOn } = command({});
    for (const name of ['GEMINI_*', 'GEMINI_SANDBOX', 'GEMINI_SYSTEM_MD', 'GEMINI_CLI_HOME', 'NODE_OPTIONS'])
      expect(passedOn).not.toContain(name);
    expect(settings().security.auth.selectedType).toBe(`\${${LOGIN_KIND}:-}`);
  });
});

describe('the policy', () => {
  test('denies commands in the background before it allows commands, whatever is allowed', () => {
    const [first] = rules(policed({ allow: ['*'] }));
    expect(first).toMatchObject({ toolName: 'run_shell_command', decision: 'deny' });
    const pattern = new RegExp((first as { argsPattern: string }).argsPattern);
    expect(pattern.test('{"command":"x","is_background":true}')).toBe(true);
    expect(pattern.test('{"command":"x","is_background":false}')).toBe(false);
  });

  test('allows the tools of our server where there is one', () => {
    const servers = (changes: Partial<TurnRequest>) => rules(changes).filter((rule) => 'mcpName' in rule);
    expect(servers({ mcp: SERVER })).toMatchObject([{ mcpName: 'self-generation', decision: 'allow' }]);
    expect(servers({})).toEqual([]);
  });
});

describe('reader()', () => {
  test('tells of what commands printed and why one was refused, and of the words of the end', () => {
    const texts = read('work').events.flatMap((event) => (event.kind === 'tool-result' ? [event.text] : []));
    expect(texts[2]?.split('\n').sort()).toEqual(["it's", 'to-stdout']);
    expect(texts[4]).toContain('Nothing can run in the background here.');
  });

  test('joins the pieces of a message, and begins another after anything else', () => {
    const piece = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true });
    const call = { type: 'tool_use', tool_id: 't', tool_name: 'glob', parameters: {} };
    const textOf = (...lines: object[]) => readTurn(gemini, saidTurn(lines)).conclusion.text;
    expect(textOf(piece('a'), piece('b'))).toBe('ab');
    expect(textOf(piece('a'), call, piece('b'), piece('c'))).toBe('bc');
    expect(textOf(piece('a'), { ...piece('whole'), delta: false }, piece('b'))).toBe('b');
  });

  test('does not tell of the prompt, which is known, but of what else is said to the model', () => {
    const user = (content: string) => ({ type: 'message', role: 'user', content });
    expect(recordedTurn('gemini-work').stdout).toContain('Do what is to be done.');
    const { events } = readTurn(gemini, saidTurn([user('/self-generation-message\nx'), user('Go on.')]));
    expect(events).toEqual([{ kind: 'user', text: 'Go on.' }]);
  });

  test('counts thoughts as output, all models together, and the turn alone', () => {
    const model = (input: number, output: number) => ({ input_tokens: input, output_tokens: output });
    const stats = {
      ...{ total_tokens: 350, input_tokens: 300, output_tokens: 45, cached: 50 },
      models: { router: model(200, 5), main: model(100, 40) },
    };
    const before = { ...NO_USAGE, inputTokens: 1000, outputTokens: 1000 };
    const turn = saidTurn([{ type: 'result', status: 'success', stats }]);
    const used = { ...NO_USAGE, inputTokens: 300, outputTokens: 50, cacheReadTokens: 50, model: 'main' };
    expect(readTurn(gemini, turn, before).conclusion.usage).toEqual(used);
    expect(read('routed').conclusion.usage).toMatchObject({ inputTokens: 200, outputTokens: 40 });
  });

  test('leaves the usage open after an error that says 0', () => {
    expect(read('model-unknown').conclusion.usage).toEqual(NO_USAGE);
  });

  test('leaves the model open that a router will choose', () => {
    const modelOf = (name: string) => read(name).events.find(({ kind }) => kind === 'session');
    expect(modelOf('routed')).toMatchObject({ model: null });
    expect(modelOf('work')).toMatchObject({ model: 'gemini-2.5-flash' });
  });

  test('takes nothing that the client notes at its start for what went wrong', () => {
    const { stderr } = recordedTurn('gemini-work');
    expect(stderr).toContain('Ripgrep is not available');
    const turn = { ...recordedTurn('gemini-killed'), stderr };
    expect(readTurn(gemini, turn).conclusion.error).toBe('ended by SIGKILL, without a result');
    expect(linesOf(turn).length).toBeGreaterThan(0);
  });
});
