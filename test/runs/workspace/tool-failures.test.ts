import { describe, expect, test } from 'bun:test';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import type { AgentEvent } from '../../../src/clients/client.ts';
import { clientNamed } from '../../../src/clients/clients.ts';
import { writeDatabase } from '../../../src/hooks/store/use-database.ts';
import { learnProject } from '../../../src/lessons/learn-project.ts';
import { type Run, turnFiles } from '../../../src/runs/model/run.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import { failureRecorder } from '../../../src/runs/workspace/tool-failures.ts';
import type { ClientName } from '../../support/clients.ts';
import { type Home, readEvents, readRows, spoolFiles, temporaryHome } from '../../support/home.ts';
import { madeRun } from '../../support/made-run.ts';
import { SECRETS } from '../../support/made-up.ts';
import { seedErrors, withDatabase } from '../../support/seed.ts';

const ERROR = "Error: Cannot find module 'express'";
const NORMAL = "Cannot find module 'express' · npm test";

/** A user with a project in which a run of this client works. */
function place(client: ClientName, changes: Partial<Run> = {}, config: Record<string, unknown> = {}) {
  const home = temporaryHome();
  home.writeConfig({ language: 'en', ...config });
  const project = `${realpathSync(home.path)}/app`;
  mkdirSync(project);
  const requester = { key: 'agent:main:app-1', session: 'session-of-main', client: null, cwd: project };
  const run = madeRun({ client, cwd: project, agentId: 'fixer', requester, ...changes });
  const reader = clientNamed(client).reader({ session: { kind: 'new', id: 's' }, before: NO_USAGE });
  const recorder = failureRecorder(run, home.paths);
  const say = (...lines: readonly unknown[]) => {
    for (const line of lines) for (const event of reader.read(JSON.stringify(line))) recorder.observe(event);
  };
  const record = (...lines: readonly unknown[]) => {
    say(...lines);
    recorder.flush();
  };
  const ran = (happened: Partial<Happened> = {}) => record(...CALLS[client].say({ ...FAILED, ...happened }));
  const events = (type?: string) => readEvents(home.paths, type);
  const types = () => events().map(({ type }) => type);
  return { ...home, home, project, run, recorder, say, record, ran, events, types };
}

type Place = ReturnType<typeof place>;

function tell(recorder: ReturnType<typeof failureRecorder>, events: readonly AgentEvent[]): void {
  for (const event of events) recorder.observe(event);
}

/** The conversation that Gemini CLI keeps in the run's home. */
function keepConversation(home: Home, run: Run, calls: readonly { id: string; output: string }[]): void {
  const chats = `${turnFiles(home.paths, run.id, 1).kept}/.gemini/tmp/app/chats`;
  mkdirSync(chats, { recursive: true });
  const toolCalls = calls.map(({ id, output }) => ({
    id,
    name: 'run_shell_command',
    result: [{ functionResponse: { id, name: 'run_shell_command', response: { output } } }],
    status: 'success',
  }));
  const lines = [{ sessionId: 's' }, { type: 'gemini', content: '', toolCalls }, { $set: {} }];
  writeFileSync(`${chats}/session-2026.jsonl`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

type Happened = {
  readonly id: string;
  readonly command: string;
  readonly output: string;
  readonly code: number;
};
const FAILED: Happened = { id: 't1', command: 'npm test', output: ERROR, code: 1 };
const PASSED: Happened = { ...FAILED, id: 't2', output: 'ok', code: 0 };
type Call = {
  readonly say: (happened: Happened) => readonly unknown[];
  readonly edit: (file: string) => readonly unknown[];
};

/** A command, and a changed file, as each client's output has them. */
const CALLS: Readonly<Record<ClientName, Call>> = {
  claude: {
    say: ({ id, command, output, code }) => [
      claudeCall(id, 'Bash', { command }),
      claudeResult(id, code === 0 ? output : `Exit code ${code}\n${output}`, code !== 0),
    ],
    edit: (file) => [claudeCall('edit', 'Edit', { file_path: file }), claudeResult('edit', 'done', false)],
  },
  codex: {
    say: ({ id, command, output, code }) => [
      {
        type: 'item.completed',
        item: {
          id,
          type: 'command_execution',
          command: `/bin/bash -lc '${command}'`,
          aggregated_output: output,
          exit_code: code,
          status: code === 0 ? 'completed' : 'failed',
        },
      },
    ],
    edit: (path) => [
      {
        type: 'item.completed',
        item: { id: 'edit', type: 'file_change', status: 'completed', changes: [{ path, kind: 'update' }] },
      },
    ],
  },
  gemini: {
    say: ({ id, command, output }) => [
      { type: 'tool_use', tool_name: 'run_shell_command', tool_id: id, parameters: { command } },
      { type: 'tool_result', tool_id: id, status: 'success', output },
    ],
    edit: (file) => [
      { type: 'tool_use', tool_name: 'replace', tool_id: 'edit', parameters: { file_path: file } },
      { type: 'tool_result', tool_id: 'edit', status: 'success' },
    ],
  },
  opencode: {
    say: ({ id, command, output, code }) => [
      opencodeCall(id, 'bash', { status: 'completed', input: { command }, output, metadata: { exit: code } }),
    ],
    edit: (filePath) => [
      opencodeCall('edit', 'edit', { status: 'completed', input: { filePath }, output: '' }),
    ],
  },
};

function claudeCall(id: string, name: string, input: unknown): unknown {
  return { type: 'assistant', message: { id: `m-${id}`, content: [{ type: 'tool_use', id, name, input }] } };
}

function claudeResult(id: string, content: string, isError: boolean): unknown {
  return {
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
  };
}

function opencodeCall(callID: string, tool: string, state: unknown): unknown {
  return { type: 'tool_use', sessionID: 's', part: { type: 'tool', tool, callID, state } };
}

/** A command that fails, a file that is changed, the command again, which passes now. */
function failThenPass(client: ClientName, here: Place, file = `${here.project}/package.json`): void {
  const { say, edit } = CALLS[client];
  if (client === 'gemini') {
    const told = (id: string, output: string) => ({
      id,
      output: `<untrusted_context>\n${output}\nProcess Group PGID: 7\n</untrusted_context>`,
    });
    const calls = [told('t1', `Output: ${ERROR}\nExit Code: 1`), told('t2', 'Output: ok')];
    keepConversation(here.home, here.run, calls);
  }
  here.record(...say(FAILED), ...edit(file), ...say(PASSED));
}

/** What the knowledge base says once the project's log was learnt from. */
function lessons({ home, project }: Place) {
  writeDatabase(home.paths, (db) => learnProject(project, db));
  return readRows(home.paths, 'SELECT error_normalized AS error, state, resolution FROM error_kb');
}

for (const client of ['claude', 'codex', 'gemini', 'opencode'] as const)
  describe(`of ${client}`, () => {
    test('a failed command is recorded with its project and agent, and that it works again is seen', () => {
      using here = place(client);
      failThenPass(client, here);
      const data = {
        tool: 'Bash',
        error: NORMAL,
        agentId: here.run.id,
        agentType: 'fixer',
        command: 'npm test',
      };
      expect(here.events('tool_error')).toMatchObject([
        { sessionId: 'session-of-main', project: 'app', projectPath: here.project, data },
      ]);
      expect(here.events('tool_use').map(({ data }) => [data.tool, data.file ?? data.command])).toEqual([
        ['Edit', 'package.json'],
        ['Bash', 'npm test'],
      ]);
      // What an edit mends is the agent's own work.
      expect(lessons(here)).toEqual([{ error: NORMAL, state: 'solved', resolution: null }]);
    });

    test('a failure that a pipe hides is one', () => {
      using here = place(client);
      const output = '/bin/bash: line 1: pnpm: command not found';
      if (client === 'gemini')
        keepConversation(here.home, here.run, [{ id: 't1', output: `Output: ${output}` }]);
      here.record(...CALLS[client].say({ ...FAILED, command: 'pnpm test | tail -5', output, code: 0 }));
      expect(here.events('tool_error')).toMatchObject([{ data: { isHidden: true } }]);
    });

    test('the id of its calls names the client', () => {
      using here = place(client);
      failThenPass(client, here);
      const ids = ['tool_error', 'tool_use'].flatMap((type) =>
        here.events(type).map(({ data }) => data.toolUseId),
      );
      expect(ids.map((id) => String(id).split(':')[0])).toEqual([client, client, client]);
    });

    test('secrets are redacted before anything is stored', () => {
      using here = place(client);
      for (const [index, { text }] of SECRETS.entries()) {
        const id = `t${index}`;
        if (client === 'gemini') keepConversation(here.home, here.run, [{ id, output: 'x\nExit Code: 1\n' }]);
        here.ran({ id, command: `echo ${text}`, output: `failed: ${text}` });
      }
      expect(here.events('tool_error').length).toBeGreaterThan(0);
      const stored = JSON.stringify([
        readRows(here.home.paths, 'SELECT * FROM events'),
        readRows(here.home.paths, 'SELECT * FROM error_kb'),
      ]);
      for (const { secret } of SECRETS) expect(stored).not.toContain(secret);
    });

    test('files are named from the root of the project, also those of a working tree of the run', () => {
      using here = place(client);
      const tree = `${here.home.paths.worktrees}/0011223344556677/${here.run.id}`;
      mkdirSync(tree, { recursive: true });
      failThenPass(client, here, `${tree}/src/app.ts`);
      const files = here.events('tool_use').flatMap(({ data }) => data.file ?? []);
      expect(files).toEqual(['src/app.ts']);
    });
  });

describe('a command of Gemini CLI, whose exit code the stream does not say,', () => {
  const outputs: [what: string, output: string, types: string[]][] = [
    ['failed', 'Output: x\nExit Code: 2\nProcess Group PGID: 7', ['tool_error']],
    ['failed and says so last', 'Output: x\nExit Code: 127', ['tool_error']],
    ['was ended by a signal', 'Output: x\nSignal: 9\nProcess Group PGID: 7', ['tool_error']],
    ['passed', 'Output: x\nProcess Group PGID: 7', ['tool_use']],
    [
      'passed and speaks of exit codes',
      'Output: x\nExit Code: 1 is bad\nProcess Group PGID: 7',
      ['tool_use'],
    ],
  ];
  for (const [what, output, types] of outputs)
    test(`is known to have ${what}`, () => {
      using here = place('gemini');
      keepConversation(here.home, here.run, [{ id: 't1', output }]);
      here.ran({ output: 'x', code: 0 });
      expect(here.types()).toEqual(types);
    });

  test('waits for a conversation that is behind the stream, and so does what comes after it', () => {
    using here = place('gemini');
    const { say, edit } = CALLS.gemini;
    here.say(...say(FAILED), ...edit(`${here.project}/a.ts`));
    expect(here.events()).toEqual([]);
    keepConversation(here.home, here.run, [{ id: 't1', output: `Output: ${ERROR}\nExit Code: 1` }]);
    here.recorder.flush();
    expect(here.types()).toEqual(['tool_error', 'tool_use']);
  });

  test('solves nothing when the conversation does not say how it ended', () => {
    using here = place('gemini');
    keepConversation(here.home, here.run, [{ id: 't1', output: `Output: ${ERROR}\nExit Code: 1` }]);
    here.ran();
    here.ran(PASSED);
    expect(here.types()).toEqual(['tool_error', 'tool_use']);
    expect(lessons(here)).toMatchObject([{ state: 'open' }]);
  });
});

describe('failureRecorder()', () => {
  test('uses the key of the child when there is no session of the requester', () => {
    using here = place('claude', { requester: { ...madeRun().requester, session: null } });
    here.ran();
    expect(here.events()[0]?.sessionId).toBe(here.run.childKey);
  });

  test('does not take two runs side by side for one, although their clients count calls alike', () => {
    using here = place('claude');
    here.ran();
    const other = failureRecorder({ ...here.run, id: 'another' }, here.home.paths);
    tell(other, [
      { kind: 'tool-call', id: 't1', tool: 'Bash', input: { command: 'npm test' } },
      { kind: 'tool-result', id: 't1', tool: null, isError: false, text: 'ok' },
    ]);
    other.flush();
    expect(here.events('tool_use')).toHaveLength(1);
    expect(here.events().map(({ data }) => data.agentId)).toEqual([here.run.id, 'another']);
  });

  const RULE = 'The user has specified a rule which prevents you from using this specific tool call.';
  const nothing: [what: string, text: string][] = [
    ['a policy kept back', 'Permission to use Bash with command npm test has been denied.'],
    ['a policy of Gemini CLI kept back', 'Tool execution denied by policy.'],
    ['a rule of OpenCode kept back', RULE],
    ['names a tool that is not there', "Model tried to call unavailable tool 'task'. Available tools: bash."],
  ];
  for (const [what, text] of nothing)
    test(`records nothing of a call that ${what}`, () => {
      using here = place('claude');
      here.record(claudeCall('t1', 'Bash', { command: 'npm test' }), claudeResult('t1', text, true));
      expect(here.events()).toEqual([]);
    });

  test('records what the client itself rejected, as the hooks do', () => {
    using here = place('claude');
    const rejected = '<tool_use_error>File has not been read yet.</tool_use_error>';
    here.record(
      claudeCall('t1', 'Edit', { file_path: `${here.project}/a.ts` }),
      claudeResult('t1', rejected, true),
    );
    expect(here.events('tool_error')[0]?.data).toMatchObject({
      tool: 'Edit',
      said: 'File has not been read yet.',
      noise: 'client',
      file: 'a.ts',
    });
  });

  test('records a failure without a word as one that is not recognised again', () => {
    using here = place('codex');
    here.ran({ output: '' });
    expect(here.events('tool_error')[0]?.data).toMatchObject({ noise: 'silent' });
  });

  test('passes over our own commands, and results whose call is unknown', () => {
    using here = place('claude');
    here.ran({ command: 'self-generation errors' });
    here.record(claudeResult('t7', 'x', true));
    expect(here.events()).toEqual([]);
  });

  test('does nothing while the settings switch it off', () => {
    using here = place('claude', {}, { enabled: false });
    here.ran();
    expect(here.events()).toEqual([]);
  });

  test('writes of its own accord, in batches', () => {
    using here = place('claude');
    for (let index = 0; index < 200; index++) here.say(...CALLS.claude.say({ ...FAILED, id: `t${index}` }));
    expect(here.events('tool_error').length).toBeGreaterThan(128);
    here.recorder.flush();
    expect(here.events('tool_error')).toHaveLength(200);
  });

  test('leaves it to the next writer when the database is held', () => {
    using here = place('claude');
    seedErrors(here.home.paths, [{ error: 'an earlier error' }]);
    withDatabase(here.home.paths, () => here.ran());
    expect(here.events('tool_error')).toHaveLength(1);
    expect(spoolFiles(here.home.paths)).toHaveLength(1);
    here.ran(PASSED);
    expect(here.types()).toEqual(['tool_error', 'tool_error', 'tool_use']);
    expect(spoolFiles(here.home.paths)).toEqual([]);
  });

  test('never throws, whatever stands in the way', () => {
    using here = place('claude');
    here.home.put('.self-generation/data/self-gen.db', 'this is no database'.repeat(1000));
    here.home.put('.self-generation/spool', 'this is no directory');
    here.ran();
    tell(here.recorder, [
      { kind: 'tool-call', id: 'x', tool: 'Bash', input: { command: 5 } },
      { kind: 'tool-result', id: 'x', tool: null, isError: true, text: '\u0000'.repeat(100_000) },
    ]);
    here.recorder.flush();
  });
});
