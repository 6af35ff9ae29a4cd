import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { readRecords } from '../../src/core/guards.ts';
import { pathsOf, readEvents, readRows } from '../support/home.ts';
import { installCli } from './install-clis.ts';
import { type InstalledUser, makeUser, type Talk } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';

/** What the real Codex' agents are told by the hooks that install has put there, and what is learnt from its sessions. */

const suite = await offlineSuite(() => installCli('codex'));
setDefaultTimeout(180_000);

const CHECK = '#!/bin/sh\n[ -n "$PORT" ] || { echo "Error: PORT is not set" >&2; exit 1; }\necho built\n';
const FAILS = './gradlew build';
const HELPS = 'PORT=8080 ./gradlew build';
const TASK = 'Look how gradlew builds.';

/** How the models of one generation call for a command and for a sub-agent. */
type Generation = {
  readonly model: string;
  readonly command: (cmd: string) => ToolCall;
  readonly spawn: (more?: object) => ToolCall;
};

const GENERATIONS: Readonly<Record<string, Generation>> = {
  v1: {
    model: 'some-other-model',
    command: (cmd) => ({ name: 'exec_command', input: { cmd } }),
    spawn: (more) => ({
      name: 'spawn_agent',
      namespace: 'multi_agent_v1',
      input: { message: TASK, ...more },
    }),
  },
  v2: {
    model: 'gpt-5.6-sol',
    command: (cmd) => ({
      name: 'exec',
      input: `const r = await tools.exec_command(${JSON.stringify({ cmd })});\ntext(JSON.stringify(r));`,
    }),
    spawn: (more) => ({
      ...{ name: 'spawn_agent', namespace: 'collaboration' },
      input: { task_name: 'look', message: TASK, fork_turns: 'none', ...more },
    }),
  },
};
const V1 = GENERATIONS.v1 as Generation;

const isOfAgent = ({ headers }: ModelRequest) => headers['x-openai-subagent'] !== undefined;
const agentsOf = ({ asked }: Talk) => asked.filter(isOfAgent);
const mainOf = ({ asked }: Talk) => asked.filter((request) => !isOfAgent(request));

/** What a request has the model read beside what the user and itself said. */
function toldIn({ body }: ModelRequest): string[] {
  const messages = readRecords(body.input).filter(({ role }) => role === 'developer');
  return messages.flatMap(({ content }) => readRecords(content).map(({ text }) => String(text)));
}

const recordsIn = (request: ModelRequest) => toldIn(request).filter((text) => text.includes('<record '));

/** The main session takes its steps; an agent has one request, behind which the main session waits for it. */
function scripted(...steps: (readonly ToolCall[])[]): Script {
  const left = [...steps];
  return (request) => {
    const calls = isOfAgent(request) ? undefined : left.shift();
    return calls === undefined ? { kind: 'text', text: 'Done.' } : { kind: 'calls', calls };
  };
}

/** Something that takes long enough for an agent to ask its model. */
const WAITS = 'sleep 2';

suite('hooks in Codex', () => {
  let user: InstalledUser;
  let before: Record<string, string>;
  const at = (name: string) => join(user.workspace.home, '.codex', name);
  const files = () =>
    Object.fromEntries(['config.toml', 'hooks.json', 'AGENTS.md'].map((name) => [name, textOf(at(name))]));
  const home = () => pathsOf(user.workspace.home);
  const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const doctor = async () => {
    const end = await user.attempt('doctor', '--json');
    return end.kind === 'exited' ? end.stdout : '';
  };
  const args = ({ model }: Generation) => [
    ...['exec', '--json', '--skip-git-repo-check', '--model', model],
    ...['--dangerously-bypass-approvals-and-sandbox', '-'],
  ];
  const talk = (generation: Generation, ...steps: (readonly ToolCall[])[]) =>
    user.talk('Build it.', scripted(...steps), args(generation));
  const known = () => user.program('errors', 'list', '--json');
  const until = async (isDone: () => Promise<boolean>) => {
    for (let round = 0; round < 100 && !(await isDone()); round++) await Bun.sleep(100);
    expect(await isDone()).toBe(true);
  };

  beforeAll(async () => {
    user = await makeUser('codex');
    await writeFiles(user.project, { gradlew: CHECK });
    await chmod(join(user.project, 'gradlew'), 0o755);
    await user.talk('Hello.', scripted(), args(V1)); // Codex makes its own files.
    before = files();
  });
  afterAll(() => user.workspace.remove());

  test('that nobody has approved are passed over, and install and doctor say so', async () => {
    const said = await user.program('install', '--codex', '--client-version', '2.1.328');
    expect(said).toContain('type /hooks in Codex');
    expect(JSON.parse(textOf(at('hooks.json'))).hooks).toHaveProperty('SubagentStart');
    const { asked, stdout } = await talk(V1, [V1.command(FAILS)], [V1.command(HELPS)]);
    expect(asked.flatMap(recordsIn)).toEqual([]);
    expect(stdout).toContain('turn.completed');
    expect(await doctor()).toContain('7 of 7 hooks are not approved');
    expect(await known()).not.toContain('PORT');
  });

  test('are trusted by Codex when the user says yes on a terminal, and not before', async () => {
    const answers = [
      '--no-learn',
      '--lessons',
      'off',
      '--wake',
      'off',
      '--hold-out',
      'off',
      '--client-version',
      '2.1.328',
    ];
    const asking = async (answer: string) => {
      await using install = user.onTerminal('install', ...answers);
      await until(async () => install.shown().includes('May it run these?'));
      expect(install.shown()).toContain('hook subagent-context codex');
      install.type(`${answer}\r`);
      expect(await install.exited).toBe(0);
      return install.shown();
    };
    expect(await asking('')).toContain('type /hooks in Codex');
    expect(await doctor()).toContain('7 of 7 hooks are not approved');
    expect(await asking('y')).toContain('New sessions of Codex run its 7 hooks');
    expect(textOf(at('config.toml'))).toContain('trusted_hash');
    expect(await doctor()).toContain('7 approved hooks');
  });

  for (const [name, generation] of Object.entries(GENERATIONS)) {
    const { command, spawn } = generation;

    test(`tell a sub-agent in its first request what the session has just shown (${name})`, async () => {
      const session = await talk(generation, [command(FAILS)], [command(HELPS)], [spawn()], [command(WAITS)]);
      const [first, ...others] = agentsOf(session);
      const [told = '', ...more] = recordsIn(first as ModelRequest);
      expect(more).toEqual([]);
      expect(others).toEqual([]);
      expect(told).toContain('Error: PORT is not set');
      expect(told).toContain(HELPS);
      expect(told.length).toBeLessThanOrEqual(500);
    });

    test(`tell no sub-agent that only looks (${name})`, async () => {
      const looks = await talk(generation, [spawn({ agent_type: 'explorer' })], [command(WAITS)]);
      expect(agentsOf(looks)).toHaveLength(1);
      expect(agentsOf(looks).flatMap(recordsIn)).toEqual([]);
    });

    test(`say at a failing call what has helped, once in a session (${name})`, async () => {
      const session = await talk(
        generation,
        [command('ls')],
        [command(FAILS)],
        [command('sleep 1')],
        [command(FAILS)],
      );
      const hints = mainOf(session).map((request) =>
        toldIn(request).filter((text) => text.includes('PORT=8080') && text.includes('[Self-Generation')),
      );
      expect(hints.map((one) => one.length)).toEqual([0, 0, 1, 1, 1]);
      // Where an id is that of one call, what was told is counted to it.
      const ids = readEvents(home(), 'tool_error').map(({ data }) => data.toolUseId);
      const told = readRows(home(), 'SELECT failed_call FROM exposures WHERE failed_call IS NOT NULL');
      if (name === 'v2') expect(ids).toContain(told.at(-1)?.failed_call);
    });
  }

  test('tell a session at its start what the project has learnt', async () => {
    const [first] = mainOf(await talk(V1));
    expect(recordsIn(first as ModelRequest).join()).toContain(HELPS);
  });

  test('leave what a session did to its own file, from which it is recorded once', async () => {
    await talk(V1, [V1.command('node --no-such-option x.js')]);
    await until(async () => (await known()).includes('no-such-option'));
    const failed = readEvents(home(), 'tool_error').filter(({ data }) =>
      String(data.line).includes('no-such-option'),
    );
    expect(failed.map(({ data }) => String(data.toolUseId).slice(0, 6))).toEqual(['codex:']);
  });

  test('are noticed by doctor when one has run, when one has changed and when they are switched off', async () => {
    expect(await doctor()).toContain('the last one ran');
    const config = textOf(at('config.toml'));
    await Bun.write(
      at('config.toml'),
      config.replace(/trusted_hash = "sha256:..../, 'trusted_hash = "sha256:0000'),
    );
    expect(await doctor()).toContain('1 of 7 hooks have changed since they were approved');
    await Bun.write(at('config.toml'), config.replace('[features]', '[features]\nhooks = false'));
    expect(await doctor()).toContain('7 of 7 hooks are not listed by Codex');
    await Bun.write(at('config.toml'), config);
  });

  test('are gone with uninstall, and every file is as it was', async () => {
    await user.program('uninstall', '--purge', '--yes');
    expect(files()).toEqual(before);
    expect(existsSync(join(user.workspace.home, '.self-generation'))).toBe(false);
  });
});
