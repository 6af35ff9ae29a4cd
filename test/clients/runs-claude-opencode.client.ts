import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TurnRequest } from '../../src/clients/runs/run-client.ts';
import { runClient } from '../../src/clients/runs/run-clients.ts';
import { SUBAGENT_DENY } from '../../src/core/runs/tool-policy.ts';
import { runCommand } from '../../src/sys/run-command.ts';
import { textsOf } from './checks.ts';
import { installCli } from './install-clis.ts';
import { enterNamespace } from './namespace.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { MEMORY } from './one-shot-users.ts';
import { askPlainly, filesOf, makeWorkspace, marksOf, SECRET, type Workspace } from './one-shot-workspace.ts';
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
/** What must never be in a question: of the project, nothing is read by the client itself. */
const PROJECT = 'the-words-of-the-project';

/** What is particular to a client. */
type Dialect = {
  readonly model: string;
  readonly unknownModel: string;
  readonly tools: readonly string[];
  /** Without what runs commands and what writes. */
  readonly readingTools: readonly string[];
  readonly server: (tool: string) => string;
  readonly read: (path: string) => ToolCall;
  readonly edit: (path: string, from: string, to: string) => ToolCall;
  readonly write: (path: string) => ToolCall;
  readonly command: (command: string) => ToolCall;
  readonly agents: readonly ToolCall[];
  /** In the project: settings, servers, plugins and instructions that a child must not take up. */
  readonly project: (marks: string) => Readonly<Record<string, string>>;
  readonly plainTools: readonly string[];
};

const touch = (marks: string, mark: string) => `touch '${join(marks, mark)}'`;
const agent = { description: 'x', prompt: 'x', subagent_type: 'general-purpose' };

const DIALECTS: Readonly<Record<Name, Dialect>> = {
  claude: {
    model: 'haiku',
    unknownModel: 'nosuch',
    tools: ['Bash', 'Edit', 'Glob', 'Grep', 'NotebookEdit', 'Read', 'WebFetch', 'WebSearch', 'Write'],
    readingTools: ['Glob', 'Grep', 'Read', 'WebFetch', 'WebSearch'],
    server: (tool) => `mcp__self-generation__${tool}`,
    read: (file_path) => ({ name: 'Read', input: { file_path } }),
    edit: (file_path, old_string, new_string) => ({
      name: 'Edit',
      input: { file_path, old_string, new_string },
    }),
    write: (file_path) => ({ name: 'Write', input: { file_path, content: 'x' } }),
    command: (command) => ({ name: 'Bash', input: { command, description: 'x' } }),
    agents: [
      { name: 'Task', input: agent },
      { name: 'Agent', input: agent },
      { name: 'Bash', input: { command: 'sleep 60', description: 'x', run_in_background: true } },
      { name: 'ScheduleWakeup', input: { delaySeconds: 60, reason: 'x', prompt: 'x' } },
    ],
    project: (marks) => ({
      '.claude/settings.json': JSON.stringify({
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: touch(marks, 'project-hook') }] }] },
        permissions: { allow: ['Task', 'Agent'] },
      }),
      '.claude/agents/helper.md': `---\nname: helper\ndescription: ${PROJECT}\n---\n${PROJECT}`,
      '.mcp.json': JSON.stringify({
        mcpServers: { p: { command: 'touch', args: [join(marks, 'project-mcp')] } },
      }),
    }),
    plainTools: ['Task', 'Agent'],
  },
  opencode: {
    model: 'scripted/some-model',
    unknownModel: 'scripted/nosuch',
    tools: ['bash', 'edit', 'glob', 'grep', 'read', 'todowrite', 'webfetch', 'write'],
    readingTools: ['glob', 'grep', 'read', 'todowrite', 'webfetch'],
    server: (tool) => `self-generation_${tool}`,
    read: (filePath) => ({ name: 'read', input: { filePath } }),
    edit: (filePath, oldString, newString) => ({ name: 'edit', input: { filePath, oldString, newString } }),
    write: (filePath) => ({ name: 'write', input: { filePath, content: 'x' } }),
    command: (command) => ({ name: 'bash', input: { command, description: 'x' } }),
    agents: [
      { name: 'task', input: { ...agent, subagent_type: 'general' } },
      { name: 'skill', input: { name: 'x' } },
    ],
    project: (marks) => ({
      'opencode.json': JSON.stringify({
        mcp: { p: { type: 'local', command: ['touch', join(marks, 'project-mcp')] } },
        permission: { task: 'allow' },
        instructions: ['CONTEXT.md'],
      }),
      '.opencode/agent/helper.md': `---\ndescription: ${PROJECT}\nmode: subagent\n---\n${PROJECT}`,
      'CONTEXT.md': PROJECT,
    }),
    plainTools: ['task'],
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
const results = ({ events }: TurnRun) =>
  events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));

for (const name of NAMES) {
  suite(`runClient('${name}')`, () => {
    const client = runClient(name);
    const dialect = DIALECTS[name];
    const { read, edit, write, command, server } = dialect;
    let workspace: Workspace;
    let first: TurnRun;
    const run = (turn: Turn) => runTurn(workspace, client, { model: dialect.model, ...turn });
    const inProject = (path: string) => join(workspace.root, 'project', path);
    const mcp = (): TurnRequest['mcp'] => ({
      command: process.execPath,
      args: [join(import.meta.dir, 'mcp-stand-in.main.ts')],
      env: { STAND_IN_SECRET: 'secret-of-the-server' },
    });

    beforeAll(async () => {
      workspace = await makeWorkspace(name);
      const files = {
        ...dialect.project(workspace.marks),
        ...Object.fromEntries(['AGENTS.md', 'CLAUDE.md'].map((file) => [file, PROJECT])),
        'notes.txt': 'line one\n',
      };
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(inProject(path)), { recursive: true });
        writeFileSync(inProject(path), text);
      }
    });
    afterAll(() => workspace.remove());

    test('prints its version in the form that is read', async () => {
      const end = await runCommand(client.program, client.version.args, {
        env: workspace.env,
        timeoutMs: 20_000,
      });
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
      expect(seen.some((line) => line.includes(client.program))).toBe(true);
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
      const plain = await askPlainly(workspace, answers());
      expect(plain.end).toMatchObject({ kind: 'exited', code: 0 });
      expect(marksOf(workspace)).not.toEqual([]);
      expect(plain.questions.flatMap(toolNames).some((tool) => dialect.plainTools.includes(tool))).toBe(true);
      for (const mark of marksOf(workspace)) await Bun.file(join(workspace.marks, mark)).delete();
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

    test('forks a session for a step without any tool, and leaves the session as it was', async () => {
      const id = first.conclusion.sessionId ?? '';
      const fork = await run({
        session: { kind: 'fork', id },
        tools: 'none',
        mcp: mcp(),
        prompt: 'Sum it up.',
        script: answers(),
      });
      expect(fork.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(fork.conclusion.sessionId).not.toBe(id);
      expect(texts(fork.questions[0])).toContain('find-me-nowhere');
      expect(fork.questions.map(toolNames)).toEqual([[]]);
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
    });
  });
}

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
