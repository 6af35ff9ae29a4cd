import { mkdtemp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../src/core/state-paths.ts';
import { type CommandResult, runCommand } from '../../src/system/run-command.ts';
import type { ClientName } from '../support/clients.ts';
import { BINARY } from '../support/program.ts';
import { startOnTerminal, type TerminalProgram } from '../support/terminal.ts';
import { installCli } from './install-clis.ts';
import { USAGE } from './mcp-users.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { USERS } from './one-shot-users.ts';
import { makeWorkspace, type Workspace, writeFiles } from './one-shot-workspace.ts';

const TIMEOUT_MS = 180_000;

/** A plain user of one client, who works in a project and may install the built program. */
export type InstalledUser = {
  readonly workspace: Workspace;
  readonly project: string;
  /** Runs the built program, and gives what it says. @throws Error unless it ends well. */
  readonly program: (...words: string[]) => Promise<string>;
  /** The same, however it ends. */
  readonly attempt: (...words: string[]) => Promise<CommandResult>;
  /** Starts the built program on a terminal of its own. */
  readonly onTerminal: (...words: string[]) => TerminalProgram;
  /** Runs the client, whose model answers by the script; of several the first, or this one. @throws Error unless it ends well. */
  readonly talk: (
    prompt: string,
    script: Script,
    args?: readonly string[],
    client?: ClientName,
  ) => Promise<Talk>;
};

/** What the client says, and the questions that its model was asked meanwhile. */
export type Talk = { readonly stdout: string; readonly asked: readonly ModelRequest[] };

/** Puts a client into a workspace of another one's; returns what it has in its user's environment. */
async function addClient(name: ClientName, workspace: Workspace): Promise<Environment> {
  const { files, without } = USAGE[name];
  await symlink(await installCli(name), join(workspace.root, 'bin', name));
  await writeFiles(workspace.home, { ...USERS[name].files(workspace), ...files });
  const own = Object.entries(USERS[name].env(workspace));
  return Object.fromEntries(own.filter(([key]) => !without.includes(key)));
}

/** Makes the user, with what such a one has set up; one of several clients has these others besides. */
export async function makeUser(name: ClientName, ...others: ClientName[]): Promise<InstalledUser> {
  const { files, without, args: usual } = USAGE[name];
  const workspace = await makeWorkspace(name);
  const ofOthers = await Promise.all(others.map((other) => addClient(other, workspace)));
  const project = await mkdtemp(join(workspace.root, 'project-'));
  await writeFiles(workspace.home, files);
  const kept = Object.entries(workspace.env).filter(([key]) => !without.includes(key));
  const env: Environment = Object.assign({}, ...ofOthers, Object.fromEntries(kept), { UNRELATED: undefined });
  const start = (program: string, words: readonly string[], stdin = '') =>
    runCommand(program, words, { env, cwd: project, stdin, timeoutMs: TIMEOUT_MS });
  const run = async (program: string, words: readonly string[], stdin = '') => {
    const end = await start(program, words, stdin);
    if (end.kind === 'exited' && end.code === 0) return end.stdout;
    throw new Error(`${program} ${words.join(' ')}: ${JSON.stringify(end)}`);
  };
  return {
    workspace,
    project,
    program: (...words) => run(BINARY, words),
    attempt: (...words) => start(BINARY, words),
    // A person's own has no mark of an agent.
    onTerminal: (...words) =>
      startOnTerminal([BINARY, ...words], { cwd: project, env: { ...env, CLAUDECODE: '' } }),
    talk: async (prompt, script, args = usual, client = name) => {
      const { board } = workspace;
      const from = board.model.requests.length;
      board.script = script;
      const stdout = await run(client, args, prompt);
      return { stdout, asked: board.model.requests.slice(from).filter(({ api }) => api !== 'other') };
    },
  };
}
