import { describe, expect, test } from 'bun:test';
import { gemini } from '../../src/clients/gemini.ts';
import { NO_ROUTE } from '../../src/clients/routes/route.ts';
import { ended, RECORDED_TEXT, recorded } from './one-shot-recorded.ts';

const { readAnswer } = gemini;
const GOOD = JSON.parse(recorded('gemini-good').stdout);
const request = { model: undefined, budgetUsd: undefined, route: NO_ROUTE, directory: '/home/dev/private' };

/** A good output with other properties. */
const output = (changes: object) => readAnswer(ended(JSON.stringify({ ...GOOD, ...changes }, null, 2)));

describe('command()', () => {
  const { args, env, files } = gemini.command({ ...request, prompt: 'x' });
  const settings = JSON.parse(files['.gemini/settings.json'] ?? '');

  test('switches hooks, tools, servers, skills, agents and the container off in settings of its own', () => {
    expect(settings.hooksConfig.enabled).toBe(false);
    expect(settings.tools).toMatchObject({ core: [], allowed: [], discoveryCommand: '', sandbox: false });
    expect(settings.mcp).toEqual({ allowed: [], serverCommand: '' });
    expect(settings.skills.enabled).toBe(false);
    expect(settings.experimental.enableAgents).toBe(false);
    expect(settings.security).toBeUndefined(); // The login is the user's.
  });

  test('makes these settings count, and leaves no extension and no server', () => {
    expect(env.GEMINI_CLI_TRUST_WORKSPACE).toBe('true');
    expect(args[args.indexOf('--extensions') + 1]).toBe('none');
    expect(args[args.indexOf('--allowed-mcp-server-names') + 1]).toBe('none');
    expect(args).not.toContain('--prompt');
  });

  test('is one process, which heeds signals', () => {
    expect(env.GEMINI_CLI_NO_RELAUNCH).toBe('true');
  });

  test('gives instructions that are among its files', () => {
    expect(files[env.GEMINI_SYSTEM_MD ?? '']).toContain('no tools');
  });

  test('parts every @ from what follows, so that the client finds no file, and begins with no slash', () => {
    const { stdin } = gemini.command({ ...request, prompt: '/help @a @"b c" \\@d e@f @@ @' });
    expect(stdin).toBe('\n/help @\u2060a @\u2060"b c" \\@\u2060d e@\u2060f @\u2060@\u2060 @\u2060');
  });
});

describe('readAnswer()', () => {
  test('gives the model, and leaves the cost open, which the client does not say', () => {
    const usage = { inputTokens: 100, outputTokens: 20, costUsd: null, model: 'scripted' };
    expect(readAnswer(recorded('gemini-good')).usage).toEqual(usage);
  });

  test('sums the usage of all models, thoughts included, and names the one that wrote most', () => {
    const tokens = (prompt: number, candidates: number, thoughts: number) => ({
      tokens: { prompt, candidates, thoughts },
    });
    const models = { router: tokens(1, 2, 3), main: tokens(100, 20, 3), odd: 7 };
    expect(output({ stats: { models } }).usage).toMatchObject({
      inputTokens: 101,
      outputTokens: 28,
      model: 'main',
    });
    expect(output({ stats: [] }).usage).toMatchObject({ inputTokens: null, outputTokens: null, model: null });
  });

  test('puts together again what was parted', () => {
    const answer = output({ response: 'see @\u2060types/node, @ and \u2060' });
    expect(answer).toMatchObject({ kind: 'answered', text: 'see @types/node, @ and \u2060' });
  });

  test('takes an answer of a megabyte whole', () => {
    const text = '답 👍\u2028'.repeat(100_000);
    const answer = output({ response: text });
    expect(answer.kind === 'answered' && answer.text === text).toBe(true);
  });

  test('passes over what the client says besides, on its other output', () => {
    const end = { ...recorded('gemini-good'), stderr: recorded('gemini-turn-limit').stderr };
    expect(readAnswer(end)).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
  });

  const recordings: [string, RegExp][] = [
    ['turn-limit', /^Reached max session turns/],
    ['not-logged-in', /^When using Gemini API, you must specify the GEMINI_API_KEY/],
    ['empty', /^The model returned an empty response/],
    ['unknown-flag', /^Unknown argument: frobnicate$/],
  ];
  for (const [name, reason] of recordings) {
    test(`fails when the client ends as in gemini-${name}: ${reason.source}`, () => {
      const answer = readAnswer(recorded(`gemini-${name}`));
      expect(answer.kind === 'failed' ? answer.reason : answer).toMatch(reason);
    });
  }

  test('fails when it was told to end, which it does with exit code 0', () => {
    const reason = 'ended with exit code 0, without a result';
    expect(readAnswer(ended(''))).toMatchObject({ kind: 'failed', reason });
  });

  test('fails when an error stands beside the text, though the exit code is 0', () => {
    const error = { type: 'INVALID_STREAM', message: 'cut in the middle' };
    expect(output({ error })).toMatchObject({ kind: 'failed', reason: 'cut in the middle' });
    expect(output({ error: null })).toMatchObject({ kind: 'failed' });
  });

  test('fails when there is no text', () => {
    expect(output({ response: undefined })).toMatchObject({ kind: 'failed' });
    expect(output({ response: ' \n' })).toMatchObject({ kind: 'failed', reason: 'the answer is empty' });
  });

  test('fails with the warning when the client itself has stopped the model, also in the middle of its answer', () => {
    for (const response of ['', 'the first half']) {
      const answer = output({ response, warnings: [7, 'Loop detected, stopping execution'] });
      expect(answer).toMatchObject({ kind: 'failed', reason: 'Loop detected, stopping execution' });
    }
    expect(output({ warnings: [] })).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
    expect(output({ warnings: {} })).toMatchObject({ kind: 'failed', reason: 'the client gives a warning' });
  });

  test('finds the error between other blocks, in time that grows with the output alone', () => {
    const error = JSON.stringify({ error: { message: 'found' } }, null, 2);
    const stderr = `{\n}\n${'{\n'.repeat(100_000)}${error}\n{\n  "other": 1\n}\n[ERROR] {\n  "x": 2\n}\n`;
    expect(readAnswer(ended('', { code: 1, stderr }))).toMatchObject({ kind: 'failed', reason: 'found' });
  });
});
