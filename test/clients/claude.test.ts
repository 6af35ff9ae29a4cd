import { describe, expect, test } from 'bun:test';
import { claude } from '../../src/clients/claude.ts';
import { NO_ROUTE } from '../../src/clients/routes/route.ts';
import { ended, RECORDED_TEXT, recorded } from './one-shot-recorded.ts';

const { readAnswer } = claude;
const GOOD = JSON.parse(recorded('claude-good').stdout);

/** A good result with other properties. */
const result = (changes: object) => readAnswer(ended(JSON.stringify({ ...GOOD, ...changes })));

describe('command()', () => {
  const { args, stdin, env, files } = claude.command({
    prompt: '/help',
    model: 'haiku',
    budgetUsd: 1,
    route: NO_ROUTE,
    directory: '/home/dev/private',
  });

  test('offers no tool, no server and no command, and saves no session', () => {
    expect(args[args.indexOf('--tools') + 1]).toBe('');
    expect(args).toContain('--strict-mcp-config');
    expect(args).not.toContain('--mcp-config');
    expect(args).toContain('--disable-slash-commands');
    expect(args).toContain('--no-session-persistence');
  });

  test('switches hooks off twice, and keeps the login: no bare mode', () => {
    expect(JSON.parse(args[args.indexOf('--settings') + 1] ?? '')).toEqual({ disableAllHooks: true });
    expect(env.CLAUDE_CODE_SAFE_MODE).toBe('1');
    expect(args).not.toContain('--bare');
    expect(args[args.indexOf('--setting-sources') + 1]).toBe('user');
  });

  test('keeps the client from reading files that the prompt names, and from taking it for a command', () => {
    expect(env.CLAUDE_CODE_DISABLE_ATTACHMENTS).toBe('1');
    expect(stdin).toBe('\n/help');
    expect(files).toEqual({});
  });
});

describe('readAnswer()', () => {
  test('gives cost and model', () => {
    expect(readAnswer(recorded('claude-good')).usage).toEqual({
      inputTokens: 100,
      outputTokens: 20,
      costUsd: 0.00002,
      model: 'claude-haiku-5-5',
    });
  });

  test('counts what came from a cache as input, and names the model that wrote most', () => {
    const usage = {
      input_tokens: 1,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 300,
      output_tokens: 4,
    };
    const modelUsage = { small: { outputTokens: 3 }, large: { outputTokens: 70 }, odd: 'x' };
    expect(result({ usage, modelUsage }).usage).toMatchObject({
      inputTokens: 321,
      outputTokens: 4,
      model: 'large',
    });
  });

  test('leaves open what the client does not say', () => {
    expect(result({ usage: {}, modelUsage: [], total_cost_usd: -1 })).toEqual({
      kind: 'answered',
      text: RECORDED_TEXT,
      usage: { inputTokens: null, outputTokens: null, costUsd: null, model: null },
    });
  });

  test('finds the result where the user has the client say everything', () => {
    expect(readAnswer(recorded('claude-verbose'))).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
  });

  test('takes an answer of a megabyte whole', () => {
    const text = '답 👍\u2028'.repeat(100_000);
    const answer = result({ result: text });
    expect(answer.kind === 'answered' && answer.text === text).toBe(true);
  });

  const recordings: [string, string][] = [
    ['not-logged-in', 'Not logged in · Please run /login'],
    ['over-budget', 'Reached maximum budget ($1e-7)'],
    ['local-command', 'the client answered by itself, without the model'],
    ['unknown-flag', "error: unknown option '--frobnicate'"],
  ];
  for (const [name, reason] of recordings) {
    test(`fails when the client ends as in claude-${name}: ${reason}`, () => {
      expect(readAnswer(recorded(`claude-${name}`))).toMatchObject({ kind: 'failed', reason });
    });
  }

  test('tells what was spent when the budget is used up', () => {
    expect(readAnswer(recorded('claude-over-budget')).usage.costUsd).toBe(0.00002);
  });

  const changes: [string, object, string][] = [
    ['is marked as an error', { is_error: true }, RECORDED_TEXT.replace('\n\n', ' ')],
    [
      'does not say whether it is an error',
      { is_error: undefined, result: undefined },
      'the client reports an error',
    ],
    [
      'has another subtype',
      { subtype: 'error_during_execution', result: undefined },
      'the client reports error_during_execution',
    ],
    [
      'says what went wrong',
      { subtype: 'error_x', result: undefined, errors: [1, 'first', 'second'] },
      'first',
    ],
    ['was cut off by the model', { stop_reason: 'max_tokens' }, 'the model stopped early: max_tokens'],
    ['is a refusal', { stop_reason: 'refusal' }, 'the model stopped early: refusal'],
    ['has no text', { result: 7 }, 'ended with exit code 0, without a result'],
    ['is blank', { result: ' \n' }, 'the answer is empty'],
    ['is no result', { type: 'assistant' }, 'ended with exit code 0, without a result'],
  ];
  for (const [what, change, reason] of changes) {
    test(`fails when the result ${what}`, () => {
      expect(result(change)).toMatchObject({ kind: 'failed', reason });
    });
  }

  test('fails when a list of messages does not end with the result', () => {
    const messages = JSON.parse(recorded('claude-verbose').stdout);
    const answer = readAnswer(ended(JSON.stringify([...messages, { type: 'system' }])));
    expect(answer).toMatchObject({ kind: 'failed', reason: 'ended with exit code 0, without a result' });
  });
});
