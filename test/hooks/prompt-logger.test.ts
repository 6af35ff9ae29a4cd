import { describe, expect, test } from 'bun:test';
import { readSkill } from '../../src/core/skills/skill.ts';
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

const DEPLOY = readSkill(
  '# /deploy-staging\n\n## 감지된 패턴\n- 스테이징에 배포해줘\n- deploy this branch to staging\n',
  { name: 'deploy-staging', scope: 'project', path: '/home/dev/app/.claude/commands/deploy-staging.md' },
);

/** What the hook says to each prompt of one session, and what is stored at its end. */
function talk(prompts: readonly (string | Payload)[], skills = [DEPLOY], config: Payload = {}) {
  using home = temporaryHome();
  const replies = prompts.map((one) => {
    using work = bench(home, { skills, config });
    const input = typeof one === 'string' ? prompt(one) : one;
    const decision = decideUserPromptSubmit(eventOf('UserPromptSubmit', input), work.context);
    work.keep(decision);
    return decision.reply?.context;
  });
  return { replies, events: readEvents(home.paths) };
}

describe('decideUserPromptSubmit() with skills', () => {
  test('proposes the skill that fits, once in a session', () => {
    const { replies, events } = talk([
      '지금 작업을 스테이징에 배포해줘',
      '다시 스테이징에 배포해줘',
      prompt('스테이징에 배포해줘', { session_id: 'another' }),
    ]);
    expect(replies).toEqual([
      '[Self-Generation] 이 작업과 관련된 커스텀 스킬이 있습니다: `/deploy-staging` (프로젝트 스킬)\n사용자에게 이 스킬 사용을 제안해주세요.',
      undefined,
      expect.stringContaining('/deploy-staging'),
    ]);
    expect(events.map(({ data }) => data.skillHint)).toEqual(['deploy-staging', undefined, 'deploy-staging']);
  });

  test('says it in English when the settings say so', () => {
    const { replies } = talk(['please deploy this branch to staging'], [DEPLOY], { language: 'en' });
    expect(replies).toEqual([
      '[Self-Generation] There is a custom skill for this: `/deploy-staging` (project)\nPlease propose it to the user.',
    ]);
  });

  test('says nothing of a skill that does not fit, and nothing when there is none', () => {
    expect(talk(['explain this regular expression']).replies).toEqual([undefined]);
    expect(talk(['스테이징에 배포해줘'], []).replies).toEqual([undefined]);
  });

  test('does not look at what is private', () => {
    expect(talk(['<private>스테이징에 배포해줘</private> 뭐라고?']).replies).toEqual([undefined]);
  });

  test('counts a skill that is called by its name, and nothing else after a slash', () => {
    const { replies, events } = talk(['/deploy-staging now', '/deploy', '/usr/bin/node is missing', '/']);
    expect(replies).toEqual([undefined, undefined, undefined, undefined]);
    expect(events.filter(({ type }) => type === 'skill_used').map(({ data }) => data)).toEqual([
      { skillName: 'deploy-staging' },
    ]);
  });
});
