import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asRecord, type Json, readRecords } from '../../src/core/guards.ts';
import { pathsOf } from '../support/home.ts';
import { RULE, seedSuggestion } from '../support/suggestions.ts';
import { installCli } from './install-clis.ts';
import { type InstalledUser, makeUser, type Talk } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';
import { inPlace } from './runs-dialects.ts';

/** What the real OpenCode's sub-agents are told by the plugin that install has put there, and what it learns meanwhile. */

const suite = await offlineSuite(() => installCli('opencode'));
setDefaultTimeout(180_000);

const CHECK = '#!/bin/sh\n[ -n "$PORT" ] || { echo "Error: PORT is not set" >&2; exit 1; }\necho built\n';

const bash = (command: string): ToolCall => ({ name: 'bash', input: { command, description: 'x' } });
const task = (prompt: string, more: Json = {}): ToolCall => ({
  name: 'task',
  input: { description: 'look at it', prompt, subagent_type: 'general', ...more },
});

const isOfAgent = ({ headers }: ModelRequest) => headers['x-parent-session-id'] !== undefined;
const isOfTitle = ({ body }: ModelRequest) => JSON.stringify(body).includes('title generator');

/** What a model answers to a request: calls of tools. */
type Step = readonly ToolCall[] | ((request: ModelRequest) => readonly ToolCall[]);

/** Each session's model takes its steps, one after the other; then it is done. */
function scripted(main: readonly Step[], agent: readonly Step[]): Script {
  const left = new Map<unknown, Step[]>();
  return (request) => {
    const id = request.headers['x-session-id'];
    const steps = left.get(id) ?? [...(isOfAgent(request) ? agent : main)];
    left.set(id, steps);
    const step = isOfTitle(request) ? undefined : steps.shift();
    if (step === undefined) return { kind: 'text', text: 'Done.' };
    return { kind: 'calls', calls: typeof step === 'function' ? step(request) : step };
  };
}

const FAILS_AND_HELPS = [[bash('./gradlew build')], [bash('PORT=8080 ./gradlew build')]];
const LOOK = task('Look how gradlew builds.');
const LOOKS = [[bash('ls')], [bash('ls -l gradlew')]];

/** The texts of the user's messages that a request begins with, as the provider gets them. */
function firstTexts({ body }: ModelRequest): string[] {
  const first = readRecords(body.messages).find(({ role }) => role === 'user');
  const content = first?.content;
  return typeof content === 'string'
    ? [content]
    : readRecords(content).map((part) => String(asRecord(part).text));
}

function withoutTold(request: ModelRequest): ModelRequest {
  const messages = readRecords(request.body.messages).map((message) => {
    if (!Array.isArray(message.content)) return message;
    const content = readRecords(message.content).filter((part) => !isTold(String(part.text)));
    return { ...message, content: content.length === 1 ? content[0]?.text : content };
  });
  return { ...request, body: { ...request.body, messages } };
}

/** A request without what differs from session to session. */
function plain({ body }: ModelRequest): string {
  return JSON.stringify(body.messages).replaceAll(/\b(?:ses|msg|prt|call)_[\w-]+/g, 'ID');
}

const agentsOf = ({ asked }: Talk) => asked.filter((request) => isOfAgent(request) && !isOfTitle(request));
const sessionIn = ({ stdout }: Talk) => /"sessionID":"(ses_\w+)"/.exec(stdout)?.[1] ?? '';
const isTold = (text: string) => text.startsWith('<record ');
/** Goes on with the sub-agent that the main session has begun. */
const goOn: Step = ({ body }) => {
  const [, id] = /<task id=\\*"(ses_\w+)/.exec(JSON.stringify(body)) ?? [];
  return [task('Look once more.', { task_id: id })];
};

suite('knowledge for sub-agents of OpenCode', () => {
  let user: InstalledUser;
  let without: Talk;
  let configuration: string;
  const config = () => readFile(join(user.workspace.home, '.config/opencode/opencode.json'), 'utf8');
  const build = (more: readonly Step[] = []) =>
    user.talk('Build it.', scripted([...FAILS_AND_HELPS, [LOOK], ...more], LOOKS));

  beforeAll(async () => {
    user = await makeUser('opencode');
    const { home } = user.workspace;
    await writeFiles(home, inPlace('.config/opencode'));
    await writeFiles(user.project, { gradlew: CHECK });
    await chmod(join(user.project, 'gradlew'), 0o755);
    // Before anything: OpenCode reads the file into which the rule comes.
    const { id } = seedSuggestion({ paths: pathsOf(home) }, RULE);
    expect(await user.onTerminal('apply', id, '--yes').exited).toBe(0);
    configuration = await config();
    without = await build();
    await user.program('install', '--opencode', '--client-version', '2.1.328');
  });
  afterAll(() => user.workspace.remove());

  test('stands in every request of one, once, at the same place, and nothing else is different', async () => {
    const talk = await build();
    const requests = agentsOf(talk);
    expect(requests).toHaveLength(LOOKS.length + 1);
    const [prompt, told = ''] = firstTexts(requests[0] as ModelRequest);
    expect(prompt).toBe('Look how gradlew builds.');
    expect(told).toContain('Error: PORT is not set');
    expect(told).toContain('PORT=8080 ./gradlew build');
    expect(told).toContain(RULE.rule);
    expect(told.length).toBeLessThanOrEqual(500);
    expect(requests.map(firstTexts)).toEqual(requests.map(() => ['Look how gradlew builds.', told]));
    const untold = requests.map((request) => plain(withoutTold(request)));
    expect(untold).toEqual(agentsOf(without).map(plain));
    expect(talk.asked.filter((request) => !isOfAgent(request)).map(plain)).toEqual(
      without.asked.filter((request) => !isOfAgent(request)).map(plain),
    );
  });

  test('is told once to one that goes on, in the same process and in another', async () => {
    const first = await build([goOn]);
    const args = [...USAGE.opencode.args, '--session', sessionIn(first)];
    const second = await user.talk('Once more.', scripted([goOn], [[bash('ls')]]), args);
    const requests = [...agentsOf(first), ...agentsOf(second)];
    expect(requests.length).toBeGreaterThanOrEqual(6);
    for (const { body } of requests) expect(JSON.stringify(body).split('<record ')).toHaveLength(2);
    expect(new Set(requests.map((request) => firstTexts(request).find(isTold))).size).toBe(1);
  });

  test('is told once to each of several that start at once, by the model or by a command', async () => {
    const file = join(user.workspace.home, '.config/opencode/opencode.json');
    const before = await config();
    const look = { template: 'Look at $ARGUMENTS', subtask: true, agent: 'general' };
    await Bun.write(file, before.replace('{', `{ "command": ${JSON.stringify({ look })},`));
    const tasks = ['A.', 'B.', 'Look at @gradlew.', ''].map((prompt) => task(prompt));
    const args = [...USAGE.opencode.args, '--command', 'look'];
    const talks = [
      await user.talk('Do it.', scripted([tasks], LOOKS)),
      await user.talk('gradlew', scripted([], LOOKS), args),
    ];
    await Bun.write(file, before);
    const sessions = talks.map((talk) =>
      Map.groupBy(agentsOf(talk), ({ headers }) => headers['x-session-id']),
    );
    expect(sessions.map(({ size }) => size)).toEqual([4, 1]);
    for (const { body } of talks.flatMap(agentsOf))
      expect(JSON.stringify(body).split('<record ')).toHaveLength(2);
  });

  test('is told to none that does not change files', async () => {
    const look = task('Look how gradlew builds.', { subagent_type: 'explore' });
    const requests = agentsOf(await user.talk('Look.', scripted([[look]], LOOKS)));
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.flatMap(firstTexts).filter(isTold)).toEqual([]);
  });

  test('comes of a call that failed without having run, and of a session that is over', async () => {
    const workdir = join(user.project, 'missing');
    const notRun: ToolCall = { name: 'bash', input: { command: 'make', description: 'x', workdir } };
    await user.talk('Make it.', scripted([[notRun], [bash('node --no-such-option x.js')]], []));
    const known = () => user.program('errors', 'list', '--json');
    for (let round = 0; round < 50 && !(await known()).includes('no-such-option'); round++)
      await Bun.sleep(100);
    expect(await known()).toContain('bad option: --no-such-option');
    expect(await known()).toContain('NotFound: FileSystem.access');
  });

  test('switched off, leaves every request as it is without the plugin, and learns nothing', async () => {
    await user.program('config', 'set', 'opencode.knowledge', 'false');
    const known = await user.program('errors', 'list', '--json');
    const talk = await build();
    expect(talk.asked.map(plain)).toEqual(without.asked.map(plain));
    await user.talk('Fail.', scripted([[bash('node --another-option x.js')]], []));
    await Bun.sleep(1000);
    expect(await user.program('errors', 'list', '--json')).toBe(known);
  });

  test('is gone with uninstall, and the configuration is as it was', async () => {
    await user.program('uninstall', '--purge', '--yes');
    expect(await config()).toBe(configuration);
    expect(existsSync(join(user.workspace.home, '.self-generation'))).toBe(false);
    expect((await build()).asked.map(plain)).toEqual(without.asked.map(plain));
  });
});
