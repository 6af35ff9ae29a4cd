import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type OneShotAnswer, oneShotCommand, readAnswer } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import { isNamed } from '../../src/clients/route.ts';
import { oneLine } from '../../src/core/text.ts';
import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import { NO_POLICY } from '../../src/runs/model/tool-policy.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { NO_ROUTE } from './route-of.ts';
import { recordedTurn } from './runs-recorded.ts';

const REQUEST = {
  ...{ prompt: 'the-prompt of @types/node', model: null as string | null, route: NO_ROUTE },
  ...{ budgetUsd: null, directory: '/home/dev/private' },
};
const PASSED_ON = [
  ...['PATH', 'HOME', 'LANG', 'LC_ALL', 'HTTPS_PROXY', 'no_proxy', 'SSL_CERT_FILE', 'XDG_DATA_HOME'],
  'OF_THE_ROUTE',
];
/** What another client, another tool or another analysis has set for itself, and keys of nobody's. */
const NOT_PASSED_ON = [
  ...['CLAUDECODE', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_MESSAGING_SOCKET'],
  ...['CODEX_EXEC_SERVER_URL', 'CODEX_THREAD_ID', 'CODEX_SANDBOX', 'GEMINI_SANDBOX', 'GEMINI_SYSTEM_MD'],
  ...['OPENCODE_PERMISSION', 'OPENCODE_CONFIG', 'OPENCODE_CONFIG_CONTENT', 'OPENCODE_SERVER_PASSWORD'],
  ...['NODE_OPTIONS', 'BUN_OPTIONS', 'LD_PRELOAD', 'TMPDIR', 'SELF_GENERATION_HOME', 'MY_SECRET'],
  ...['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'AWS_PROFILE', 'GOOGLE_API_KEY', 'SSH_AUTH_SOCK'],
];

function expectLine(answer: OneShotAnswer): void {
  expect(answer.kind).toBe('failed');
  const reason = answer.kind === 'failed' ? answer.reason : '';
  expect(reason).not.toBe('');
  expect(reason.length).toBeLessThanOrEqual(300);
  expect(oneLine(reason)).toBe(reason.trim());
}

/** The end of a real client's turn. */
function recorded(name: string) {
  const { exit, stdout, stderr } = recordedTurn(name);
  return { code: exit.code, stdout, stderr };
}

for (const name of CLIENT_NAMES) {
  const client = clientNamed(name);
  const command = (changes: Partial<typeof REQUEST> = {}) =>
    oneShotCommand(client, { ...REQUEST, ...changes });
  const read = (end: Parameters<typeof readAnswer>[1]) => readAnswer(client, end);
  const good = recorded(`${name}-work`);

  describe(`a question to ${name}`, () => {
    test('has the prompt in the standard input and nowhere else', () => {
      const { stdin, ...rest } = command();
      expect(stdin.replaceAll('\u2060', '').trim()).toBe(REQUEST.prompt);
      expect(JSON.stringify(rest)).not.toContain('the-prompt');
    });

    test('has no tools, whatever else the request says', () => {
      const more = { policy: NO_POLICY, permissions: ASKS_NEVER, cwd: '/elsewhere' };
      expect(command(more as object)).toEqual(command());
    });

    test('keeps our own hooks quiet, temporary files in the private directory and nothing for a next turn', () => {
      const { env, files, keeps = [] } = command();
      expect(env).toMatchObject({ SELF_GENERATION_INTERNAL: '1', TMPDIR: REQUEST.directory });
      expect(env.HOME).toBeUndefined();
      expect(keeps).toEqual([]);
      for (const path of Object.keys(files)) expect(path).toMatch(/^\w*[\w.@-]+(?:\/[\w.@-]+)*$/);
      for (const path of Object.keys(files)) expect(path.split('/')).not.toContain('..');
    });

    test('names a model when one is asked for or configured, and a budget when the client keeps one', () => {
      const { args } = command();
      const more = (changes: object) => command(changes).args.filter((arg) => !args.includes(arg));
      expect(args.filter((arg) => /^(?:-m|--model|--max)/.test(arg))).toEqual([]);
      expect(more({ model: '--evil' })).toEqual(['--model=--evil']);
      expect(more({ model: 'mine', route: { ...NO_ROUTE, model: 'usual' } })).toEqual(['--model=mine']);
      expect(more({ budgetUsd: 0.25 })).toEqual(name === 'claude' ? ['--max-budget-usd=0.25'] : []);
      if (name !== 'claude')
        expect(more({ route: { ...NO_ROUTE, model: 'usual' } })).toEqual(['--model=usual']);
    });

    test('passes on what its route says and the way out, and nothing that somebody set for himself', () => {
      const route = { ...NO_ROUTE, env: { HELD: 'x' }, passedOn: ['OF_THE_ROUTE'] };
      const { passedOn, env } = command({ route });
      for (const pattern of passedOn) expect(pattern).toMatch(/^\w+\*?$/);
      expect(PASSED_ON.filter((variable) => !isNamed(variable, passedOn))).toEqual([]);
      expect(NOT_PASSED_ON.filter((variable) => isNamed(variable, passedOn))).toEqual([]);
      if (name !== 'claude') expect(env.HELD).toBe('x');
    });

    test('readAnswer() gives text and usage of a good end, and the text whole', () => {
      const answer = read(good);
      expect(answer).toMatchObject({ kind: 'answered', usage: { inputTokens: expect.any(Number) } });
      const text = answer.kind === 'answered' ? answer.text : '';
      const long = '답\u2028👍\u2029'.repeat(50_000);
      const quoted = (one: string) => JSON.stringify(one).slice(1, -1);
      const pieces = good.stdout.split('\n').filter((line) => /"delta":true/.test(line));
      const contents = pieces.map((line) => String(JSON.parse(line).content));
      const said = contents.findLast((piece) => text.endsWith(piece));
      const stdout = good.stdout.replaceAll(quoted(said ?? text), quoted(long));
      const again = read({ ...good, stdout });
      expect(again.kind === 'answered' && again.text.endsWith(long)).toBe(true);
    });

    test('readAnswer() fails when a good output comes with another exit code, or is cut off', () => {
      for (const code of [1, 2, 137, 144, null]) expectLine(read({ ...good, code }));
      const whole = good.stdout.trimEnd();
      const last = whole.lastIndexOf('\n');
      for (let length = last; length < whole.length; length++)
        expect(read({ ...good, stdout: whole.slice(0, length) }).kind).toBe('failed');
    });

    test('readAnswer() never throws, and never takes noise for an answer', () => {
      const noises = ['', ' \n\t\n', 'null', '[]', '{}', '\x1b[31mred\x1b[0m\x00\r\n', '['.repeat(200_000)];
      for (const noise of noises) {
        expectLine(read({ code: 0, stdout: noise, stderr: '' }));
        expectLine(read({ code: null, stdout: '', stderr: noise }));
      }
      const anything = [fc.string({ unit: 'binary' }), fc.json(), fc.integer({ min: 0, max: 255 })] as const;
      const said = fc.property(...anything, (noise, json, code) => {
        for (const stdout of [noise, json, `${noise}\n${json}\n`])
          for (const stderr of [noise, json]) expectLine(read({ code, stdout, stderr }));
      });
      fc.assert(said);
    });

    for (const what of ['refused', 'empty', 'model-unknown', 'not-logged-in', 'unknown-flag']) {
      test(`readAnswer() says why, of a client that ends as in ${name}-${what}`, () =>
        expectLine(read(recorded(`${name}-${what}`))));
    }
  });
}

describe('a question is saved nowhere and offers nothing', () => {
  const of = (name: ClientName) => oneShotCommand(clientNamed(name), REQUEST);
  const after = (name: ClientName, flag: string) => of(name).args[of(name).args.indexOf(flag) + 1];
  const INSTRUCTIONS = /^Answer from the prompt alone\. You have no tools/;

  test('with Claude Code', () => {
    expect(of('claude').args).toContain('--no-session-persistence');
    expect(after('claude', '--tools')).toBe('');
    expect(after('claude', '--system-prompt')).toMatch(INSTRUCTIONS);
    expect(of('claude').env.CLAUDE_CODE_SAFE_MODE).toBe('1');
  });

  test('with Codex', () => {
    const { args } = of('codex');
    for (const flag of ['--ephemeral', '--ignore-user-config', '--ignore-rules'])
      expect(args).toContain(flag);
    expect(after('codex', '--sandbox')).toBe('read-only');
    const off = 'hooks shell_tool unified_exec code_mode_host apps plugins view_image'.split(' ');
    expect(args).toEqual(expect.arrayContaining(off.map((feature) => `features.${feature}=false`)));
    expect(args).toContain('include_environment_context=false');
    expect(args.find((arg) => arg.startsWith('developer_instructions='))).toContain('You have no tools');
    expect(args).not.toContain('--disable');
  });

  test('with Gemini CLI, which is kept from files that a prompt names', () => {
    const { files, env, stdin } = of('gemini');
    const settings = JSON.parse(files['.gemini/settings.json'] ?? '');
    const nothing = { tools: { core: [] }, hooksConfig: { enabled: false }, mcp: { allowed: [] } };
    expect(settings).toMatchObject(nothing);
    expect(settings.security).toBeUndefined(); // The user's says how to log in.
    expect(env.GEMINI_CLI_HOME).toBeUndefined();
    expect(files[env.GEMINI_SYSTEM_MD ?? '']).toMatch(INSTRUCTIONS);
    expect(stdin).toContain('@\u2060types/node');
    const stdout = [
      { type: 'message', role: 'assistant', content: 'of @', delta: true },
      { type: 'message', role: 'assistant', content: '\u2060types/node', delta: true },
      { type: 'result', status: 'success', stats: {} },
    ].map((line) => JSON.stringify(line));
    const answer = readAnswer(clientNamed('gemini'), { code: 0, stdout: stdout.join('\n'), stderr: '' });
    expect(answer).toMatchObject({ kind: 'answered', text: 'of @types/node' });
  });

  test('with OpenCode', () => {
    const { args, env } = of('opencode');
    const { agent, permission } = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '');
    const own = agent[after('opencode', '--agent') ?? ''];
    expect(own.prompt).toMatch(INSTRUCTIONS);
    expect([permission['*'], own.permission['*']]).toEqual(['deny', 'deny']);
    const allowed = Object.entries(own.permission).filter(([, action]) => action !== 'deny');
    expect(allowed.map(([name]) => name)).toEqual(['external_directory']); // Where a tool may act, of which there is none.
    expect(env.OPENCODE_DB).toBe(':memory:');
    expect(args).toContain('--pure');
    expect(readAnswer(clientNamed('opencode'), recorded('opencode-work')).usage.costUsd).toBe(0);
  });
});
