import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import { NO_TOOLS, SUBAGENT_DENY } from '../../src/runs/model/tool-policy.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { offlineSuite } from './offline.ts';
import { toolNames } from './one-shot-model.ts';
import { MEMORY, USERS } from './one-shot-users.ts';
import {
  askPlainly,
  clearMarks,
  filesOf,
  makeWorkspace,
  marksOf,
  processesNow,
  SECRET,
  type Workspace,
  writeFiles,
} from './one-shot-workspace.ts';
import { DIALECTS, PROJECT } from './runs-dialects.ts';
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

/** The clients as sub-agents: each real client, run by its adapter, and a scripted model. */

const suite = await offlineSuite();
setDefaultTimeout(120_000);

const asJson = (value: unknown) => JSON.stringify(value);

for (const name of CLIENT_NAMES) {
  suite(`clientNamed('${name}')`, () => {
    const client = clientNamed(name);
    const dialect = DIALECTS[name];
    const { read, edit, write, command, agents } = dialect;
    const tools = dialect.tools.toSorted();
    let workspace: Workspace;
    let first: TurnRun;
    const run = (turn: Turn) => runTurn(workspace, client, { model: dialect.model, ...turn });
    const inProject = (path: string) => join(workspace.root, 'project', path);
    const again = () => ({ kind: 'resume', id: first.conclusion.sessionId ?? '' }) as const;
    const isTold = name !== 'codex'; // It tells of no call that it refuses at once.

    beforeAll(async () => {
      workspace = await makeWorkspace(name);
      const files = { ...dialect.project(workspace.marks), 'AGENTS.md': PROJECT, 'notes.txt': 'line one\n' };
      await writeFiles(inProject(''), files);
    });
    afterAll(() => workspace.remove());

    test('prints its version in the form that is read', async () => {
      const { PATH, HOME } = workspace.env; // With the user's NODE_OPTIONS nothing of Node's would start.
      const end = await runCommand(name, ['--version'], { env: { PATH, HOME }, timeoutMs: 20_000 });
      const version = client.version.read(end.kind === 'exited' ? end.stdout : '');
      expect(client.version.measured).toContain(version ?? '');
    });

    test('edits a file and runs a command without being asked, with its prompt in no argument', async () => {
      const prompt = `/help @${workspace.secret} @notes.txt !{id} 고쳐 주세요: find-me-nowhere`;
      const seen: string[] = [];
      const fails = command('echo ran > ran.txt; echo loud >&2; exit 3');
      const work = answers([read(inProject('notes.txt'))], [edit(inProject('notes.txt')), fails]);
      const before = await filesOf(workspace);
      first = await run({
        prompt,
        policy: { deny: SUBAGENT_DENY, allow: null },
        script: (request, index) => {
          seen.push(...processesNow(workspace.root).map(({ words }) => words));
          return work(request, index);
        },
      });
      expect(first.conclusion).toMatchObject({ outcome: 'success', text: ANSWER, error: null });
      expect(readFileSync(inProject('notes.txt'), 'utf8')).toBe('line 1\n');
      expect(readFileSync(inProject('ran.txt'), 'utf8')).toBe('ran\n');
      // Gemini CLI calls a command that failed a success.
      expect(results(first).map(({ isError }) => isError)).toEqual([false, false, name !== 'gemini']);
      expect(results(first).at(-1)?.text).toContain('loud');
      expect(first.conclusion.usage).toMatchObject({ inputTokens: 300, outputTokens: 60 });
      expect(texts(first.questions[0])).toContain(prompt);
      expect(asJson(first.questions)).not.toContain(SECRET);
      expect(seen.some((line) => line.includes(name))).toBe(true);
      expect(seen.filter((line) => line.includes('find-me-nowhere'))).toEqual([]);
      expect(await filesOf(workspace)).toEqual(before);
    });

    test('offers what the policy lets through and nothing that starts agents', () =>
      expect(offered(first)).toEqual(first.questions.map(() => tools)));

    test('runs no hook, server or plugin of the user or the project, and reads no word of theirs', async () => {
      expect(marksOf(workspace)).toEqual([]);
      expect(asJson(first.questions).includes(MEMORY)).toBe(name === 'codex'); // There is no switch for it.
      expect(asJson(first.questions)).not.toContain(PROJECT);
      expect(workspace.gate.asked.filter((what) => what.startsWith('refused'))).toEqual([]);
      const plain = await askPlainly(workspace, answers(), inProject(''));
      expect(plain.end).toMatchObject({ kind: 'exited', code: 0 });
      const marks = [...USERS[name].plainMarks, ...dialect.projectMarks];
      expect(marksOf(workspace)).toEqual(expect.arrayContaining(marks));
      const plainTools = plain.questions.flatMap(toolNames);
      expect(plainTools).toEqual(expect.arrayContaining([...dialect.plainTools]));
      for (const words of [MEMORY, PROJECT]) expect(asJson(plain.questions)).toContain(words);
      clearMarks(workspace);
    });

    test('goes on with a session, which then holds both conversations', async () => {
      const turn = { session: again(), before: first.conclusion.usage, prompt: 'And now?' };
      const second = await run({ ...turn, script: answers() });
      const { sessionId } = first.conclusion;
      expect(second.conclusion).toMatchObject({ outcome: 'success', sessionId });
      expect(second.conclusion.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
      for (const said of ['find-me-nowhere', ANSWER, 'And now?'])
        expect(texts(second.questions[0])).toContain(said);
      expect(offered(second)).toEqual([tools]);
    });

    test('goes on in a session for a step in which nothing can be done', async () => {
      const calls = answers([command('touch done.txt'), write(inProject('done.txt'))]);
      const turn = { session: again(), policy: NO_TOOLS, mcp: MCP, prompt: 'Sum it up.' };
      const step = await run({ ...turn, script: calls });
      const { sessionId } = first.conclusion;
      expect(step.conclusion).toMatchObject({ outcome: 'success', text: ANSWER, sessionId });
      expect(texts(step.questions[0])).toContain('find-me-nowhere');
      expect(offered(step)).toEqual(step.questions.map(() => (name === 'codex' ? ['apply_patch'] : [])));
      expect(existsSync(inProject('done.txt'))).toBe(false);
    });

    test('does not go on with a session that there is not', async () => {
      const session = { kind: 'resume', id: crypto.randomUUID() } as const;
      const none = await run({ session, script: answers() });
      expect(none.conclusion.outcome).toBe('error');
      expect(none.questions).toEqual([]);
    });

    test('does not offer what is denied, and gets nowhere by calling it all the same', async () => {
      const marked = join(workspace.marks, 'tool');
      const calls = [command(`touch '${marked}'`), write(inProject('denied.txt')), ...agents];
      const deny = [...SUBAGENT_DENY, 'group:runtime', 'group:web', 'write', 'edit', 'apply_patch'];
      const script = answers(...calls.map((call) => [call]));
      const denied = await run({ policy: { deny, allow: null }, script });
      expect(denied.conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
      expect(offered(denied)).toEqual([[], ...calls].map(() => dialect.harmlessTools.toSorted()));
      expect(results(denied).every(({ isError }) => isError)).toBe(true);
      expect(results(denied).length).toBe(isTold ? calls.length : 0);
      expect(marksOf(workspace)).toEqual([]);
      expect(existsSync(inProject('denied.txt'))).toBe(false);
    });

    test('gets no agent, background command or alarm even where everything is allowed', async () => {
      const script = answers(...agents.map((call) => [call]));
      const open = await run({ policy: { deny: [], allow: ['*'] }, script });
      // A child of the client's own would ask too.
      expect(offered(open)).toEqual([[], ...agents].map(() => tools));
      expect(results(open).map(({ isError }) => isError)).toEqual(isTold ? agents.map(() => true) : []);
      if (!isTold) expect(asJson(open.questions.at(-1))).toContain('unsupported call');
    });

    test('has our own server beside no other, and of its tools those that are let through', async () => {
      const echo = { ...dialect.server('echo'), input: { text: 'hello' } };
      const policy = { deny: ['mcp__self-generation__other'], allow: null };
      const own = await run({ mcp: MCP, policy, script: answers([echo], [command('env')]) });
      expect(own.conclusion.outcome).toBe('success');
      expect(results(own)[0]).toMatchObject({ isError: false, text: 'hello secret-of-the-server' });
      expect(results(own)[1]?.text).toContain('SELF_GENERATION_INTERNAL=1');
      expect(results(own)[1]?.text).not.toMatch(/STAND_IN_SECRET|secret-of-the-server/);
      if (name !== 'claude') expect(results(own)[1]?.text).not.toContain('API_KEY=');
      const ofServers = /mcp_resource|tool_search/; // By which Codex finds what its servers have.
      const others = offered(own)[0]?.filter((tool) => !ofServers.test(tool));
      expect(others).toEqual([...tools, ...(name === 'codex' ? [] : [echo.name])].sort());
      expect(own.command.args.join(' ')).not.toContain('secret-of-the-server');
      // Gemini CLI has to trust the project then.
      expect(asJson(own.questions).includes(PROJECT)).toBe(name === 'gemini');
      expect(marksOf(workspace)).toEqual([]);
    });

    test('says that the model was refused, as long as nothing was done', async () => {
      const status = name === 'codex' ? 400 : 404;
      const message = "The 'nosuch' model is not supported";
      const script = () => ({ kind: 'refuse', status, message }) as const;
      const refused = await run({ model: dialect.unknownModel, script });
      expect(refused.conclusion).toMatchObject({ outcome: 'error', isModelRefused: true, text: null });
      expect(refused.conclusion.error).toContain('nosuch');
      expect(marksOf(workspace)).toEqual([]);
    });
  });
}
