import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import { readRecord } from '../../src/core/guards.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { offlineSuite } from './offline.ts';
import { toolNames } from './one-shot-model.ts';
import { MEMORY } from './one-shot-users.ts';
import {
  askPlainly,
  clearMarks,
  filesOf,
  inWorkspace,
  makeWorkspace,
  marksOf,
  processesNow,
  processesOf,
  type Workspace,
  writeFiles,
} from './one-shot-workspace.ts';
import { DIALECTS, PROJECT, touch } from './runs-dialects.ts';
import {
  ANSWER,
  answers,
  MCP,
  offered,
  results,
  runTurn,
  type Turn,
  type TurnRun,
  texts,
} from './runs-workspace.ts';

/** What is of one client alone as a sub-agent: the real client, run by its adapter, and a scripted model. */

const suite = await offlineSuite();
setDefaultTimeout(120_000);

const asJson = (value: unknown) => JSON.stringify(value);

suite('claude', () => {
  const client = clientNamed('claude');

  test('lets no plugin and no style in where there is no safe mode, because of our server', () =>
    inWorkspace('claude', async (workspace) => {
      const { root, home, marks, env } = workspace;
      const hook = { type: 'command', command: touch(marks, 'plugin-hook') };
      const words = (name: string) => `---\nname: ${name}\ndescription: ${PROJECT}\n---\n${PROJECT}`;
      const plugins = [{ name: 'plug', source: './plug', description: 'x' }];
      await writeFiles(join(root, 'market'), {
        '.claude-plugin/marketplace.json': { name: 'market', owner: { name: 'x' }, plugins },
        'plug/.claude-plugin/plugin.json': { name: 'plug', version: '1.0.0', description: 'x' },
        'plug/hooks/hooks.json': { hooks: { SessionStart: [{ hooks: [hook] }] } },
        'plug/.mcp.json': { mcpServers: { plug: { command: 'touch', args: [join(marks, 'plugin-mcp')] } } },
        'plug/skills/s/SKILL.md': words('s'),
        'plug/agents/a.md': words('a'),
      });
      for (const args of [`marketplace add ${join(root, 'market')}`, 'install plug@market']) {
        const options = { env, cwd: root, timeoutMs: 60_000 };
        const end = await runCommand('claude', ['plugin', ...args.split(' ')], options);
        expect(end).toMatchObject({ kind: 'exited', code: 0 });
      }
      clearMarks(workspace); // The hook at a session's end runs for these commands too.
      const settings = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'));
      await writeFiles(home, {
        '.claude/settings.json': { ...settings, outputStyle: 'mine', permissions: { allow: ['Task'] } },
        '.claude/output-styles/mine.md': words('mine'),
        '.claude/skills/u/SKILL.md': words('u'),
      });
      const run = await runTurn(workspace, client, { model: 'haiku', mcp: MCP, script: answers() });
      expect(run.conclusion).toMatchObject({ outcome: 'success' });
      expect(run.questions.flatMap(toolNames)).toContain('mcp__self-generation__echo');
      expect(run.questions.flatMap(toolNames)).not.toContain('Task');
      expect(asJson(run.questions)).not.toContain(PROJECT);
      expect(marksOf(workspace)).toEqual([]);
      expect((await askPlainly(workspace, answers())).end).toMatchObject({ kind: 'exited', code: 0 });
      expect(marksOf(workspace)).toEqual(expect.arrayContaining(['plugin-hook', 'plugin-mcp']));
    }));

  test("works with an agent's own login, and saves its sessions there", () =>
    inWorkspace('claude', async (workspace) => {
      const agentDir = join(workspace.root, 'agent');
      const settings = { apiKeyHelper: 'echo dummy', env: { ANTHROPIC_BASE_URL: workspace.modelUrl } };
      await writeFiles(agentDir, { 'settings.json': settings });
      const { ANTHROPIC_API_KEY: _key, ...env } = workspace.env;
      const turn = { model: 'haiku', env, script: answers() };
      const { conclusion } = await runTurn(workspace, client, turn);
      expect(conclusion).toMatchObject({ outcome: 'error', error: 'Not logged in · Please run /login' });
      const run = await runTurn(workspace, client, { ...turn, agentDir });
      expect(run.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(readdirSync(agentDir)).toContain('projects');
    }));
});

suite('opencode', () => {
  test("works with an agent's own login, and keeps its sessions with the run", () =>
    inWorkspace('opencode', async (workspace) => {
      const agentDir = join(workspace.root, 'agent');
      await writeFiles(agentDir, { 'opencode/auth.json': { openai: { type: 'api', key: 'dummy' } } });
      const { OPENCODE_CONFIG: _provider, ...env } = workspace.env;
      await writeFiles(workspace.home, { '.local/share/opencode/auth.json': {} });
      const run = await runTurn(workspace, clientNamed('opencode'), { env, agentDir, script: answers() });
      expect(run.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(workspace.gate.asked).toContain('POST api.openai.com/v1/responses');
      const paths = readdirSync(workspace.root, { recursive: true, encoding: 'utf8' });
      const databases = paths.filter((path) => path.endsWith('/opencode.db') && !path.startsWith('turn-'));
      expect(databases).toEqual(['kept/opencode-sessions/opencode.db']);
    }));
});

suite('codex', () => {
  const client = clientNamed('codex');
  const { command, agents } = DIALECTS.codex;
  let workspace: Workspace;
  const run = (turn: Turn) => runTurn(workspace, client, { model: 'gpt-5.5', ...turn });
  const inProject = (path: string) => join(workspace.root, 'project', path);
  beforeAll(async () => {
    workspace = await makeWorkspace('codex');
  });
  afterAll(() => workspace.remove());

  for (const model of ['gpt-6.1-sol', 'gpt-5.6-luna']) {
    test(`offers ${model} JavaScript from which no more can be reached`, async () => {
      const keys = 'text("REACHED: ".toLowerCase() + Object.keys(tools).sort().join(" "));';
      const script = answers([{ name: 'exec', input: keys }], [...agents]);
      const reached = (turn: TurnRun) => /reached: ([\w ]*)/.exec(texts(turn.questions[1]))?.[1]?.split(' ');
      const open = await run({ model, script });
      expect(offered(open)).toEqual(open.questions.map(() => ['exec', 'wait']));
      expect(reached(open)).toEqual(expect.arrayContaining(['apply_patch', 'exec_command', 'web__run']));
      expect(reached(open)?.filter((tool) => /agent|goal|sleep|request_user/.test(tool))).toEqual([]);
      const policy = { deny: ['exec', 'web_search', 'view_image'], allow: null };
      const denied = await run({ model, policy, script });
      expect(reached(denied)).toContain('apply_patch');
      expect(reached(denied)?.filter((tool) => /exec|stdin|web|image/.test(tool))).toEqual([]);
    });
  }

  test('offers an unknown model no agents either', async () => {
    const other = await run({ model: 'some-other-model', script: answers([...agents]) });
    const tools = ['exec_command', 'view_image', 'web_search', 'write_stdin'];
    expect(offered(other)).toEqual(other.questions.map(() => tools));
    expect(other.conclusion.outcome).toBe('success');
  });

  test('lets commands write in the project and nowhere else, or not at all', async () => {
    // Anybody may write there, and the sandbox counts it to no directory for temporary files.
    const elsewhere = `/var/tmp/self-generation-client-test-${process.pid}`;
    writeFileSync(elsewhere, '');
    rmSync(elsewhere);
    const script = answers([command(`touch here.txt; touch '${elsewhere}'; git init -q .; ls -A`)]);
    try {
      const writing = await run({ script });
      expect(writing.conclusion.outcome).toBe('success');
      expect(existsSync(inProject('here.txt'))).toBe(true);
      expect(existsSync(inProject('.git'))).toBe(false);
      rmSync(inProject('here.txt'));
      await run({ policy: { deny: ['write', 'edit', 'apply_patch'], allow: null }, script });
      expect(existsSync(inProject('here.txt'))).toBe(false);
      expect(existsSync(elsewhere)).toBe(false);
    } finally {
      rmSync(elsewhere, { force: true });
    }
  });

  test('lets commands into the network where the web may be fetched from', async () => {
    const connect = `exec 3<>/dev/tcp/127.0.0.1/${new URL(workspace.modelUrl).port} && echo reached`;
    const told = async (turn: Partial<Turn>) =>
      results(await run({ ...turn, script: answers([command(connect)]) }))[0]?.text;
    expect(await told({})).toContain('reached');
    expect(await told({ policy: { deny: ['web_fetch'], allow: null } })).not.toContain('reached');
  });

  test('fails when our server does not start', async () => {
    const { conclusion } = await run({ mcp: { ...MCP, command: '/nonexistent' }, script: answers() });
    const error = expect.stringContaining('self-generation');
    expect(conclusion).toMatchObject({ outcome: 'error', error });
  });

  test('ends a running command when it is interrupted politely, and can go on afterwards', async () => {
    const sleep = { name: 'exec_command', input: { cmd: 'sleep 300 & sleep 301', yield_time_ms: 250 } };
    const work = answers([sleep], { kind: 'hang' });
    const { conclusion } = await run({
      prompt: 'find-me-nowhere',
      script: (request, index) => {
        const processes = processesNow(workspace.root);
        if (index === 1) {
          expect(processes.some(({ words }) => words.includes('sleep 300'))).toBe(true);
          const leader = processes.find(({ parent }) => parent === process.pid);
          process.kill(leader?.id ?? Number.NaN, client.politeSignal);
        }
        return work(request, index);
      },
    });
    const error = 'ended with exit code 1, without a result';
    expect(conclusion).toMatchObject({ outcome: 'error', error });
    expect(await processesOf(workspace)).toEqual([]);
    const session = { kind: 'resume', id: conclusion.sessionId ?? '' } as const;
    const again = await run({ session, script: answers() });
    expect(again.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
    expect(texts(again.questions[0])).toContain('find-me-nowhere');
  });

  test('asks for as much thinking as was said', async () => {
    const hard = await run({ thinking: 'xhigh', script: answers() });
    expect(hard.questions[0]?.body.reasoning).toMatchObject({ effort: 'xhigh' });
  });

  test("works with an agent's own login, and saves its sessions there", async () => {
    const agentDir = join(workspace.root, 'agent');
    const login = join(workspace.home, '.codex/auth.json');
    await writeFiles(agentDir, { 'auth.json': readFileSync(login, 'utf8') });
    rmSync(login);
    const own = await run({ agentDir, script: answers() });
    expect(own.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
    expect(asJson(own.questions)).not.toContain(MEMORY);
    expect(readdirSync(agentDir)).toContain('sessions');
  });
});

suite('gemini', () => {
  const client = clientNamed('gemini');

  test('asks for as much thinking as was said, of both generations of models', () =>
    inWorkspace('gemini', async (workspace) => {
      const told = async (model: string) => {
        const turn = await runTurn(workspace, client, { model, thinking: 'low', script: answers() });
        return readRecord(readRecord(turn.questions[0]?.body ?? {}, 'generationConfig'), 'thinkingConfig');
      };
      expect(await told('gemini-2.5-flash')).toEqual({ includeThoughts: true, thinkingBudget: 1024 });
      expect(await told('gemini-3-pro-preview')).toEqual({ includeThoughts: true, thinkingLevel: 'LOW' });
    }));

  test('logs in as the settings of the user say, and leaves nothing in their home', () =>
    inWorkspace('gemini', async (workspace) => {
      const turn = await runTurn(workspace, client, { model: 'gemini-2.5-flash', script: answers() });
      expect(turn.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(Object.keys(await filesOf(workspace))).not.toEqual([]);
      const left = readdirSync(join(workspace.home, '.gemini')).sort();
      expect(left).toEqual(['GEMINI.md', 'commands', 'settings.json']);
    }));
});
