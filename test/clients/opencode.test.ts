import { describe, expect, test } from 'bun:test';
import { opencode } from '../../src/clients/opencode.ts';
import { NO_ROUTE } from '../../src/clients/routes/route.ts';
import { ended, lines, RECORDED_TEXT, recorded } from './one-shot-recorded.ts';

const { readAnswer } = opencode;
const text = (messageID: string, text: string) => ({ type: 'text', part: { type: 'text', messageID, text } });
const finish = (messageID: string, reason = 'stop', rest: object = {}) => ({
  type: 'step_finish',
  part: { type: 'step-finish', messageID, reason, ...rest },
});

describe('command()', () => {
  const { args, env, files } = opencode.command({
    prompt: 'x',
    model: undefined,
    budgetUsd: 1,
    route: NO_ROUTE,
    directory: '/home/dev/private',
  });
  const configuration = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '');

  test('runs an agent of its own that may use nothing, without plugins', () => {
    const agent = args[args.indexOf('--agent') + 1] ?? '';
    expect(configuration.agent[agent].permission).toEqual({ '*': 'deny' });
    expect(configuration.permission).toEqual({ '*': 'deny' });
    expect(args).toContain('--pure');
    expect(args).not.toContain('--auto');
  });

  test('reads no configuration of the user or of a project, but the login, and saves no session', () => {
    expect(env.XDG_CONFIG_HOME).toStartWith('/home/dev/private/');
    expect(env.XDG_DATA_HOME).toBeUndefined();
    expect(env.OPENCODE_DISABLE_PROJECT_CONFIG).toBe('1');
    expect(env.OPENCODE_DB).toBe(':memory:');
  });

  test('keeps the client from installing a package into the empty configuration directory', () => {
    const directory = env.XDG_CONFIG_HOME?.replace('/home/dev/private/', '');
    expect(Object.keys(files).sort()).toEqual([
      `${directory}/opencode/node_modules/.keep`,
      `${directory}/opencode/package-lock.json`,
      `${directory}/opencode/package.json`,
    ]);
  });
});

describe('readAnswer()', () => {
  test('gives the cost, and leaves the model open, which the client does not say', () => {
    const usage = { inputTokens: 100, outputTokens: 20, costUsd: 0, model: null };
    expect(readAnswer(recorded('opencode-good')).usage).toEqual(usage);
  });

  test('joins the texts of the last message, and passes over those before it', () => {
    const stdout = lines(
      text('a', 'on my way'),
      finish('a', 'tool-calls'),
      text('b', '4'),
      text('b', '2'),
      finish('b'),
    );
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'answered', text: '42' });
  });

  test('sums the usage of all steps, with what came from a cache and what was thought', () => {
    const step = {
      tokens: { input: 1, output: 20, reasoning: 300, cache: { read: 4000, write: 50_000 } },
      cost: 0.5,
    };
    const stdout = lines(finish('a', 'tool-calls', step), text('b', '42'), finish('b', 'stop', step));
    expect(readAnswer(ended(stdout)).usage).toMatchObject({
      inputTokens: 108_002,
      outputTokens: 640,
      costUsd: 1,
    });
  });

  test('takes a text with separators of lines and of a megabyte whole', () => {
    const long = '답\u2028👍\u2029'.repeat(100_000);
    const answer = readAnswer(ended(lines(text('a', long), finish('a'))));
    expect(answer.kind === 'answered' && answer.text === long).toBe(true);
  });

  test('passes over the log', () => {
    const end = { ...recorded('opencode-good'), stderr: recorded('opencode-refused').stderr };
    expect(readAnswer(end)).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
  });

  const recordings: [string, string][] = [
    ['unknown-model', 'ProviderModelNotFoundError: Model not found: scripted/nosuch.'],
    ['bad-configuration', 'ProviderModelNotFoundError: Model not found: scripted/some-model.'],
    ['unknown-flag', 'the client did not understand its arguments: it may be of another release'],
  ];
  for (const [name, reason] of recordings) {
    test(`fails when the client ends as in opencode-${name}: ${reason}`, () => {
      expect(readAnswer(recorded(`opencode-${name}`))).toMatchObject({ kind: 'failed', reason });
    });
  }

  test('fails with what the event says when the log knows no more', () => {
    const end = { ...recorded('opencode-unknown-model'), stderr: 'ref=err_other error="something else"\n' };
    const reason = 'Unexpected server error. Check server logs for details.';
    expect(readAnswer(end)).toMatchObject({ kind: 'failed', reason });
  });

  test('fails when an error comes after a text, though the exit code is 0', () => {
    const error = { type: 'error', error: { name: 'UnknownError', data: { message: 'lost' } } };
    const stdout = lines(text('a', '42'), finish('a'), error);
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'failed', reason: 'lost' });
    const nameless = { type: 'error', error: { name: 'ProviderAuthError' } };
    expect(readAnswer(ended(lines(nameless)))).toMatchObject({ kind: 'failed', reason: 'ProviderAuthError' });
  });

  for (const reason of ['length', 'content-filter', 'tool-calls', 'unknown', 'error']) {
    test(`fails when the last step ends with "${reason}"`, () => {
      const answer = readAnswer(ended(lines(text('a', '42'), finish('a', reason))));
      expect(answer).toMatchObject({ kind: 'failed', reason: `the model stopped early: ${reason}` });
    });
  }

  test('fails when no step ends', () => {
    const reason = 'ended with exit code 0, without a result';
    expect(readAnswer(ended(lines(text('a', '42'))))).toMatchObject({ kind: 'failed', reason });
  });

  test('fails when the last message has no text', () => {
    const stdout = lines(text('a', '42'), finish('a', 'tool-calls'), finish('b'));
    expect(readAnswer(ended(stdout))).toMatchObject({ kind: 'failed', reason: 'the answer is empty' });
  });
});
