import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { type Json, readRecord, readRecords, readString } from '../../src/core/guards.ts';
import { installCli } from './install-clis.ts';
import { type InstalledUser, makeUser, type Talk } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';

/** What the real Gemini CLI and its sub-agents are told by the extension that install has put there, and what is learnt meanwhile. */

const suite = await offlineSuite(() => installCli('gemini'));
setDefaultTimeout(180_000);

const CHECK = '#!/bin/sh\n[ -n "$PORT" ] || { echo "Error: PORT is not set" >&2; exit 1; }\necho built\n';
const LOOK = 'Look how gradlew builds.';

const shell = (command: string): ToolCall => ({
  name: 'run_shell_command',
  input: { command, description: 'x' },
});
const agent = (agent_name: string): ToolCall => ({
  name: 'invoke_agent',
  input: { agent_name, prompt: LOOK },
});
const FAILS = shell('./gradlew build');
const HELPS = shell('PORT=8080 ./gradlew build');

const textsOf = (holder: Json) => readRecords(holder.parts).flatMap((part) => readString(part, 'text') ?? []);
const contentsOf = ({ body }: ModelRequest) => readRecords(body.contents);
/** The session says what it is in its first message, a sub-agent has its task there. */
const isOfAgent = (request: ModelRequest) =>
  textsOf(contentsOf(request)[0] ?? {}).some((text) => text.startsWith(LOOK));

/** The main session's model takes its steps one after the other, and so does each sub-agent's; then they are done. */
function scripted(main: readonly ToolCall[], agents: readonly ToolCall[] = []): Script {
  const left = { main: [...main], agents: [...agents] };
  return (request) => {
    const call = (isOfAgent(request) ? left.agents : left.main).shift();
    if (call !== undefined) return { kind: 'calls', calls: [call] };
    if (!isOfAgent(request)) return { kind: 'text', text: 'Done.' };
    return { kind: 'calls', calls: [{ name: 'complete_task', input: { result: { response: 'Done.' } } }] };
  };
}

/** Without the client's own instructions, which speak of hooks. */
const saidIn = ({ asked }: Talk) => JSON.stringify(asked.map(contentsOf));
const agentsOf = ({ asked }: Talk) => asked.filter(isOfAgent);
/** What the results of commands say, as the model gets them at last. */
const resultsOf = ({ asked }: Talk) =>
  contentsOf(asked.at(-1) as ModelRequest)
    .flatMap(({ parts }) => readRecords(parts))
    .map((part) => readRecord(part, 'functionResponse'))
    .filter(({ name }) => name === 'run_shell_command')
    .map((result) => readString(readRecord(result, 'response'), 'output') ?? '');

suite('the extension of Gemini CLI', () => {
  let user: InstalledUser;
  const build = () => user.talk('Build it.', scripted([FAILS, HELPS]));
  const known = () => user.program('errors', 'list');

  beforeAll(async () => {
    user = await makeUser('gemini');
    await writeFiles(user.project, { gradlew: CHECK });
    await chmod(join(user.project, 'gradlew'), 0o755);
    // Without a flag: it is there.
    await user.program('install');
    await user.program('config', 'set', 'language', 'en');
  });
  afterAll(() => user.workspace.remove());

  test('learns from a session as it runs, and answers the next failure with what helped', async () => {
    const first = await build();
    expect(saidIn(first)).not.toContain('hook_context');
    for (let round = 0; round < 50 && !(await known()).includes('PORT=8080'); round++) await Bun.sleep(100);
    expect(await known()).toContain('use `PORT=8080 ./gradlew build`');
    const [failed = ''] = resultsOf(await user.talk('Once more.', scripted([FAILS])));
    expect(failed).toContain('Exit Code: 1');
    expect(failed).toContain('<hook_context>');
    // The client writes our brackets so.
    expect(failed).toContain('&lt;record');
    expect(failed).toContain('use `PORT=8080 ./gradlew build`');
  });

  test('counts a failure that was answered as one, with the exit code that it had', async () => {
    for (let round = 0; round < 50 && !(await known()).includes('seen 2'); round++) await Bun.sleep(100);
    expect(await known()).toContain('seen 2');
  });

  test('begins a session with what was learnt', async () => {
    const { asked } = await user.talk('Hello.', scripted([]));
    const [, told = ''] = textsOf(contentsOf(asked[0] as ModelRequest)[0] ?? {});
    expect(told).toStartWith('<hook_context>&lt;record');
    expect(told).toContain('Error: PORT is not set');
    expect(told).toEndWith('</hook_context>\n\nHello.');
  });

  test('gives a sub-agent what was learnt behind its task, in every request the same', async () => {
    const requests = agentsOf(
      await user.talk('Look.', scripted([agent('generalist')], [shell('ls'), shell('ls -l')])),
    );
    expect(requests).toHaveLength(3);
    const told = requests.map(
      (request) => textsOf(contentsOf(request)[0] ?? {}).find((text) => text.startsWith(LOOK)) ?? '',
    );
    expect(new Set(told).size).toBe(1);
    const context = told[0]?.slice(LOOK.length).trim() ?? '';
    expect(context).toStartWith('<record ');
    expect(context).toContain('use `PORT=8080 ./gradlew build`');
    expect(context).toEndWith('</record>');
    expect(context.length).toBeLessThanOrEqual(500);
  });

  test('gives a sub-agent what its own session has just learnt', async () => {
    await writeFiles(user.project, { other: CHECK.replaceAll('PORT', 'HOST_NAME') });
    await chmod(join(user.project, 'other'), 0o755);
    const steps = [shell('./other'), shell('HOST_NAME=a ./other'), agent('generalist')];
    const [request] = agentsOf(await user.talk('Do.', scripted(steps)));
    expect(JSON.stringify(request?.body.contents)).toContain('HOST_NAME is not set');
  });

  test('tells nothing to a sub-agent that does not change files', async () => {
    const requests = agentsOf(await user.talk('Look.', scripted([agent('codebase_investigator')])));
    for (const request of requests) expect(JSON.stringify(request.body.contents)).not.toContain('<record ');
  });

  test('says in doctor that it works', async () => {
    expect(await user.program('doctor')).toMatch(
      /ok +Gemini CLI +has the extension in .*a hook of it ran last at 20/,
    );
  });

  test('is gone with uninstall', async () => {
    await user.program('uninstall', '--purge', '--yes');
    expect(existsSync(join(user.workspace.home, '.gemini/extensions'))).toBe(false);
    const talk = await user.talk('Once more.', scripted([FAILS, agent('generalist')]));
    expect(saidIn(talk)).not.toMatch(/hook_context|<record /);
  });
});
