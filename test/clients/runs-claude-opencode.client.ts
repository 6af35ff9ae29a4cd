import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TurnRequest } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import { NO_TOOLS, SUBAGENT_DENY } from '../../src/runs/model/tool-policy.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { textsOf } from './checks.ts';
import { installCli } from './install-clis.ts';
import { enterNamespace } from './namespace.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { MEMORY, USERS } from './one-shot-users.ts';
import { askPlainly, filesOf, makeWorkspace, marksOf, SECRET, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS, PROJECT, touch } from './runs-dialects.ts';
import { runTurn, type Turn, type TurnRun } from './runs-workspace.ts';

/** Claude Code and OpenCode as sub-agents: the real clients, run by their adapters, and a scripted model. */

const NAMES = ['claude', 'opencode'] as const;
type Name = (typeof NAMES)[number];

const entry = await enterNamespace(() => Promise.all(NAMES.map(installCli)));
if (entry.kind === 'ended') process.exit(entry.exitCode);
if (entry.kind === 'refused') console.log(`SKIPPED: ${entry.reason}`);
const suite = entry.kind === 'refused' ? describe.skip : describe;

setDefaultTimeout(120_000);

const ANSWER = '다 했습니다 👍';
const STAND_IN = join(import.meta.dir, 'mcp-stand-in.main.ts');

/** The answers in their order, then a last word. */
function answers(...given: readonly (readonly ToolCall[] | ModelAnswer)[]): Script {
  return (_request, index) => {
    const answer = given[index] ?? { kind: 'text', text: ANSWER };
    return 'kind' in answer ? answer : { kind: 'calls', calls: answer };
  };
}

const asJson = (value: unknown) => JSON.stringify(value);
const texts = (request: ModelRequest | undefined) => textsOf(request?.body).join('\n');
const results = ({ events }: TurnRun) =>
  events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));

for (const name of NAMES) {
  suite(`clientNamed('${name}')`, () => {
    const client = clientNamed(name);
    const dialect = DIALECTS[name];
    const { read, edit, write, command, server } = dialect;
    let workspace: Workspace;
    let first: TurnRun;
    const run = (turn: Turn) => runTurn(workspace, client, { model: dialect.model, ...turn });
    const inProject = (path: string) => join(workspace.root, 'project', path);
    const mcp = (): TurnRequest['mcp'] => ({
      command: process.execPath,
      args: [STAND_IN],
      env: { STAND_IN_SECRET: 'secret-of-the-server' },
    });

    beforeAll(async () => {
      workspace = await makeWorkspace(name);
      put(join(workspace.root, 'project'), {
        ...dialect.project(workspace.marks),
        ...Object.fromEntries(['AGENTS.md', 'CLAUDE.md'].map((file) => [file, PROJECT])),
        'notes.txt': 'line one\n',
      });
    });
    afterAll(() => workspace.remove());

    test('prints its version in the form that is read', async () => {
      const end = await runCommand(client.name, ['--version'], { env: workspace.env, timeoutMs: 20_000 });
      const version = client.version.read(end.kind === 'exited' ? end.stdout : '');
      expect(client.version.measured).toContain(version ?? '');
    });

    test('edits a file and runs a command without being asked, with its prompt in no argument', async () => {
      const prompt = `@${workspace.secret} 이 파일을 고쳐 주세요: find-me-nowhere`;
      const seen: string[] = [];
      const work = answers(
        [read(inProject('notes.txt'))],
        [
          edit(inProject('notes.txt'), 'line one', 'line 1'),
          command('echo ran > ran.txt; echo loud >&2; exit 3'),
        ],
      );
      const before = await filesOf(workspace);
      first = await run({
        prompt,
        policy: { deny: SUBAGENT_DENY, allow: null },
        script: (request, index) => {
          seen.push(...commandLinesOf(workspace));
          return work(request, index);
        },
      });
      expect(first.conclusion).toMatchObject({ outcome: 'success', text: ANSWER, error: null });
      expect(readFileSync(inProject('notes.txt'), 'utf8')).toBe('line 1\n');
      expect(readFileSync(inProject('ran.txt'), 'utf8')).toBe('ran\n');
      expect(results(first).map(({ isError }) => isError)).toEqual([false, false, true]);
      expect(results(first).at(-1)?.text).toContain('loud');
      expect(first.conclusion.usage).toMatchObject({ inputTokens: 300, outputTokens: 60 });
      expect(texts(first.questions[0])).toContain('find-me-nowhere');
      expect(asJson(first.questions)).not.toContain(SECRET);
      expect(seen.some((line) => line.includes(client.name))).toBe(true);
      expect(seen.filter((line) => line.includes('find-me-nowhere'))).toEqual([]);
      expect(await filesOf(workspace)).toEqual(before);
    });

    test('offers what the policy lets through and nothing that starts agents', () => {
      expect(first.questions.map((question) => toolNames(question).sort())).toEqual(
        first.questions.map(() => [...dialect.tools]),
      );
    });

    test('runs no hook, server or plugin of the user or the project, and reads none of their words', async () => {
      expect(marksOf(workspace)).toEqual([]);
      expect(asJson(first.questions)).not.toContain(MEMORY);
      expect(asJson(first.questions)).not.toContain(PROJECT);
      expect(workspace.gate.asked.filter((what) => what.startsWith('refused'))).toEqual([]);
      const before = workspace.board.model.requests.length;
      workspace.board.script = answers();
      const { model } = workspace.board;
      const plain = await runCommand(name, USERS[name].plainArgs, {
        cwd: inProject(''),
        env: workspace.env,
        stdin: 'Hello',
        timeoutMs: 60_000,
      });
      expect(plain).toMatchObject({ kind: 'exited', code: 0 });
      expect(marksOf(workspace)).toEqual(
        expect.arrayContaining([...USERS[name].plainMarks, ...dialect.projectMarks]),
      );
      const asked = model.requests.slice(before);
      expect(asked.flatMap(toolNames).some((tool) => dialect.plainTools.includes(tool))).toBe(true);
      expect(asJson(asked)).toContain(MEMORY);
      expect(asJson(asked)).toContain(PROJECT);
      await clearMarks(workspace);
    });

    test('goes on with a session, which then holds both conversations', async () => {
      const id = first.conclusion.sessionId ?? '';
      const run2 = await run({
        session: { kind: 'resume', id },
        before: first.conclusion.usage,
        prompt: 'And now?',
        script: answers(),
      });
      expect(run2.conclusion).toMatchObject({ outcome: 'success', sessionId: id });
      expect(run2.conclusion.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
      expect(texts(run2.questions[0])).toContain('find-me-nowhere');
      expect(texts(run2.questions[0])).toContain(ANSWER);
      expect(texts(run2.questions[0])).toContain('And now?');
      expect(toolNames(run2.questions[0] ?? (first.questions[0] as ModelRequest)).sort()).toEqual([
        ...dialect.tools,
      ]);
    });

    test('goes on in a session for a step without any tool', async () => {
      const id = first.conclusion.sessionId ?? '';
      const step = await run({
        session: { kind: 'resume', id },
        policy: NO_TOOLS,
        mcp: mcp(),
        prompt: 'Sum it up.',
        script: answers(),
      });
      expect(step.conclusion).toMatchObject({ outcome: 'success', text: ANSWER, sessionId: id });
      expect(texts(step.questions[0])).toContain('find-me-nowhere');
      expect(step.questions.map(toolNames)).toEqual([[]]);
    });

    test('does not offer what is denied, and gets nowhere by calling it all the same', async () => {
      const marked = join(workspace.marks, 'tool');
      const calls = [command(`touch '${marked}'`), write(marked), ...dialect.agents];
      const denied = await run({
        policy: { deny: [...SUBAGENT_DENY, 'exec', 'write', 'edit', 'apply_patch'], allow: null },
        script: answers(...calls.map((call) => [call])),
      });
      expect(denied.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(results(denied).map(({ isError }) => isError)).toEqual(calls.map(() => true));
      expect(denied.questions).toHaveLength(calls.length + 1);
      for (const question of denied.questions)
        expect(toolNames(question).sort()).toEqual([...dialect.readingTools]);
      expect(marksOf(workspace)).toEqual([]);
    });

    test('gets no agent, background command or alarm even where everything is allowed', async () => {
      const { agents } = dialect;
      const open = await run({
        policy: { deny: [], allow: ['*'] },
        script: answers(...agents.map((call) => [call])),
      });
      expect(results(open).map(({ isError }) => isError)).toEqual(agents.map(() => true));
      expect(open.questions).toHaveLength(agents.length + 1);
      expect(open.questions.map((question) => toolNames(question).sort())).toEqual(
        open.questions.map(() => [...dialect.tools]),
      );
    });

    test('has our own server beside no other, and of its tools those that the policy lets through', async () => {
      const own = await run({
        mcp: mcp(),
        policy: { deny: ['mcp__self-generation__other'], allow: null },
        script: answers([{ name: server('echo'), input: { text: 'hello' } }], [command('env')]),
      });
      expect(own.conclusion.outcome).toBe('success');
      expect(results(own)[0]).toMatchObject({ isError: false, text: 'hello secret-of-the-server' });
      expect(results(own)[1]?.text).toContain('SELF_GENERATION_INTERNAL=1');
      expect(results(own)[1]?.text).not.toContain('secret-of-the-server');
      const offered = toolNames(own.questions[0] as ModelRequest);
      expect(offered.sort()).toEqual([...dialect.tools, server('echo')].sort());
      expect(asJson(own.questions)).not.toContain(MEMORY);
      expect(asJson(own.questions)).not.toContain(PROJECT);
      expect(marksOf(workspace)).toEqual([]);
    });

    test('says that the model was refused, as long as nothing was done', async () => {
      const script: Script = () => ({ kind: 'refuse', status: 404, message: 'model: nosuch' });
      const refused = await run({ model: dialect.unknownModel, script });
      expect(refused.conclusion).toMatchObject({ outcome: 'error', isModelRefused: true, text: null });
      expect(refused.conclusion.error).toContain('nosuch');
      expect(marksOf(workspace)).toEqual([]);
    });
  });
}

/** A workspace of this client's that is gone when the work is done. */
async function inWorkspace(name: Name, work: (workspace: Workspace) => Promise<void>): Promise<void> {
  const workspace = await makeWorkspace(name);
  try {
    await work(workspace);
  } finally {
    await workspace.remove();
  }
}

async function clearMarks(workspace: Workspace): Promise<void> {
  for (const mark of marksOf(workspace)) await Bun.file(join(workspace.marks, mark)).delete();
}

function put(root: string, files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), typeof content === 'string' ? content : asJson(content));
  }
}

suite('claude', () => {
  const client = clientNamed('claude');
  const mcp = { command: process.execPath, args: [STAND_IN], env: {} };

  test('lets no plugin and no style in where there is no safe mode, because of our server', () =>
    inWorkspace('claude', async (workspace) => {
      const { root, home, marks, env } = workspace;
      const hooks = {
        SessionStart: [{ hooks: [{ type: 'command', command: touch(marks, 'plugin-hook') }] }],
      };
      put(join(root, 'market'), {
        '.claude-plugin/marketplace.json': {
          name: 'market',
          owner: { name: 'x' },
          plugins: [{ name: 'plug', source: './plug', description: 'x' }],
        },
        'plug/.claude-plugin/plugin.json': { name: 'plug', version: '1.0.0', description: 'x' },
        'plug/hooks/hooks.json': { hooks },
        'plug/.mcp.json': { mcpServers: { plug: { command: 'touch', args: [join(marks, 'plugin-mcp')] } } },
        'plug/skills/s/SKILL.md': `---\nname: s\ndescription: ${PROJECT}\n---\n${PROJECT}`,
        'plug/agents/a.md': `---\nname: a\ndescription: ${PROJECT}\n---\n${PROJECT}`,
      });
      for (const args of [
        ['marketplace', 'add', join(root, 'market')],
        ['install', 'plug@market'],
      ]) {
        const end = await runCommand('claude', ['plugin', ...args], { env, cwd: root, timeoutMs: 60_000 });
        expect(end).toMatchObject({ kind: 'exited', code: 0 });
      }
      await clearMarks(workspace); // The hook at a session's end runs for these commands too.
      const settings = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'));
      put(home, {
        '.claude/settings.json': { ...settings, outputStyle: 'mine', permissions: { allow: ['Task'] } },
        '.claude/output-styles/mine.md': `---\nname: mine\ndescription: x\n---\n${PROJECT}`,
        '.claude/skills/u/SKILL.md': `---\nname: u\ndescription: ${PROJECT}\n---\n${PROJECT}`,
      });
      const run = await runTurn(workspace, client, { model: 'haiku', mcp, script: answers() });
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
      put(agentDir, {
        'settings.json': { apiKeyHelper: 'echo dummy', env: { ANTHROPIC_BASE_URL: workspace.modelUrl } },
      });
      const { ANTHROPIC_API_KEY: _key, ...env } = workspace.env;
      const turn = { model: 'haiku', env, script: answers() };
      expect((await runTurn(workspace, client, turn)).conclusion).toMatchObject({
        outcome: 'error',
        error: 'Not logged in · Please run /login',
      });
      const run = await runTurn(workspace, client, { ...turn, agentDir });
      expect(run.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(readdirSync(agentDir)).toContain('projects');
    }));
});

suite('opencode', () => {
  test("works with an agent's own login, and keeps its sessions with the run", () =>
    inWorkspace('opencode', async (workspace) => {
      const agentDir = join(workspace.root, 'agent');
      put(agentDir, { 'opencode/auth.json': { openai: { type: 'api', key: 'dummy' } } });
      const { OPENCODE_CONFIG: _provider, ...env } = workspace.env;
      put(workspace.home, { '.local/share/opencode/auth.json': {} });
      const run = await runTurn(workspace, clientNamed('opencode'), { env, agentDir, script: answers() });
      expect(run.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(workspace.gate.asked).toContain('POST api.openai.com/v1/responses');
      const paths = readdirSync(workspace.root, { recursive: true, encoding: 'utf8' });
      const databases = paths.filter((path) => path.endsWith('/opencode.db') && !path.startsWith('turn-'));
      expect(databases).toEqual(['kept/opencode-sessions/opencode.db']);
    }));
});

/** The command lines of the processes that were started from this workspace. */
function commandLinesOf({ root }: Workspace): string[] {
  return readdirSync('/proc')
    .filter((id) => /^\d+$/.test(id) && readOptional(`/proc/${id}/environ`).includes(root))
    .map((id) => readOptional(`/proc/${id}/cmdline`).replaceAll('\0', ' '));
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // A process that is just ending.
  }
}
