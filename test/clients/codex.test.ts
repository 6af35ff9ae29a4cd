import { describe, expect, test } from 'bun:test';
import { codex } from '../../src/clients/codex.ts';
import { NO_ROUTE } from '../../src/clients/routes/route.ts';
import { ended, lines, RECORDED_TEXT, recorded } from './one-shot-recorded.ts';

const { readAnswer } = codex;
const message = (text: string, type = 'agent_message') => ({
  type: 'item.completed',
  item: { id: 'item_0', type, text },
});
const completed = { type: 'turn.completed', usage: { input_tokens: 7, output_tokens: 3 } };

describe('command()', () => {
  const { args, stdin, files } = codex.command({
    prompt: '-x',
    model: 'gpt-5.5',
    budgetUsd: 1,
    route: NO_ROUTE,
    directory: '/home/dev/private',
  });
  const settings = args.filter((_arg, index) => args[index - 1] === '-c');

  test('reads the prompt from the standard input', () => {
    expect(args[0]).toBe('exec');
    expect(args.at(-1)).toBe('-');
    expect(stdin).toBe('-x');
  });

  test('reads no configuration of the user and saves no session', () => {
    for (const flag of ['--ignore-user-config', '--ignore-rules', '--ephemeral'])
      expect(args).toContain(flag);
    expect(files).toEqual({});
  });

  test('switches hooks and tools off by settings, which a release without them passes over', () => {
    for (const feature of [
      'hooks',
      'shell_tool',
      'unified_exec',
      'code_mode_host',
      'apps',
      'plugins',
      'view_image',
    ])
      expect(settings).toContain(`features.${feature}=false`);
    expect(settings).toContain('agents.enabled=false');
    expect(settings).toContain('web_search="disabled"');
    expect(args).not.toContain('--disable');
    expect(args[args.indexOf('--sandbox') + 1]).toBe('read-only');
  });
});

describe('readAnswer()', () => {
  test('leaves cost and model open, which the client does not say', () => {
    const usage = { inputTokens: 100, outputTokens: 20, costUsd: null, model: null };
    expect(readAnswer(recorded('codex-good')).usage).toEqual(usage);
  });

  test('passes over warnings of the client', () => {
    expect(recorded('codex-code-mode').stdout).toContain('"type":"error"');
    expect(readAnswer(recorded('codex-code-mode'))).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
  });

  test('takes the last message: the others are what the model said on its way', () => {
    const stdout = lines(
      message('I look at it.'),
      message('thinking', 'reasoning'),
      message('42'),
      completed,
    );
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'answered', text: '42' });
  });

  test('passes over errors after which the client tried again', () => {
    const again = { type: 'error', message: 'Reconnecting... 1/5 (stream disconnected before completion)' };
    const stdout = lines({ type: 'turn.started' }, again, message('42'), completed);
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'answered', text: '42' });
  });

  test('takes a text with separators of lines, of files and of a megabyte whole', () => {
    const text = '답\u2028👍\u2029\u0085\x1c'.repeat(100_000);
    const answer = readAnswer(ended(lines(message(text), completed)));
    expect(answer.kind === 'answered' && answer.text === text).toBe(true);
  });

  const recordings: [string, string][] = [
    ['reconnecting', 'plan type is required for chatgpt authentication'],
    [
      'not-logged-in',
      'unexpected status 401 Unauthorized: Missing bearer or basic authentication in header, url: https://api.openai.com/v1/responses',
    ],
    ['empty-prompt', 'No prompt provided via stdin.'],
    ['unknown-flag', "error: unexpected argument '--frobnicate' found"],
  ];
  for (const [name, reason] of recordings) {
    test(`fails when the client ends as in codex-${name}: ${reason}`, () => {
      expect(readAnswer(recorded(`codex-${name}`))).toMatchObject({ kind: 'failed', reason });
    });
  }

  test('fails when the turn does not end, with the last error', () => {
    const errors = ['first', 'second'].map((text) => ({ type: 'error', message: text }));
    expect(readAnswer(ended(lines(message('42'), ...errors)))).toMatchObject({
      kind: 'failed',
      reason: 'second',
    });
    const silent = readAnswer(ended(lines(message('42'))));
    expect(silent).toMatchObject({ kind: 'failed', reason: 'ended with exit code 0, without a result' });
  });

  test('fails when the turn fails, though a message came before and the exit code is 0', () => {
    const end = {
      type: 'turn.failed',
      error: { message: '{"error":{"message":"{\\"message\\":\\"too much\\"}"}}' },
    };
    expect(readAnswer(ended(lines(message('42'), end)))).toMatchObject({
      kind: 'failed',
      reason: 'too much',
    });
  });

  test('fails when the turn ends without a message: a hook has blocked the prompt', () => {
    const stdout = lines({ type: 'turn.started' }, { ...message('42'), type: 'item.started' }, completed);
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'failed', reason: 'the model gave no answer' });
  });
});
