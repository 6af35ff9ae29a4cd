import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '../../scripts/build.ts';
import { clientEnvironment } from '../../src/setup/live-check.ts';
import {
  answer,
  type ModelRequest,
  type ModelTurn,
  type Script,
  say,
  startScriptedModel,
  startSubAgent,
  useTool,
} from '../../src/setup/scripted-model.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { BINARY, ROOT } from '../support/program.ts';
import { addArchive } from '../support/releases.ts';
import { treeBelow } from '../support/tree.ts';
import { makeWorkspace, removeWorkspace, runClientOn, type Workspace } from './claude-code.ts';
import { CLIENT_VERSION, installClient } from './install-client.ts';
import { offlineSuite } from './offline.ts';

/** install.sh, an update while a session of the real Claude Code runs, and uninstall, as a user meets them. */

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));
setDefaultTimeout(300_000);

const MARKER = 'update-marker';
/** A user's own, written as nobody else would. */
const SETTINGS = '{\r\n   "model":"some-model",\r\n\t"env": {}\r\n}';
/** What Claude Code writes by itself. */
const OF_CLIENT = /^\.claude\.json|^\.claude\/(?!settings|agents)|^\.cache|^\.local|^\.npm|^\.config$/;

const fail = answer(useTool('Bash', { command: `ls --${MARKER}`, description: 'Fail' }));
const agent = (conversation: string) =>
  answer(startSubAgent('general-purpose', conversation, { run_in_background: false }));
const waitFor = (path: string) =>
  answer(
    useTool('Bash', {
      command: `touch '${path}-begun'; until [ -e '${path}' ]; do sleep 0.1; done`,
      description: 'Wait',
    }),
  );
/** By the MCP server of the session, which has to start a program for it. */
const spawn = answer(
  useTool('mcp__self-generation__sessions_spawn', {
    task: '[[conv:spawned]] Look as well.',
    client: 'claude',
  }),
);
const done: ModelTurn = answer(say('done'));

suite('an update while Claude Code runs', () => {
  let workspace: Workspace;
  let release: string;
  let before: Record<string, string>;
  let requests: readonly ModelRequest[] = [];
  const state = (...names: string[]) => join(workspace.home, '.self-generation', ...names);
  const binary = () => state('hooks', 'self-generation');
  const run = (program: string, ...words: string[]) =>
    runCommand(program, words, {
      env: { ...clientEnvironment(process.env, workspace, 'http://127.0.0.1:9'), XZ_OPT: undefined },
      cwd: workspace.project,
      timeoutMs: 120_000,
    });
  const stdoutOf = async (program: string, ...words: string[]) => {
    const end = await run(program, ...words);
    if (end.kind !== 'exited' || end.code !== 0)
      throw new Error(`${words.join(' ')}: ${JSON.stringify(end)}`);
    return end.stdout;
  };
  const ofUser = () => {
    const all = Object.entries(treeBelow(workspace.home));
    return Object.fromEntries(all.filter(([name]) => !OF_CLIENT.test(name)));
  };
  const told = (conversation: string) => {
    const first = requests.find((one) => one.kind === 'turn' && one.conversation === conversation);
    return JSON.stringify(first?.kind === 'turn' ? first.body : '').includes(`--${MARKER}`);
  };
  const answers = { count: 0, empty: 0 };

  /** Has hooks answer, one after the other, until this is over. */
  async function hooksAnswerUntil(isOver: () => boolean): Promise<void> {
    const event = {
      hook_event_name: 'SubagentStart',
      session_id: 's',
      cwd: workspace.project,
      agent_id: 'a',
      agent_type: 'general-purpose',
    };
    while (!isOver()) {
      const end = await runCommand(binary(), ['hook', 'subagent-context'], {
        env: clientEnvironment(process.env, workspace, ''),
        cwd: workspace.project,
        stdin: JSON.stringify(event),
        timeoutMs: 20_000,
      });
      answers.count++;
      if (end.kind !== 'exited' || !end.stdout.includes(`--${MARKER}`)) answers.empty++;
    }
  }

  beforeAll(async () => {
    workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: BINARY });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    release = join(workspace.root, 'release');
    mkdirSync(release);
    addArchive(release, `self-generation-${version}-linux-x64.tar.xz`, readFileSync(BINARY));
    const next = join(workspace.root, 'next', 'self-generation');
    process.chdir(ROOT);
    await compile('src/main.ts', next, { version: '99.0.0' });
    writeFileSync(join(workspace.home, '.claude', 'settings.json'), SETTINGS);
    before = ofUser();
    const script = join(ROOT, 'scripts/install.sh');
    const installed = await stdoutOf('sh', script, '--from', release, '--', '--mcp', 'claude');
    expect(installed).toContain('Installed self-generation.');
    addArchive(release, 'self-generation-99.0.0-linux-x64.tar.xz', readFileSync(next));
  });
  afterAll(() => removeWorkspace(workspace));

  test('sessions have what hooks say before, during and after it', async () => {
    const go = join(workspace.temporary, 'go');
    const script: Script = {
      main: [fail, agent('before'), waitFor(go), spawn, agent('after'), done],
      spawned: [done],
      before: [done],
      after: [done],
    };
    const model = startScriptedModel({ script });
    requests = model.requests;
    const isAsked = (name: string) =>
      requests.some((one) => one.kind === 'turn' && one.conversation === name);
    const session = runClientOn(model, workspace, { prompt: '[[conv:main]] Look.' });
    while (!existsSync(`${go}-begun`)) await Bun.sleep(50);
    let isOver = false;
    const [report] = await Promise.all([
      stdoutOf(binary(), 'update', '--from', release, '--json').finally(() => {
        isOver = true;
      }),
      hooksAnswerUntil(() => isOver),
    ]);
    expect(JSON.parse(report)).toMatchObject({ state: 'updated', newest: '99.0.0' });
    // The session's MCP server is still that of before.
    expect(readdirSync(state('hooks', 'versions'))).toHaveLength(1);
    expect(await stdoutOf(binary(), 'doctor')).toContain('kept as long as a session runs one');
    writeFileSync(go, '');
    await session;
    for (let tries = 0; tries < 200 && !isAsked('spawned'); tries++) await Bun.sleep(100);
    await stdoutOf(binary(), 'subagents', 'stop', 'all', '--project');
    await model.stop();
    expect(isAsked('spawned')).toBe(true);
    expect([told('before'), told('after')]).toEqual([true, true]);
    expect(answers.count).toBeGreaterThan(3);
    expect(answers.empty).toBe(0);
    expect(await stdoutOf(binary(), '--version')).toBe('99.0.0\n');
  });

  test('what nobody runs any more goes', async () => {
    expect(await stdoutOf(binary(), 'doctor')).toContain('no session runs one any more; removed');
    expect(readdirSync(state('hooks'))).toEqual(['self-generation']);
  });

  test('uninstall leaves the home as it was before', async () => {
    await stdoutOf(binary(), 'uninstall', '--purge', '--yes');
    expect(ofUser()).toEqual(before);
    const { mcpServers = {} } = JSON.parse(readFileSync(join(workspace.home, '.claude.json'), 'utf8'));
    expect(mcpServers).toEqual({});
    expect(readFileSync(join(workspace.home, '.claude', 'settings.json'), 'utf8')).toBe(SETTINGS);
  });
});
