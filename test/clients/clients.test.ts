import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { oneShotClient } from '../../src/clients/clients.ts';
import type { OneShotAnswer } from '../../src/clients/one-shot.ts';
import { NO_ROUTE } from '../../src/clients/routes/route.ts';
import { CLIENT_NAMES } from '../../src/core/client-name.ts';
import { oneLine } from '../../src/core/text.ts';
import { RECORDED_TEXT, recorded } from './one-shot-recorded.ts';

const REQUEST = {
  prompt: 'the-prompt',
  model: undefined,
  budgetUsd: undefined,
  route: NO_ROUTE,
  directory: '/home/dev/private',
};
const PASSED_ON = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'HTTPS_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'XDG_DATA_HOME',
];
/** What another client, another tool or another analysis has set for itself. */
const NOT_PASSED_ON = [
  ...['CLAUDECODE', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_MESSAGING_SOCKET'],
  ...['CODEX_EXEC_SERVER_URL', 'CODEX_THREAD_ID', 'CODEX_SANDBOX', 'GEMINI_SANDBOX', 'GEMINI_SYSTEM_MD'],
  ...['OPENCODE_PERMISSION', 'OPENCODE_CONFIG_CONTENT', 'OPENCODE_SERVER_PASSWORD', 'OPENCODE_PID'],
  ...['NODE_OPTIONS', 'BUN_OPTIONS', 'LD_PRELOAD', 'TMPDIR', 'SELF_GENERATION_HOME', 'MY_SECRET'],
];
function expectLine(answer: OneShotAnswer): void {
  expect(answer.kind).toBe('failed');
  const reason = answer.kind === 'failed' ? answer.reason : '';
  expect(reason).not.toBe('');
  expect(reason.length).toBeLessThanOrEqual(300);
  expect(oneLine(reason)).toBe(reason.trim());
}

for (const name of CLIENT_NAMES) {
  const client = oneShotClient(name);
  const { command, readAnswer } = client;
  const good = recorded(`${name}-good`);

  describe(`oneShotClient('${name}')`, () => {
    test('is the client of this name', () => {
      expect(client).toMatchObject({ name, program: name, canSetBudget: name === 'claude' });
    });

    test('command() has the prompt in the standard input and nowhere else', () => {
      const { stdin, ...rest } = command(REQUEST);
      expect(stdin).toEndWith('the-prompt');
      expect(JSON.stringify(rest)).not.toContain('the-prompt');
    });

    test('command() keeps our own hooks quiet and temporary files in the private directory', () => {
      const { env, files } = command(REQUEST);
      expect(env).toMatchObject({ SELF_GENERATION_INTERNAL: '1', TMPDIR: REQUEST.directory });
      expect(env.HOME).toBeUndefined();
      for (const path of Object.keys(files)) expect(path).toMatch(/^[\w.@-]+(?:\/[\w.@-]+)*$/);
      for (const path of Object.keys(files)) expect(path.split('/')).not.toContain('..');
    });

    test('command() names a model only when one is asked for', () => {
      const { args } = command(REQUEST);
      expect(args.filter((arg) => /^(?:-m|--model)/.test(arg))).toEqual([]);
      const more = command({ ...REQUEST, model: '--evil' }).args.filter((arg) => !args.includes(arg));
      expect(more).toEqual(['--model=--evil']);
    });

    test('command() sets a budget when the client can keep one', () => {
      const { args } = command(REQUEST);
      const more = command({ ...REQUEST, budgetUsd: 0.25 }).args.filter((arg) => !args.includes(arg));
      expect(more).toEqual(client.canSetBudget ? ['--max-budget-usd=0.25'] : []);
    });

    test('command() passes on what its route says and the way out, and nothing that somebody set for himself', () => {
      const { passedOn } = command({ ...REQUEST, route: { ...NO_ROUTE, passedOn: ['OF_THE_ROUTE'] } });
      for (const pattern of passedOn) expect(pattern).toMatch(/^\w+\*?$/);
      const isPassedOn = (variable: string) =>
        passedOn.some((one) =>
          one.endsWith('*') ? variable.startsWith(one.slice(0, -1)) : one === variable,
        );
      expect([...PASSED_ON, 'OF_THE_ROUTE'].filter((variable) => !isPassedOn(variable))).toEqual([]);
      expect(NOT_PASSED_ON.filter(isPassedOn)).toEqual([]);
    });

    test('readAnswer() gives text and usage of a good end', () => {
      const answer = readAnswer(good);
      expect(answer).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
      expect(answer.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
    });

    test('readAnswer() fails when a good output comes with another exit code, or with a signal', () => {
      for (const code of [1, 2, 137, 144, null]) expectLine(readAnswer({ ...good, code }));
    });

    test('readAnswer() fails wherever a good output is cut off', () => {
      const whole = good.stdout.trimEnd();
      expect(readAnswer({ ...good, stdout: whole }).kind).toBe('answered');
      for (let length = 0; length < whole.length; length++) {
        const answer = readAnswer({ ...good, stdout: whole.slice(0, length) });
        if (answer.kind !== 'failed') throw new Error(`answered after ${length} of ${whole.length}`);
      }
    });

    const garbage: Record<string, string> = {
      nothing: '',
      blanks: ' \n\t\n',
      'a number': '42',
      null: 'null',
      'an empty list': '[]',
      'an empty object': '{}',
      'a list of nothing': '[null, 1, "x", [], {}]',
      'plain words': 'Sure! Here is the answer.\n',
      'control characters': '\x1b[31mred\x1b[0m\x00\x07\u202e\r\n',
      'a lone surrogate': '\ud800',
      'JSON without an end': '['.repeat(200_000),
      'JSON that is too deep': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      'a megabyte on one line': 'x'.repeat(1024 * 1024),
      'a megabyte of line feeds': '\n'.repeat(1024 * 1024),
      'properties of all the wrong types':
        '{"type":7,"result":{},"response":[],"part":1,"item":"x","error":3,"usage":"y","stats":null}\n'.repeat(
          3,
        ),
    };
    for (const [what, text] of Object.entries(garbage)) {
      test(`readAnswer() fails when the output is ${what}, whatever the exit code`, () => {
        for (const code of [0, 1, null]) {
          expectLine(readAnswer({ code, stdout: text, stderr: '' }));
          expectLine(readAnswer({ code, stdout: '', stderr: text }));
        }
      });
    }

    test('readAnswer() never throws, and never takes noise for an answer', () => {
      fc.assert(
        fc.property(
          fc.string({ unit: 'binary' }),
          fc.json(),
          fc.integer({ min: 0, max: 255 }),
          (noise, json, code) => {
            for (const stdout of [noise, json, `${noise}\n${json}\n`]) {
              expectLine(readAnswer({ code, stdout, stderr: noise }));
              expectLine(readAnswer({ code, stdout, stderr: json }));
            }
          },
        ),
      );
    });

    test('readAnswer() fails in the words of the service, of the model and of the client', () => {
      const reasonOf = (what: string) => {
        const answer = readAnswer(recorded(`${name}-${what}`));
        expectLine(answer);
        return answer.kind === 'failed' ? answer.reason : '';
      };
      expect(reasonOf('refused')).toMatch(/^(?:API Error: 400 )?the model is not for you$/);
      expect(reasonOf('empty')).toMatch(/empty|no answer/);
      expect(reasonOf('unknown-model')).toMatch(/nosuch|no such model/);
      expect(reasonOf('unknown-flag')).toMatch(/frobnicate|did not understand its arguments/);
    });

    test('readAnswer() takes the answer of a model that called a tool first, in vain', () => {
      const answer = readAnswer(recorded(`${name}-tool-first`));
      expect(answer).toMatchObject({ kind: 'answered', text: RECORDED_TEXT });
      expect(answer.usage).toMatchObject({ inputTokens: 200, outputTokens: 40 });
    });
  });
}
