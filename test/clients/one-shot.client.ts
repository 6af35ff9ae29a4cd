import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { textsOf } from './checks.ts';
import { offlineSuite } from './offline.ts';
import { type Script, toolNames } from './one-shot-model.ts';
import { MEMORY, subscriberLogin, USERS } from './one-shot-users.ts';
import {
  ask,
  askPlainly,
  clearMarks,
  filesOf,
  inWorkspace,
  makeWorkspace,
  marksOf,
  processesOf,
  type Run,
  SECRET,
  type Workspace,
} from './one-shot-workspace.ts';
import { DIALECTS, touch } from './runs-dialects.ts';
import { answers } from './runs-workspace.ts';

/** The four real clients, run by the commands of their adapters, and a scripted model; nothing can leave the machine. */

const suite = await offlineSuite();

setDefaultTimeout(180_000);

const KIBIBYTE = 1024;
const ANSWER = '정답은 42입니다 👍';
const answer =
  (text = ANSWER): Script =>
  () => ({ kind: 'text', text });
const asJson = (value: unknown) => JSON.stringify(value);

/** Whether the prompt is there to the last character, and nothing in its text besides but what the adapter adds. */
function hasPrompt({ questions: [first] }: Run, prompt: string): boolean {
  const sent = textsOf(first?.body).map((text) => text.replaceAll('\u2060', ''));
  return sent.includes(prompt) || sent.includes(`\n${prompt}`);
}

function reasonOf({ answer }: Run): string {
  return answer?.kind === 'failed' ? answer.reason : `no failure, but ${asJson(answer)}`;
}

for (const name of CLIENT_NAMES) {
  suite(`a question to ${name}`, () => {
    const user = USERS[name];
    let workspace: Workspace;
    beforeAll(async () => {
      workspace = await makeWorkspace(name);
    });
    afterAll(() => workspace.remove());

    test('asks once, offers no tool that can act, and reads answer and usage', async () => {
      const before = await filesOf(workspace);
      const run = await ask(workspace, { script: answer(), budgetUsd: 1 });
      expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
      expect(run.answer?.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
      expect(run.questions.map(toolNames)).toEqual([[...(user.tools[user.model] ?? [])]]);
      expect(hasPrompt(run, 'What is the answer?')).toBe(true);
      expect(asJson(run.questions).includes(MEMORY)).toBe(user.isMemoryRead);
      expect(asJson(run.questions)).not.toContain(`${MEMORY} of skills`);
      expect(await filesOf(workspace)).toEqual(before);
      expect(readdirSync(workspace.temporary)).toEqual([]);
      expect(workspace.gate.asked.filter((what) => what.startsWith('refused'))).toEqual([]);
      expect(savedSessions(workspace)).toHaveLength(name === 'gemini' ? 1 : 0);
    });

    test('leaves the hooks, plugins, servers and commands alone that asking plainly sets off', async () => {
      const plain = await askPlainly(workspace, answer());
      expect(plain.end).toMatchObject({ kind: 'exited', code: 0 });
      expect(savedSessions(workspace)).not.toEqual([]);
      expect(marksOf(workspace)).toEqual([...user.plainMarks].sort());
      clearMarks(workspace);
      const run = await ask(workspace, { script: answer() });
      expect(run.answer).toMatchObject({ kind: 'answered' });
      expect(marksOf(workspace)).toEqual([]);
    });

    test('takes a prompt of 200 KB and an answer of 100 KB whole', async () => {
      const prompt = `${'한국어로 쓴 긴 질문, "따옴표"와 \\ 역슬래시.\n'.repeat(3600)}끝`;
      const text = `${'답 👍\u2028\t"끝"\n'.repeat(7000)}마지막`;
      expect(Buffer.byteLength(prompt)).toBeGreaterThan(200 * KIBIBYTE);
      expect(Buffer.byteLength(text)).toBeGreaterThan(100 * KIBIBYTE);
      const run = await ask(workspace, { script: answer(text), prompt });
      expect(run.answer).toMatchObject({ kind: 'answered' });
      expect(run.answer?.kind === 'answered' && run.answer.text === text).toBe(true);
      expect(hasPrompt(run, prompt)).toBe(true);
    });

    for (const first of [`${user.slash} me`, '-x --help', '@secret.txt']) {
      test(`sends a prompt as it is that begins with ${first}`, async () => {
        const names = `@secret.txt @${workspace.secret} @~/secret.txt @./ @.gemini/settings.json`;
        const more = '! touch x\n# remember\n</stdin>\n/help\n-x\n$(id) !{id} @{x} {{args}} {file:x}';
        const prompt = [first, names, `@"${workspace.secret}"\t`, more].join('\n');
        const run = await ask(workspace, { script: answer(), prompt });
        expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
        expect(hasPrompt(run, prompt)).toBe(true);
        expect(asJson(run.questions)).not.toContain(SECRET);
        expect(run.command.args.join('\n')).not.toContain('secret.txt');
      });
    }

    for (const model of Object.keys(user.tools)) {
      test(`lets a model get nowhere that calls tools: ${model}`, async () => {
        const { command, write, read, agents } = DIALECTS[name];
        const { marks, secret } = workspace;
        const acts = [command(touch(marks, 'tool')), write(join(marks, 'tool')), read(secret), ...agents];
        const calls = [...acts, ...(user.moreCalls?.(workspace, secret) ?? [])];
        const run = await ask(workspace, { script: answers(...calls.map((call) => [call])), model });
        expect(run.questions.map(toolNames)).toEqual(run.questions.map(() => [...(user.tools[model] ?? [])]));
        expect(run.questions.length).toBeGreaterThan(1);
        expect(asJson(run.questions)).not.toContain(SECRET);
        expect(asJson(run.questions)).not.toContain('ran 42');
        expect(marksOf(workspace)).toEqual([]);
      });
    }

    test('fails in the words of a service that refuses', async () => {
      const message = 'the model is not for you';
      const run = await ask(workspace, { script: () => ({ kind: 'refuse', status: 400, message }) });
      expect(reasonOf(run)).toContain(message);
      expect(reasonOf(run).length).toBeLessThanOrEqual(300);
    });

    test('fails when the model says nothing', async () => {
      const run = await ask(workspace, { script: () => ({ kind: 'empty' }) });
      expect(reasonOf(run)).toMatch(/answer|response|empty/);
    });

    test('leaves no process behind when it is ended while the model keeps it waiting', async () => {
      const ended = new AbortController();
      const script: Script = () => {
        ended.abort();
        return { kind: 'hang' };
      };
      const run = await ask(workspace, { script, signal: ended.signal });
      expect(run.questions).toHaveLength(1);
      expect(run.end).toEqual({ kind: 'failed', reason: 'it was interrupted' });
      expect(await processesOf(workspace)).toEqual([]);
    });
  });
}

suite('codex', () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = await makeWorkspace('codex');
  });
  afterAll(() => workspace.remove());

  test('asks the service itself with the key that the user logged in with', async () => {
    const run = await ask(workspace, { script: answer(), model: undefined });
    expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
    expect(workspace.gate.asked).toContain('POST api.openai.com/v1/responses');
  });

  test('asks with the login of a subscriber', async () => {
    await writeFile(join(workspace.home, '.codex/auth.json'), subscriberLogin(new Date()));
    const run = await ask(workspace, { script: answer(), model: undefined });
    expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
    expect(workspace.gate.asked).toContain('POST chatgpt.com/backend-api/codex/responses');
    expect(run.questions.map(toolNames)).toEqual([['exec', 'wait']]);
  });

  test('leaves no process behind at the time limit', async () => {
    const script: Script = () => ({ kind: 'hang' });
    const run = await ask(workspace, { script, timeoutMs: 4000 });
    expect(run.end).toEqual({ kind: 'timed-out' });
    expect(await processesOf(workspace)).toEqual([]);
  });

  test('runs no hook even where hooks need no trust', async () => {
    const trusting = (args: readonly string[]) => [
      'exec',
      '--dangerously-bypass-hook-trust',
      ...args.slice(1),
    ];
    const run = await ask(workspace, { script: answer(), withArgs: trusting });
    expect(run.answer).toMatchObject({ kind: 'answered' });
    expect(marksOf(workspace)).toEqual([]);
  });
});

suite('gemini', () => {
  test('lets a router choose where no model is asked for, and sums both', () =>
    inWorkspace('gemini', async (workspace) => {
      const choice = asJson({ complexity_reasoning: 'none', complexity_score: 1 });
      const script: Script = (_request, index) => ({ kind: 'text', text: index === 0 ? choice : ANSWER });
      const run = await ask(workspace, { script, model: undefined });
      expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
      expect(run.answer?.usage).toMatchObject({ inputTokens: 200, outputTokens: 40 });
      expect(run.questions.map(toolNames)).toEqual([[], []]);
    }));
});

suite('opencode', () => {
  test('asks the service itself with the key of the login, and with a model of its own choice', () =>
    inWorkspace('opencode', async (workspace) => {
      const { OPENCODE_CONFIG: _provider, ...env } = workspace.env;
      const run = await ask({ ...workspace, env }, { script: answer(), model: undefined });
      expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
      expect(workspace.gate.asked).toContain('POST api.openai.com/v1/responses');
    }));
});

suite('claude', () => {
  test('asks with a key and an address that stand in the settings of the user', () =>
    inWorkspace('claude', async (workspace) => {
      const path = join(workspace.home, '.claude/settings.json');
      const settings = JSON.parse(await readFile(path, 'utf8'));
      const env = { ANTHROPIC_BASE_URL: workspace.modelUrl };
      await writeFile(path, asJson({ ...settings, env, apiKeyHelper: 'echo dummy' }));
      const { ANTHROPIC_BASE_URL: _url, ANTHROPIC_API_KEY: _key, ...left } = workspace.env;
      const run = await ask({ ...workspace, env: left }, { script: answer() });
      expect(run.answer).toMatchObject({ kind: 'answered', text: ANSWER });
      expect(marksOf(workspace)).toEqual([]);
    }));
});

/** The files below the home in which a client has saved a session. */
function savedSessions({ home }: Workspace): string[] {
  const places: Readonly<Record<ClientName, RegExp>> = {
    claude: /^\.claude\/(?:projects|sessions|todos)\/.*\.|^\.claude\/history/,
    codex: /^\.codex\/(?:sessions\/.*\.jsonl|history)/,
    gemini: /^\.gemini\/tmp\/.*\/chats\/.*\.json/,
    opencode: /^\.local\/share\/opencode\/(?:opencode\.db$|storage\/)/,
  };
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => Object.values(places).some((place) => place.test(name)));
}
