import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../src/system/run-command.ts';
import { contextOf, runHookProcess, runProgram } from '../support/hook-process.ts';
import { agentStart } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { Script } from './one-shot-model.ts';
import { makeWorkspace, type Workspace, writeFiles } from './one-shot-workspace.ts';

/** What a user's own session of each real client leaves in its store, imported, and told to a sub-agent of Claude Code. */

const suite = await offlineSuite();
setDefaultTimeout(120_000);

const CODEX = [
  '--json',
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  '-m',
  'gpt-5.5',
];
const GEMINI = [
  '--skip-trust',
  '-m',
  'gemini-2.5-flash',
  '--output-format',
  'stream-json',
  '--approval-mode',
  'yolo',
];
const OPENCODE = ['run', '--format', 'json', '-m', 'scripted/some-model'];

/** `resume`: goes on with the session of this id. */
const CLIENTS = {
  codex: {
    args: (resume?: string) => (resume ? ['exec', 'resume', ...CODEX, resume, '-'] : ['exec', ...CODEX, '-']),
    command: (cmd: string): ToolCall => ({ name: 'exec_command', input: { cmd } }),
    settings: '.codex/config.toml',
    configuration: (url: string) =>
      `model_provider = "scripted"\n[features]\nplugins = false\n[analytics]\nenabled = false\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`,
  },
  gemini: {
    args: (resume?: string) => (resume ? [...GEMINI, '--resume', resume] : GEMINI),
    command: (command: string): ToolCall => ({
      name: 'run_shell_command',
      input: { command, description: 'x' },
    }),
    settings: '.gemini/settings.json',
    configuration: () =>
      JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
  },
  opencode: {
    args: (resume?: string) => (resume ? [...OPENCODE, '--session', resume] : OPENCODE),
    command: (command: string): ToolCall => ({ name: 'bash', input: { command, description: 'x' } }),
    settings: null,
    configuration: () => '',
  },
};

/** A call after the other, then a last word. Some clients ask for a title beside. */
function scripted(calls: readonly ToolCall[]): Script {
  const left = [...calls];
  return ({ body }) => {
    const call = JSON.stringify(body).includes('title generator') ? undefined : left.shift();
    return call === undefined ? { kind: 'text', text: 'Done.' } : { kind: 'calls', calls: [call] };
  };
}

const CHECK = '#!/bin/sh\n[ -n "$PORT" ] || { echo "Error: PORT is not set" >&2; exit 1; }\n';

for (const [name, { args, command, settings, configuration }] of Object.entries(CLIENTS)) {
  suite(`a session of ${name}`, () => {
    let workspace: Workspace;
    let project: string;
    beforeAll(async () => {
      workspace = await makeWorkspace(name as keyof typeof CLIENTS);
      project = join(workspace.root, 'project');
      await writeFiles(project, { gradlew: CHECK });
      await chmod(join(project, 'gradlew'), 0o755);
      if (settings !== null)
        await writeFile(join(workspace.home, settings), configuration(workspace.modelUrl));
    });
    afterAll(() => workspace.remove());

    async function work(prompt: string, resume: string | undefined, ...commands: string[]): Promise<string> {
      workspace.board.script = scripted(commands.map(command));
      const { NODE_OPTIONS: _options, GEMINI_SANDBOX: _sandbox, ...env } = workspace.env;
      const end = await runCommand(name, args(resume), {
        cwd: project,
        env,
        stdin: prompt,
        timeoutMs: 90_000,
      });
      const stdout = end.kind === 'exited' ? end.stdout : '';
      return /"(?:session_id|sessionID|thread_id)":"([^"]+)"/.exec(stdout)?.[1] ?? '';
    }

    async function product(...words: string[]): Promise<unknown> {
      const { stdout } = await runProgram([BINARY, ...words, '--json'], {
        home: workspace.home,
        cwd: project,
      });
      return JSON.parse(stdout);
    }

    test('is taken in, and what it has gained later', async () => {
      const id = await work('Build it.', undefined, './gradlew build', 'PORT=8080 ./gradlew build');
      const added = { prompt: 1, tool_error: 1, tool_use: 1 };
      expect(await product('import', '--client', name)).toMatchObject({
        fixes: 1,
        sessions: [{ client: name, added, unreadable: [] }],
      });
      await work('And look.', id, 'ls');
      const later = { prompt: 1, tool_use: 1 };
      expect(await product('import', '--client', name)).toMatchObject({
        sessions: [{ client: name, sessions: 1, added: later }],
      });
      expect(await product('import', '--client', name)).toMatchObject({
        sessions: [{ client: name, unchanged: 1, added: {} }],
      });
    });

    test('tells a sub-agent of Claude Code what helped', async () => {
      expect(await product('errors', 'list')).toMatchObject({
        errors: [{ clients: [name], resolvedBy: 'lesson' }],
      });
      const start = agentStart('executor', { cwd: project });
      const told = contextOf(await runHookProcess(start, { home: workspace.home }));
      expect(told).toContain('PORT=8080 ./gradlew build');
    });
  });
}
