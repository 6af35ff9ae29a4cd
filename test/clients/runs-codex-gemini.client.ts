import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TurnRequest } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import { readRecord } from '../../src/core/guards.ts';
import { NO_TOOLS, SUBAGENT_DENY } from '../../src/runs/model/tool-policy.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { textsOf } from './checks.ts';
import { installCli } from './install-clis.ts';
import { enterNamespace } from './namespace.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { MEMORY } from './one-shot-users.ts';
import {
  askPlainly,
  filesOf,
  makeWorkspace,
  marksOf,
  processesOf,
  SECRET,
  type Workspace,
} from './one-shot-workspace.ts';
import { runTurn, type Turn, type TurnRun } from './runs-workspace.ts';

/** Codex and Gemini CLI as sub-agents: the real clients, run by their adapters, and a scripted model. */

const NAMES = ['codex', 'gemini'] as const;
type Name = (typeof NAMES)[number];

const entry = await enterNamespace(() => Promise.all(NAMES.map(installCli)));
if (entry.kind === 'ended') process.exit(entry.exitCode);
if (entry.kind === 'refused') console.log(`SKIPPED: ${entry.reason}`);
const suite = entry.kind === 'refused' ? describe.skip : describe;

setDefaultTimeout(120_000);

const ANSWER = '다 했습니다 👍';
const PROJECT = 'the-words-of-the-project';
const STAND_IN = join(import.meta.dir, 'mcp-stand-in.main.ts');

/** How each client says the same things. */
type Dialect = {
  readonly model: string;
  /** All that a child is offered, and what it is of that when nothing may write, run or reach the web. */
  readonly tools: readonly string[];
  readonly harmlessTools: readonly string[];
  readonly edit: (path: string) => ToolCall;
  readonly write: (path: string) => ToolCall;
  readonly command: (command: string) => ToolCall;
  readonly echo: ToolCall;
  /** The client's own ways to agents and to commands in the background. */
  readonly agents: readonly ToolCall[];
  /** What the project has that must not count. */
  readonly project: (marks: string) => Readonly<Record<string, string>>;
};

const hook = (marks: string, mark: string) => ({
  hooks: [{ type: 'command', command: `touch '${join(marks, mark)}'` }],
});

const DIALECTS: Readonly<Record<Name, Dialect>> = {
  codex: {
    model: 'gpt-5.5',
    tools: ['apply_patch', 'exec_command', 'view_image', 'web_search', 'write_stdin'],
    harmlessTools: ['apply_patch', 'view_image'], // The first is refused by the sandbox.
    edit: (path) => ({
      name: 'apply_patch',
      input: `*** Begin Patch\n*** Update File: ${path}\n@@\n-line one\n+line 1\n*** End Patch`,
    }),
    write: (path) => ({
      name: 'apply_patch',
      input: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch`,
    }),
    command: (command) => ({ name: 'exec_command', input: { cmd: command } }),
    echo: { name: 'echo', namespace: 'mcp__self_generation', input: { text: 'hello' } },
    agents: [
      { name: 'spawn_agent', input: { message: 'x' } },
      { name: 'spawn_agent', namespace: 'multi_agent_v1', input: { message: 'x' } },
      { name: 'spawn_agent', namespace: 'collaboration', input: { task_name: 'x', message: 'x' } },
    ],
    project: (marks) => ({
      'AGENTS.md': PROJECT,
      '.codex/hooks.json': JSON.stringify({ hooks: { SessionStart: [hook(marks, 'project-hook')] } }),
      '.codex/config.toml': `[mcp_servers.p]\ncommand = "touch"\nargs = ["${join(marks, 'project-mcp')}"]`,
    }),
  },
  gemini: {
    model: 'gemini-2.5-flash',
    tools: [
      ...['glob', 'google_web_search', 'grep_search', 'list_directory', 'read_file', 'replace'],
      ...['run_shell_command', 'web_fetch', 'write_file', 'write_todos'],
    ],
    harmlessTools: ['glob', 'grep_search', 'list_directory', 'read_file', 'write_todos'],
    edit: (path) => ({
      name: 'replace',
      input: { file_path: path, old_string: 'line one', new_string: 'line 1', instruction: 'x' },
    }),
    write: (path) => ({ name: 'write_file', input: { file_path: path, content: 'x' } }),
    command: (command) => ({ name: 'run_shell_command', input: { command, description: 'x' } }),
    echo: { name: 'mcp_self-generation_echo', input: { text: 'hello' } },
    agents: [
      { name: 'invoke_agent', input: { agent_name: 'generalist', prompt: 'x' } },
      { name: 'run_shell_command', input: { command: 'sleep 300', is_background: true } },
    ],
    project: (marks) => ({
      'GEMINI.md': PROJECT,
      'AGENTS.md': PROJECT,
      '.gemini/.env': `THE_PROJECT=${PROJECT}`,
      '.gemini/agents/mine.md': `---\nname: mine\ndescription: ${PROJECT}\nkind: local\n---\n${PROJECT}`,
      '.gemini/settings.json': JSON.stringify({
        context: { fileName: 'AGENTS.md' },
        tools: { core: ['invoke_agent'] },
        mcpServers: { p: { command: 'touch', args: [join(marks, 'project-mcp')] } },
        hooks: { SessionStart: [hook(marks, 'project-hook')] },
      }),
    }),
  },
};

/** The answers in their order, then a last word. */
function answers(...given: readonly (readonly ToolCall[] | ModelAnswer)[]): Script {
  return (_request, index) => {
    const answer = given[index] ?? { kind: 'text', text: ANSWER };
    return 'kind' in answer ? answer : { kind: 'calls', calls: answer };
  };
}

const asJson = (value: unknown) => JSON.stringify(value);
const texts = (request: ModelRequest | undefined) => textsOf(request?.body).join('\n');
const offered = (request: ModelRequest) => toolNames(request).sort();
const results = ({ events }: TurnRun) =>
  events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));
const mcp: NonNullable<TurnRequest['mcp']> = {
  command: process.execPath,
  args: [STAND_IN],
  env: { STAND_IN_SECRET: 'secret-of-the-server' },
};

for (const name of NAMES) {
  suite(`clientNamed('${name}')`, () => {
    const client = clientNamed(name);
    const dialect = DIALECTS[name];
    const { edit, write, command } = dialect;
    const isCodex = name === 'codex';
    let workspace: Workspace;
    let first: TurnRun;
    const run = (turn: Turn) => runTurn(workspace, client, { model: dialect.model, ...turn });
    const inProject = (path: string) => join(workspace.root, 'project', path);

    beforeAll(async () => {
      workspace = await makeWorkspace(name);
      const files = { ...dialect.project(workspace.marks), 'notes.txt': 'line one\n' };
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(inProject(path)), { recursive: true });
        writeFileSync(inProject(path), text);
      }
    });
    afterAll(() => workspace.remove());

    test('prints its version in the form that is read', async () => {
      const { PATH, HOME } = workspace.env; // With the user's NODE_OPTIONS nothing of Node's would start.
      const env = { PATH, HOME };
      const end = await runCommand(client.name, ['--version'], { env, timeoutMs: 20_000 });
      const version = client.version.read(end.kind === 'exited' ? end.stdout : '');
      expect(client.version.measured).toContain(version ?? '');
    });

    test('edits a file and runs a command without being asked, with its prompt in no argument', async () => {
      const prompt = `/help @${workspace.secret} @notes.txt !{id} 고쳐 주세요: find-me-nowhere`;
      const seen: string[] = [];
      const work = answers(
        [edit(inProject('notes.txt'))],
        [command('sleep 0.2; echo ran > ran.txt; echo loud >&2; exit 3')],
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
      expect(results(first).at(-1)?.text).toContain('loud');
      // Gemini CLI calls a command that failed a success.
      expect(results(first).map(({ isError }) => isError)).toEqual([false, isCodex]);
      expect(first.conclusion.usage).toMatchObject({ inputTokens: 300, outputTokens: 60 });
      expect(texts(first.questions[0])).toContain(prompt);
      expect(asJson(first.questions)).not.toContain(SECRET);
      expect(seen.some((line) => line.includes(client.name))).toBe(true);
      expect(seen.filter((line) => line.includes('find-me-nowhere'))).toEqual([]);
      expect(await filesOf(workspace)).toEqual(before);
    });

    test('offers what the policy lets through and nothing that starts agents', () => {
      expect(first.questions.map(offered)).toEqual(first.questions.map(() => [...dialect.tools]));
    });

    test('runs no hook and no server of the user or the project, and reads none of their words', async () => {
      expect(marksOf(workspace)).toEqual([]);
      expect(asJson(first.questions).includes(MEMORY)).toBe(isCodex); // There is no switch for it.
      expect(asJson(first.questions)).not.toContain(PROJECT);
      expect(workspace.gate.asked.filter((what) => what.startsWith('refused'))).toEqual([]);
      const plain = await askPlainly(workspace, answers());
      expect(plain.end).toMatchObject({ kind: 'exited', code: 0 });
      expect(marksOf(workspace)).not.toEqual([]);
      await clearMarks(workspace);
    });

    test('goes on with a session, which then holds both conversations', async () => {
      const id = first.conclusion.sessionId ?? '';
      const second = await run({
        session: { kind: 'resume', id },
        before: first.conclusion.usage,
        prompt: 'And now?',
        script: answers(),
      });
      expect(second.conclusion).toMatchObject({ outcome: 'success', sessionId: id });
      expect(second.conclusion.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
      for (const said of ['find-me-nowhere', ANSWER, 'And now?'])
        expect(texts(second.questions[0])).toContain(said);
      expect(second.questions.map(offered)).toEqual([[...dialect.tools]]);
    });

    test('goes on with a session for a step in which nothing can be done', async () => {
      const id = first.conclusion.sessionId ?? '';
      const words = await run({
        session: { kind: 'resume', id },
        policy: NO_TOOLS,
        mcp,
        prompt: 'Sum it up.',
        script: answers([command('sleep 0.2; touch done.txt'), write(inProject('done.txt'))]),
      });
      expect(words.conclusion).toMatchObject({ outcome: 'success', text: ANSWER, sessionId: id });
      expect(texts(words.questions[0])).toContain('find-me-nowhere');
      expect(words.questions.map(offered)).toEqual(
        words.questions.map(() => (isCodex ? ['apply_patch'] : [])),
      );
      expect(existsSync(inProject('done.txt'))).toBe(false);
    });

    test('does not go on with a session that there is not', async () => {
      const session = { kind: 'resume', id: crypto.randomUUID() } as const;
      const none = await run({ session, script: answers() });
      expect(none.conclusion).toMatchObject({ outcome: 'error', sessionId: null });
      expect(none.questions).toEqual([]);
    });

    test('gets nowhere with what is denied', async () => {
      const marked = join(workspace.marks, 'tool');
      const calls = [command(`sleep 0.2; touch '${marked}'`), write(inProject('denied.txt'))];
      const denied = await run({
        policy: { deny: [...SUBAGENT_DENY, 'group:runtime', 'group:web', 'write', 'edit'], allow: null },
        script: answers(...calls.map((call) => [call])),
      });
      expect(denied.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(denied.questions.map(offered)).toEqual(denied.questions.map(() => [...dialect.harmlessTools]));
      expect(denied.questions).toHaveLength(calls.length + 1);
      expect(marksOf(workspace)).toEqual([]);
      expect(existsSync(inProject('denied.txt'))).toBe(false);
    });

    test('gets no agent and no command in the background even where everything is allowed', async () => {
      const { agents } = dialect;
      const open = await run({
        policy: { deny: [], allow: ['*'] },
        script: answers(...agents.map((call) => [call])),
      });
      expect(open.questions).toHaveLength(agents.length + 1); // A child of the client's own would ask too.
      expect(open.questions.map(offered)).toEqual(open.questions.map(() => [...dialect.tools]));
      expect(asJson(open.questions.at(-1))).toMatch(/unsupported call|not found|denied by policy/);
      expect(results(open).map(({ isError }) => isError)).toEqual(isCodex ? [] : [true, true]);
    });

    test('has our own server beside no other, whose secret no command sees', async () => {
      const own = await run({
        mcp,
        policy: { deny: ['mcp__self-generation__other'], allow: null },
        script: answers([dialect.echo], [command('sleep 0.2; env')]),
      });
      expect(own.conclusion.outcome).toBe('success');
      expect(results(own)[0]).toMatchObject({ isError: false, text: 'hello secret-of-the-server' });
      expect(results(own)[1]?.text).toContain('SELF_GENERATION_INTERNAL=1');
      expect(results(own)[1]?.text).not.toMatch(/STAND_IN_SECRET|API_KEY=/);
      expect(own.command.args.join(' ')).not.toContain('secret-of-the-server');
      expect(marksOf(workspace)).toEqual([]);
    });

    test('says that the model was refused, as long as nothing was done', async () => {
      const message = "The 'nosuch' model is not supported";
      const script: Script = () => ({ kind: 'refuse', status: isCodex ? 400 : 404, message });
      const refused = await run({ model: 'nosuch', script });
      expect(refused.conclusion).toMatchObject({ outcome: 'error', isModelRefused: true, error: message });
    });
  });
}

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

  const models = { 'gpt-6.1-sol': ['exec', 'wait'], 'gpt-5.6-luna': ['exec', 'wait'] };
  for (const [model, tools] of Object.entries(models)) {
    test(`offers ${model} JavaScript from which no more can be reached`, async () => {
      const keys = 'text("REACHED: ".toLowerCase() + Object.keys(tools).sort().join(" "));';
      const script = answers([{ name: 'exec', input: keys }], [...agents]);
      const reached = (turn: TurnRun) => /reached: ([\w ]*)/.exec(texts(turn.questions[1]))?.[1]?.split(' ');
      const open = await run({ model, script });
      expect(open.questions.map(offered)).toEqual(open.questions.map(() => tools));
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
    expect(other.questions.map(offered)).toEqual(
      other.questions.map(() => ['exec_command', 'view_image', 'web_search', 'write_stdin']),
    );
    expect(other.conclusion.outcome).toBe('success');
  });

  test('lets commands write in the project and nowhere else, or not at all', async () => {
    // Anybody may write there, and the sandbox counts it to no directory for temporary files.
    const elsewhere = `/var/tmp/self-generation-client-test-${process.pid}`;
    await writeFile(elsewhere, '');
    await rm(elsewhere);
    const commands = `sleep 0.2; touch here.txt; touch '${elsewhere}'; git init -q .; ls -A`;
    try {
      const writing = await run({ script: answers([command(commands)]) });
      expect(writing.conclusion.outcome).toBe('success');
      expect(existsSync(inProject('here.txt'))).toBe(true);
      expect(existsSync(inProject('.git'))).toBe(false);
      await rm(inProject('here.txt'));
      const policy = { deny: ['write', 'edit', 'apply_patch'], allow: null };
      await run({ policy, script: answers([command(commands)]) });
      expect(existsSync(inProject('here.txt'))).toBe(false);
      expect(existsSync(elsewhere)).toBe(false);
    } finally {
      await rm(elsewhere, { force: true });
    }
  });

  test('lets commands into the network where the web may be fetched from', async () => {
    const connect = `sleep 0.2; exec 3<>/dev/tcp/127.0.0.1/${new URL(workspace.modelUrl).port} && echo reached`;
    const told = async (turn: Partial<Turn>) =>
      results(await run({ ...turn, script: answers([command(connect)]) }))[0]?.text;
    expect(await told({})).toContain('reached');
    expect(await told({ policy: { deny: ['web_fetch'], allow: null } })).not.toContain('reached');
  });

  test('fails when our server does not start', async () => {
    const broken = await run({ mcp: { command: '/nonexistent', args: [], env: {} }, script: answers() });
    expect(broken.conclusion).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('self-generation'),
    });
  });

  test('ends a command that is still running when it is interrupted politely, and can go on afterwards', async () => {
    const sleep = { name: 'exec_command', input: { cmd: 'sleep 300 & sleep 301', yield_time_ms: 250 } };
    const work = answers([sleep], { kind: 'hang' });
    const ended = await run({
      prompt: 'find-me-nowhere',
      script: (request, index) => {
        if (index === 1) {
          expect(
            commandLinesOf(workspace).filter((line) => line.includes('sleep 300')).length,
          ).toBeGreaterThan(0);
          process.kill(leaderOf(workspace), client.politeSignal);
        }
        return work(request, index);
      },
    });
    expect(ended.conclusion).toMatchObject({
      outcome: 'error',
      error: 'ended with exit code 1, without a result',
    });
    expect(await processesOf(workspace)).toEqual([]);
    const session = { kind: 'resume', id: ended.conclusion.sessionId ?? '' } as const;
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
    mkdirSync(agentDir);
    const auth = readFileSync(join(workspace.home, '.codex/auth.json'));
    writeFileSync(join(agentDir, 'auth.json'), auth);
    await rm(join(workspace.home, '.codex/auth.json'));
    const own = await run({ agentDir, script: answers() });
    expect(own.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
    expect(asJson(own.questions)).not.toContain(MEMORY);
    expect(readdirSync(agentDir)).toContain('sessions');
  });
});

suite('gemini', () => {
  const client = clientNamed('gemini');

  test('asks for as much thinking as was said, of both generations of models', async () => {
    const workspace = await makeWorkspace('gemini');
    try {
      const told = async (model: string) => {
        const turn = await runTurn(workspace, client, { model, thinking: 'low', script: answers() });
        return readRecord(readRecord(turn.questions[0]?.body ?? {}, 'generationConfig'), 'thinkingConfig');
      };
      expect(await told('gemini-2.5-flash')).toEqual({ includeThoughts: true, thinkingBudget: 1024 });
      expect(await told('gemini-3-pro-preview')).toEqual({ includeThoughts: true, thinkingLevel: 'LOW' });
    } finally {
      await workspace.remove();
    }
  });

  test('logs in as the settings of the user say, and leaves nothing in their home', async () => {
    const workspace = await makeWorkspace('gemini');
    try {
      const turn = await runTurn(workspace, client, { model: 'gemini-2.5-flash', script: answers() });
      expect(turn.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(Object.keys(await filesOf(workspace))).not.toEqual([]);
      expect(readdirSync(join(workspace.home, '.gemini')).sort()).toEqual([
        'GEMINI.md',
        'commands',
        'settings.json',
      ]);
    } finally {
      await workspace.remove();
    }
  });
});

async function clearMarks(workspace: Workspace): Promise<void> {
  for (const mark of marksOf(workspace)) await Bun.file(join(workspace.marks, mark)).delete();
}

/** The command lines of the processes that were started from this workspace. */
function commandLinesOf({ root }: Workspace): string[] {
  return readdirSync('/proc')
    .filter((id) => /^\d+$/.test(id) && readOptional(`/proc/${id}/environ`).includes(root))
    .map((id) => readOptional(`/proc/${id}/cmdline`).replaceAll('\0', ' '));
}

/** The process that was started as the client: the one of the workspace's whose parent is this one. */
function leaderOf({ root }: Workspace): number {
  const isLeader = (id: string) =>
    readOptional(`/proc/${id}/environ`).includes(root) &&
    readOptional(`/proc/${id}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')[1] === String(process.pid);
  const leader = readdirSync('/proc').find((id) => /^\d+$/.test(id) && isLeader(id));
  if (leader === undefined) throw new Error('Cannot find the client: it has no process');
  return Number(leader);
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // A process that is just ending.
  }
}
