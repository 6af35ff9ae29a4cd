import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import { processesNow, processesOf } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/** The main conversation with the real clients: a turn, the next one in its session, another client, and steering. */

const suite = await offlineSuite();

setDefaultTimeout(240_000);

const WITHIN_MS = 60_000;
const say = (text: string): ModelAnswer => ({ kind: 'text', text });
/** Everything that a request says; quotes and lines as they are. */
const textOf = ({ body }: ModelRequest) =>
  JSON.stringify(body).replaceAll('\\n', '\n').replaceAll('\\"', '"');

/** The model answers by these words in the newest of what it is asked; returns what it was asked with tools. */
function play(user: InstalledUser, answers: Readonly<Record<string, ModelAnswer>>): string[] {
  const asked: string[] = [];
  user.workspace.board.script = (request) => {
    const words = textOf(request);
    if (toolNames(request).length === 0) return say('done'); // A title.
    asked.push(words);
    const places = Object.keys(answers).map((key) => [words.lastIndexOf(key), key] as const);
    const [at, key] = places.sort(([one], [other]) => other - one)[0] ?? [-1, ''];
    return (at < 0 ? undefined : answers[key]) ?? say('done');
  };
  return asked;
}

async function makeTalker(...clients: [ClientName, ...ClientName[]]): Promise<InstalledUser> {
  const user = await makeUser(...clients);
  await user.program('install', '--client-version', '2.1.328');
  const settings = { language: 'en', tools: { subagents: { allow: ['exec'] } } };
  await writeFile(pathsOf(user.workspace.home).config, JSON.stringify(settings));
  return user;
}

for (const name of CLIENT_NAMES) {
  suite(`a conversation with ${name}`, () => {
    const { model, command } = DIALECTS[name];
    let user: InstalledUser;
    beforeAll(async () => {
      user = await makeTalker(name);
    });
    afterAll(() => user.workspace.remove());

    test('goes on in its session: the second turn knows the first', async () => {
      const asked = play(user, { 'Which port?': say('Port 4711.'), 'Which host?': say('The host is here.') });
      expect(await user.program('run', '--cli', name, '--model', model, 'Which port?')).toBe('Port 4711.\n');
      expect(asked.join('\n')).toContain('You are the main agent of this project');
      const from = asked.length;
      expect(await user.program('run', 'Which host?')).toBe('The host is here.\n');
      const second = asked.slice(from).join('\n');
      expect(second).toContain('Which port?');
      expect(second).toContain('Port 4711.');
      expect(second).not.toContain('[Recent Context]');
      expect(await processesOf(user.workspace)).toEqual([]);
    });

    test('is steered: what works is ended with all its processes, and the message is answered', async () => {
      play(user, {
        'Sleep now.': { kind: 'calls', calls: [command('sleep 333')] },
        'Wake up.': say('I am awake.'),
      });
      const asleep = user.attempt('run', 'Sleep now.');
      await until(() => processesNow(user.workspace.root).some(({ words }) => words.includes('sleep 333')));
      await user.program('run', '--no-wait', 'Which host?');
      expect(await user.program('steer', 'Wake up.')).toBe('I am awake.\n');
      expect(await asleep).toMatchObject({ kind: 'exited', code: 7 });
      await until(async () => JSON.parse(await user.program('queue', '--json')).waiting.length === 0);
      await until(async () => JSON.parse(await user.program('queue', '--json')).atWork.length === 0);
      expect(await processesOf(user.workspace)).toEqual([]);
    });
  });
}

suite('a conversation that changes its client', () => {
  let user: InstalledUser;
  beforeAll(async () => {
    user = await makeTalker('claude', 'codex');
  });
  afterAll(() => user.workspace.remove());

  test('tells the other one what was said and done, and the first one again', async () => {
    const { model, command } = DIALECTS.claude;
    let isDone = false;
    const asked = play(user, { 'Which port?': say('Port 4711.') });
    const inner = user.workspace.board.script;
    user.workspace.board.script = (request, index) => {
      if (isDone || toolNames(request).length === 0) return inner(request, index);
      isDone = true;
      return { kind: 'calls', calls: [command('echo looked')] };
    };
    expect(await user.program('run', '--cli', 'claude', '--model', model, 'Which port?')).toBe(
      'Port 4711.\n',
    );
    const other = play(user, { 'Say it again.': say('It was 4711.') });
    const flags = ['--cli', 'codex', '--model', DIALECTS.codex.model];
    expect(await user.program('run', ...flags, 'Say it again.')).toBe('It was 4711.\n');
    expect(asked.length).toBeGreaterThan(0);
    expect(other[0]).toContain(
      '[Recent Context]\n\n[user] Which port?\n\n[assistant] Port 4711.\n(⚡ echo looked → exit 0)',
    );
    expect(other[0]).toContain('---\n[Current Message]\nSay it again.');
    const back = play(user, { 'And once more?': say('Still 4711.') });
    expect(await user.program('run', '--cli', 'claude', '--model', model, 'And once more?')).toBe(
      'Still 4711.\n',
    );
    expect(back[0]).toContain('[assistant] It was 4711.');
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + WITHIN_MS;
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error('Waited in vain');
    await Bun.sleep(50);
  }
}
