import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { Json } from '../../../src/core/guards.ts';
import type { Hooks } from '../../../src/prune/opencode/host.ts';
import { pluginHooks } from '../../../src/prune/opencode/plugin.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { putFile } from '../../support/tree.ts';
import { type Answers, hostOf } from './host.ts';

/** What the plugin asks of the installed program, whose place a script takes that writes down what it is asked. */

const TOLD = '<record note="facts">\n- Error: PORT is not set\n</record>';
const ANSWER = JSON.stringify({
  hookSpecificOutput: { hookEventName: 'SubagentStart', additionalContext: TOLD },
});

let home: Home;
let hooks: Hooks;

/** `reading`, `hook`: what the program does then, in the language of the shell. */
function start({ reading = ':', hook = `printf '%s' '${ANSWER}'` } = {}, answers: Answers = {}): void {
  const log = `${home.path}/asked`;
  const script = `#!/bin/sh
case "$1" in
  hook) { echo "hook $2 in $PWD of $CLAUDE_PROJECT_DIR"; cat; echo; } >> '${log}'; ${hook} ;;
  *) echo "$*" >> '${log}'; ${reading}; echo "read $2" >> '${log}' ;;
esac
`;
  putFile(home.paths.binary, script, 0o755);
  hooks = pluginHooks(hostOf(answers, home.path), home.paths);
}

const asked = () => {
  const path = `${home.path}/asked`;
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};
const failures = () => {
  const { opencodeLog } = home.paths;
  const lines = existsSync(opencodeLog) ? readFileSync(opencodeLog, 'utf8').trim().split('\n') : [];
  return lines.filter((line) => line.includes(' ERROR '));
};
async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !isSo(); round++) await Bun.sleep(10);
  expect(isSo()).toBe(true);
}

const tell = (type: string, properties: Json) => hooks.event?.({ event: { type, properties } });
const session = (id: string, parentID?: string, type = 'session.created') =>
  tell(type, { sessionID: id, info: { id, title: 'x', ...(parentID && { parentID }) } });
const ended = (sessionID: string, state: Json) =>
  tell('message.part.updated', { part: { id: 'prt_1', sessionID, type: 'tool', tool: 'bash', state } });
const WELL = { status: 'completed', metadata: { exit: 0 } };
const BADLY = { status: 'completed', metadata: { exit: 2 } };
const NOT_RUN = { status: 'error', error: 'x' };

/** A first message of a session; gives its parts as they are behind the plugin. */
async function message(sessionID: string, agent = 'general'): Promise<Json[]> {
  const part = { sessionID, messageID: 'msg_1', type: 'text' };
  const parts: Json[] = [
    { ...part, id: 'prt_208ad5477001gESJdZT5eFsIOz', text: 'Look at it.' },
    { ...part, id: 'prt_208ad5476fffgESJdZT5eFsIOz', type: 'file' },
  ];
  await hooks['chat.message']?.({ sessionID }, { message: { id: 'msg_1', agent }, parts });
  return parts;
}
const told = (parts: readonly Json[]) => parts.slice(2).map(({ text }) => text);

beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => home[Symbol.dispose]());

describe('a sub-agent of OpenCode that begins', () => {
  test('is told in a part of its first message, behind the others, what the hook says', async () => {
    start();
    process.env.CLAUDE_PROJECT_DIR = '/of/another/client';
    session('ses_a', 'ses_main');
    const parts = await message('ses_a');
    delete process.env.CLAUDE_PROJECT_DIR;
    expect(parts[2]).toEqual({
      ...{ sessionID: 'ses_a', messageID: 'msg_1', type: 'text', text: TOLD, synthetic: true },
      id: expect.stringMatching(/^prt_208ad5477002[\da-f]{14}$/),
    });
    const [called, event = ''] = asked();
    expect(called).toBe(`hook subagent-context in ${home.path} of `);
    expect(JSON.parse(event)).toEqual({
      ...{ hook_event_name: 'SubagentStart', session_id: 'ses_main', cwd: home.path },
      ...{ agent_id: 'ses_a', agent_type: 'general', client: 'opencode', task: 'Look at it.' },
    });
    expect(told(await message('ses_a'))).toEqual([]);
  });

  test('is known by its event, which may come behind its message, and whatever its look-up says', async () => {
    start(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    const first = message('ses_a');
    await Bun.sleep(20);
    session('ses_a', 'ses_main');
    expect(told(await first)).toEqual([TOLD]);
  });

  test('is known by what OpenCode says of it when asked, where its event is late', async () => {
    const about = (id: string) => ({ id, parentID: 'ses_main', time: { created: Date.now() + 1000 } });
    start({}, { get: (id) => Promise.resolve({ data: about(id) }) });
    expect(told(await message('ses_a'))).toEqual([TOLD]);
    expect(JSON.parse(asked()[1] ?? '')).toMatchObject({ session_id: 'ses_main' });
  });

  test('that goes on in another process is told nothing, and does not wait to be told of', async () => {
    const about = (id: string) => ({ id, parentID: 'ses_main', time: { created: Date.now() - 60_000 } });
    start({}, { get: (id) => Promise.resolve({ data: about(id) }) });
    const begunMs = performance.now();
    expect(told(await message('ses_a'))).toEqual([]);
    expect(performance.now() - begunMs).toBeLessThan(200);
  });

  test('by another agent counts to the session of the user', async () => {
    start();
    session('ses_a', 'ses_main');
    session('ses_b', 'ses_a');
    await message('ses_b', 'fixer');
    expect(JSON.parse(asked()[1] ?? '')).toMatchObject({ session_id: 'ses_main', agent_type: 'fixer' });
  });

  test.each([
    ['that went on, with its session', () => session('ses_a', 'ses_main', 'session.updated'), 'ses_a'],
    ['of which nothing is known', () => {}, 'ses_a'],
    ['which is none', () => session('ses_main'), 'ses_main'],
    [
      'which was forked with what it had been told',
      () => tell('session.created', { info: { id: 'ses_a', title: 'x (@general subagent) (fork #1)' } }),
      'ses_a',
    ],
  ])('%s, is told nothing', async (_which, happened, id) => {
    start(
      {},
      { get: () => Promise.resolve({ data: { id, parentID: id === 'ses_a' ? 'ses_m' : undefined } }) },
    );
    happened();
    expect(told(await message(id))).toEqual([]);
    expect(asked()).toEqual([]);
  });

  test.each([
    ['the knowledge', { opencode: { knowledge: false } }],
    ['everything', { enabled: false }],
  ])('is told nothing, and nothing is read, where %s is switched off', async (_what, config) => {
    start();
    home.writeConfig(config);
    session('ses_a', 'ses_main');
    ended('ses_main', BADLY);
    tell('session.idle', { sessionID: 'ses_main' });
    expect(told(await message('ses_a'))).toEqual([]);
    expect(asked()).toEqual([]);
  });

  test('is told nothing where the program is gone, of which nobody complains', async () => {
    start();
    rmSync(home.paths.binary);
    session('ses_a', 'ses_main');
    expect(told(await message('ses_a'))).toEqual([]);
    expect(failures()).toEqual([]);
  });

  test.each([
    ['fails', 'exit 3', 'it ended with exit code 3'],
    ['never ends', 'sleep 20', 'it took longer than 1500 ms'],
  ])('begins all the same when the hook %s, and the log says so', async (_how, hook, reason) => {
    start({ hook });
    session('ses_a', 'ses_main');
    const startedMs = performance.now();
    expect(told(await message('ses_a'))).toEqual([]);
    expect(performance.now() - startedMs).toBeLessThan(4000);
    expect(failures()).toEqual([expect.stringContaining(reason)]);
  });

  test('is told nothing by what is no answer', async () => {
    start({ hook: 'echo nonsense' });
    session('ses_a', 'ses_main');
    expect(told(await message('ses_a'))).toEqual([]);
  });
});

describe('a session of OpenCode that runs', () => {
  test.each([
    ['that failed', BADLY],
    ['that could not be made', NOT_RUN],
  ])("is read after a call %s, a sub-agent's with its main one", async (_how, state) => {
    start();
    session('ses_a', 'ses_main');
    ended('ses_a', state);
    await until(() => asked().includes('read opencode#ses_main'));
    expect(asked()).toEqual(['catch-up opencode#ses_main', 'read opencode#ses_main']);
  });

  test("is read when it is over, with its whole project, but no sub-agent's", async () => {
    start();
    session('ses_a', 'ses_main');
    tell('session.idle', { sessionID: 'ses_a' });
    tell('session.idle', { sessionID: 'ses_main' });
    await until(() => asked().includes('read opencode#ses_main'));
    expect(asked()[0]).toBe(`catch-up opencode#ses_main ${home.path}`);
    expect(asked()).toHaveLength(2);
  });

  test('is read by one process at a time, once for all that came meanwhile', async () => {
    start({ reading: 'sleep 0.3' });
    for (let count = 0; count < 5; count++) {
      ended('ses_main', BADLY);
      await Bun.sleep(20);
    }
    await Bun.sleep(1200);
    const one = ['catch-up opencode#ses_main', 'read opencode#ses_main'];
    expect(asked()).toEqual([...one, ...one]);
  });

  test('is not read for calls that went well, before a sub-agent begins', async () => {
    start({ reading: 'sleep 0.2' });
    session('ses_a', 'ses_main');
    session('ses_b', 'ses_main');
    ended('ses_main', WELL);
    tell('message.part.updated', { part: { sessionID: 'ses_main', type: 'text', text: 'x' } });
    await Bun.sleep(300);
    expect(asked()).toEqual([]);
    await message('ses_a');
    expect(asked().map((line) => line.split(' ')[0])).toEqual([
      'catch-up',
      'read',
      'hook',
      expect.anything(),
    ]);
    await message('ses_b');
    expect(asked().filter((line) => line.startsWith('catch-up'))).toHaveLength(1);
  });

  test('keeps a sub-agent waiting for a second and a half at the most', async () => {
    start({ reading: 'sleep 6' });
    session('ses_a', 'ses_main');
    ended('ses_main', BADLY);
    const startedMs = performance.now();
    expect(told(await message('ses_a'))).toEqual([TOLD]);
    expect(performance.now() - startedMs).toBeWithin(1400, 3000);
    expect(asked().filter((line) => line.startsWith('read'))).toEqual([]);
  });
});
