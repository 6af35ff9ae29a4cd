import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bringLogin, userOf } from '../../src/clients/agent-login.ts';
import {
  type AgentEvent,
  type Client,
  type Conclusion,
  type TurnCommand,
  type TurnRequest,
  turnCommand,
} from '../../src/clients/client.ts';
import { variablesNamed } from '../../src/clients/route.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import { NO_USAGE, type Usage } from '../../src/runs/model/turn.ts';
import { type CommandResult, runCommand } from '../../src/system/run-command.ts';
import type { ClientName } from '../support/clients.ts';
import { REQUEST } from './adapter.ts';
import { textsOf } from './checks.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { routeIn, type Workspace } from './one-shot-workspace.ts';

/** A turn of a client in a throw-away user's project, as the product runs it. */
export type TurnRun = {
  readonly end: CommandResult;
  readonly command: TurnCommand;
  readonly events: readonly AgentEvent[];
  readonly conclusion: Conclusion;
  readonly stdout: string;
  readonly stderr: string;
  readonly questions: readonly ModelRequest[];
  readonly others: readonly ModelRequest[];
};

export type Turn = Partial<TurnRequest> & {
  readonly script: Script;
  /** What the session had used before. */
  readonly before?: Usage;
  /** Of the run: where its turns find what one of them has left for the next. */
  readonly kept?: string;
  readonly env?: Environment;
  readonly timeoutMs?: number;
};

const TURN_TIMEOUT_MS = 60_000;

/** Runs one turn: files first, then the program in the project's directory, then the reader. */
export async function runTurn(workspace: Workspace, client: Client, turn: Turn): Promise<TurnRun> {
  const { script, before: used = NO_USAGE, env = workspace.env, timeoutMs = TURN_TIMEOUT_MS, ...more } = turn;
  const { kept = join(workspace.root, 'kept'), ...changes } = more;
  const directory = changes.directory ?? (await mkdtemp(join(workspace.root, 'turn-')));
  const cwd = changes.cwd ?? join(workspace.root, 'project');
  await mkdir(cwd, { recursive: true });
  const session = { kind: 'new', id: crypto.randomUUID() } as const;
  const usual = { ...REQUEST, prompt: 'What is the answer?', session };
  const request: TurnRequest = { ...usual, ...changes, cwd, directory };
  const user = userOf({ client: client.name, agentDir: request.agentDir, cwd }, env);
  const route = routeIn({ name: client.name as ClientName, env }, request.model, user);
  const command = turnCommand(client, { ...request, route });
  bringLogin(client.name, user, directory);
  for (const name of command.keeps) await linkKept(join(kept, name), join(directory, name));
  for (const [name, text] of Object.entries(command.files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(directory, name), text, { mode: 0o600 });
  }
  const before = workspace.board.model.requests.length;
  let asked = 0;
  workspace.board.script = (one) => script(one, asked++);
  const end = await runCommand(command.program, command.args, {
    cwd,
    env: { ...variablesNamed(user.env, command.passedOn), ...command.env },
    stdin: command.stdin,
    timeoutMs,
  });
  const requests = workspace.board.model.requests.slice(before);
  const stdout = end.kind === 'exited' ? end.stdout : '';
  const stderr = end.kind === 'exited' ? end.stderr : '';
  const reader = client.reader({ session: request.session, before: used });
  const events = stdout.split('\n').flatMap((line) => [...reader.read(line)]);
  const exit = end.kind === 'exited' ? { code: end.code, signal: null } : null;
  const conclusion = reader.conclude(exit, stderr);
  const isQuestion = ({ api }: ModelRequest) => api !== 'other';
  const questions = requests.filter(isQuestion);
  const others = requests.filter((one) => !isQuestion(one));
  return { end, command, events, conclusion, stdout, stderr, questions, others };
}

export const ANSWER = '다 했습니다 👍';

/** The answers in their order, then a last word. */
export function answers(...given: readonly (readonly ToolCall[] | ModelAnswer)[]): Script {
  return (_request, index) => {
    const answer = given[index] ?? { kind: 'text', text: ANSWER };
    return 'kind' in answer ? answer : { kind: 'calls', calls: answer };
  };
}

/** All that a request says. */
export const texts = (request: ModelRequest | undefined) => textsOf(request?.body).join('\n');
/** The tools that each of the turn's requests offers. */
export const offered = ({ questions }: TurnRun) => questions.map((question) => toolNames(question).sort());
/** What came of the turn's calls, as its reader tells it. */
export const results = ({ events }: TurnRun) =>
  events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));

const STAND_IN = join(import.meta.dir, 'mcp-stand-in.main.ts');
export const MCP: NonNullable<TurnRequest['mcp']> = {
  command: process.execPath,
  args: [STAND_IN],
  env: { STAND_IN_SECRET: 'secret-of-the-server' },
  timeoutMs: 60_000,
};

/** As it is by the second turn in the same directory. */
async function linkKept(kept: string, link: string): Promise<void> {
  for (const directory of [kept, dirname(link)]) await mkdir(directory, { recursive: true, mode: 0o700 });
  if (!existsSync(link)) await symlink(kept, link);
}
