import { describe, expect, test } from 'bun:test';
import { decideIn } from '../support/hook-play.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, PROJECT, payload, prompt, SESSION } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';

const home = homePerTest();

/** What is recorded of a prompt; nothing is ever said to it. */
function recorded(text: string, config: Payload = {}) {
  const skills = [{ name: 'deploy-staging', scope: 'project', changedMs: 0 }] as const;
  const { recording, ...others } = decideIn(home, prompt(text), { config, skills });
  expect(others).toEqual({});
  return recording?.kind === 'prompt' ? recording : undefined;
}

describe('UserPromptSubmit', () => {
  const rows: [given: string, stored: string][] = [
    ['fix the login', 'fix the login'],
    ['', ''],
    ['한글 프롬프트 🎉', '한글 프롬프트 🎉'],
    ['a <private>my name</private> b', 'a [PRIVATE] b'],
    ['a <PRIVATE>x <private>y</private> z</PRIVATE> b', 'a [PRIVATE] b'],
    ['<private>all</private>', '[PRIVATE]'],
    ['a <private>b', 'a <private>b'],
    ['two\nlines', 'two\nlines'],
    ['\u001b[31mred\u001b[0m \u0000 nul', 'red  nul'],
    ['see <task-notification> in the log', 'see <task-notification> in the log'],
    ['x'.repeat(5000), 'x'.repeat(4000)],
    [`${'x'.repeat(3999)}🎉🎉`, 'x'.repeat(3999)],
    [`<private>${'p'.repeat(9000)}</private> visible`, '[PRIVATE] visible'],
  ];
  for (const [given, text] of rows)
    test(`stores ${JSON.stringify(text.slice(0, 40))} of ${JSON.stringify(given.slice(0, 60))}`, () =>
      expect(recorded(given)).toMatchObject({ text, charCount: text.length }));

  test('records where it was typed', () =>
    expect(decideIn(home, payload('user-prompt-submit')).recording).toMatchObject({
      at: { sessionId: SESSION, project: 'app', projectPath: PROJECT, agentId: null },
      text: 'MAINTASK please',
    }));

  test("passes over the client's own notifications", () =>
    expect(decideIn(home, payload('task-notification'))).toEqual({}));

  test('stores only the length when the settings say so', () =>
    expect(recorded('something private', { collectPromptText: false })).toMatchObject({
      text: '[REDACTED]',
      charCount: 17,
    }));

  for (const { text, secret } of SECRETS) {
    test(`stores no secret of the shape ${text.slice(0, 12)}…`, () => {
      const behind = [`${'x '.repeat(1990)}${text}`, `${'x '.repeat(4080)}${text} ${'y'.repeat(9000)}`];
      for (const given of [text, ...behind]) {
        const stored = String(recorded(given)?.text);
        for (let length = secret.length; length >= 12; length--)
          expect(stored).not.toContain(secret.slice(0, length));
      }
    });
  }

  test.each(['/deploy-staging now', '/deploy-staging'])(
    'counts the skill that "%s" calls by its name',
    (text) => expect(recorded(text)?.skill).toBe('deploy-staging'),
  );

  test.each(['/deploy', '/usr/bin/node is missing', '/', 'deploy-staging', 'use /deploy-staging'])(
    'counts no skill for "%s"',
    (text) => expect(recorded(text)).not.toHaveProperty('skill'),
  );
});
