import { describe, expect, test } from 'bun:test';
import { decideUserPromptSubmit } from '../../src/hooks/prompt-logger.ts';
import { readEvents, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, PROJECT, payload, prompt, SESSION } from '../support/payloads.ts';

function storedPrompt(input: Payload, config: Payload = {}): Payload | undefined {
  using home = temporaryHome();
  using work = bench(home, { config });
  const decision = decideUserPromptSubmit(eventOf('UserPromptSubmit', input), work.context);
  expect(decision.reply).toBeUndefined();
  work.keep(decision);
  const events = readEvents(home.paths);
  expect(events.every((event) => event.type === 'prompt')).toBe(true);
  return events[0]?.data;
}

describe('decideUserPromptSubmit()', () => {
  const check = (given: string, text: string) =>
    test(`stores ${JSON.stringify(text.slice(0, 40))} of ${JSON.stringify(given.slice(0, 60))}`, () => {
      expect(storedPrompt(prompt(given))).toEqual({ text, charCount: text.length });
    });
  check('fix the login', 'fix the login');
  check('', '');
  check('한글 프롬프트 🎉', '한글 프롬프트 🎉');
  check('a <private>my name</private> b', 'a [PRIVATE] b');
  check('a <PRIVATE>x <private>y</private> z</PRIVATE> b', 'a [PRIVATE] b');
  check('<private>all</private>', '[PRIVATE]');
  check('a <private>b', 'a <private>b');
  check('two\nlines', 'two\nlines');
  check('\u001b[31mred\u001b[0m \u0000 nul', 'red  nul');
  check('see <task-notification> in the log', 'see <task-notification> in the log');
  check('x'.repeat(5000), 'x'.repeat(4000));
  check(`${'x'.repeat(3999)}🎉🎉`, 'x'.repeat(3999));
  check(`<private>${'p'.repeat(9000)}</private> visible`, '[PRIVATE] visible');

  test('records where it was typed', () => {
    using home = temporaryHome();
    using work = bench(home);
    work.keep(
      decideUserPromptSubmit(eventOf('UserPromptSubmit', payload('user-prompt-submit')), work.context),
    );
    expect(readEvents(home.paths)).toEqual([
      {
        type: 'prompt',
        sessionId: SESSION,
        project: 'app',
        projectPath: PROJECT,
        data: { text: 'MAINTASK please', charCount: 15 },
      },
    ]);
  });

  test("passes over the client's own notifications", () => {
    expect(storedPromptOrNothing(payload('task-notification'))).toBeUndefined();
    expect(storedPromptOrNothing(payload('user-prompt-submit'))).toBeDefined();
  });

  test('stores only the length when the settings say so', () => {
    const config = { collectPromptText: false };
    expect(storedPrompt(prompt('something private'), config)).toEqual({ text: '[REDACTED]', charCount: 17 });
  });

  for (const { text, secret } of SECRETS) {
    test(`stores no secret of the shape ${text.slice(0, 12)}…`, () => {
      for (const given of [
        text,
        `${'x '.repeat(1990)}${text}`,
        `${'x '.repeat(4080)}${text} ${'y'.repeat(9000)}`,
      ]) {
        const stored = String(storedPrompt(prompt(given))?.text);
        for (let length = secret.length; length >= 12; length--) {
          expect(stored).not.toContain(secret.slice(0, length));
        }
      }
    });
  }
});

function storedPromptOrNothing(input: Payload) {
  using home = temporaryHome();
  using work = bench(home);
  return decideUserPromptSubmit(eventOf('UserPromptSubmit', input), work.context).recording;
}

describe('decideUserPromptSubmit() with skills', () => {
  const used = (...prompts: string[]) => {
    using home = temporaryHome();
    using work = bench(home, { skills: [{ name: 'deploy-staging', scope: 'project' }] });
    for (const text of prompts) {
      const decision = decideUserPromptSubmit(eventOf('UserPromptSubmit', prompt(text)), work.context);
      expect(decision.reply).toBeUndefined();
      work.keep(decision);
    }
    expect(readEvents(home.paths, 'prompt').map(({ data }) => data.text)).toEqual(prompts);
    return readEvents(home.paths, 'skill_used').map(({ data }) => data);
  };

  test('counts a skill that is called by its name', () => {
    expect(used('/deploy-staging now', '/deploy-staging')).toEqual([
      { skillName: 'deploy-staging' },
      { skillName: 'deploy-staging' },
    ]);
  });

  test('counts nothing else, and says nothing of a skill', () => {
    const others = ['/deploy', '/usr/bin/node is missing', '/', 'deploy-staging', 'use /deploy-staging'];
    expect(used(...others, 'please deploy to staging')).toEqual([]);
  });
});
