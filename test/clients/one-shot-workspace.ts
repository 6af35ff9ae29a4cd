import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { TurnCommand } from '../../src/clients/client.ts';
import { type OneShotAnswer, oneShotCommand, readAnswer } from '../../src/clients/client.ts';
import { runClientToEnd, writeClientFiles } from '../../src/clients/client-process.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import type { ClientUser, Route } from '../../src/clients/route.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import { analysisFiles } from '../../src/runs/model/run.ts';
import { removeDirectory } from '../../src/setup/live-check.ts';
import { readRegularFile } from '../../src/system/files.ts';
import { type CommandResult, runCommand } from '../../src/system/run-command.ts';
import type { ClientName } from '../support/clients.ts';
import { installCli } from './install-clis.ts';
import { type ModelRequest, type OneShotModel, type Script, startOneShotModel } from './one-shot-model.ts';
import { type Place, USERS } from './one-shot-users.ts';
import { openTlsGate, type TlsGate } from './tls-gate.ts';

/** The model at the address at which the user's client looks for it; each run brings its own script. */
type Switchboard = { readonly model: OneShotModel; script: Script };

/** A throw-away user of one client, with a model that answers by a script. */
export type Workspace = Place & {
  readonly name: ClientName;
  readonly root: string;
  readonly env: Environment;
  readonly secret: string;
  /** The temporary directory of the user. */
  readonly temporary: string;
  readonly gate: TlsGate;
  readonly board: Switchboard;
  readonly remove: () => Promise<void>;
};

export type Run = {
  readonly end: CommandResult;
  readonly answer: OneShotAnswer | undefined;
  readonly command: TurnCommand;
  /** What was asked of the model, and whatever else the client asked for. */
  readonly questions: readonly ModelRequest[];
  readonly others: readonly ModelRequest[];
};

export type Call = {
  readonly script: Script;
  readonly prompt?: string;
  readonly model?: string | undefined;
  readonly budgetUsd?: number;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Changes the adapter's arguments; a test that does so says why. */
  readonly withArgs?: (args: readonly string[]) => readonly string[];
};

export const SECRET = 'the-secret-of-the-user';

const RUN_TIMEOUT_MS = 60_000;
const GONE_WITHIN_MS = 5000;

export async function makeWorkspace(name: ClientName): Promise<Workspace> {
  const root = await mkdtemp(join(tmpdir(), 'sg-one-shot-'));
  const at = (directory: string) => join(root, directory);
  for (const directory of ['home', 'marks', 't', 'bin', 'keys']) await mkdir(at(directory), { mode: 0o700 });
  await symlink(await installCli(name), join(at('bin'), name));
  const board: Switchboard = {
    model: await startOneShotModel((request, index) => board.script(request, index)),
    script: () => ({ kind: 'hang' }),
  };
  const gate = await openTlsGate(board.model.url, at('keys'));
  const place: Place = {
    home: at('home'),
    marks: at('marks'),
    modelUrl: board.model.url,
    authority: gate.authority,
  };
  const secret = join(place.home, 'secret.txt');
  await writeFiles(place.home, { ...USERS[name].files(place), 'secret.txt': SECRET });
  const env: Environment = {
    PATH: [at('bin'), process.env.PATH].join(delimiter),
    HOME: place.home,
    LANG: 'ko_KR.UTF-8',
    TMPDIR: at('t'),
    HTTPS_PROXY: gate.url,
    NO_PROXY: '127.0.0.1,localhost',
    UNRELATED: 'must not be passed on',
    ...USERS[name].env(place),
  };
  const remove = async () => {
    gate.stop();
    await board.model.stop();
    if (process.env.KEEP_CLIENT_WORKSPACES === '1') console.log(`kept: ${root}`);
    else await removeDirectory(root);
  };
  return { ...place, name, root, env, secret, temporary: at('t'), gate, board, remove };
}

/** The work in a workspace of this client's that is gone when it is done. */
export async function inWorkspace(
  name: ClientName,
  work: (workspace: Workspace) => Promise<void>,
): Promise<void> {
  const workspace = await makeWorkspace(name);
  try {
    await work(workspace);
  } finally {
    await workspace.remove();
  }
}

/** Asks as the product does: files first, then the program, in a new directory, with what the adapter passes on. */
export async function ask(workspace: Workspace, call: Call): Promise<Run> {
  const client = clientNamed(workspace.name);
  const { prompt = 'What is the answer?', budgetUsd = null, withArgs = (args) => args } = call;
  const model = ('model' in call ? call.model : USERS[workspace.name].model) ?? null;
  const route = routeIn(workspace, model);
  const files = analysisFiles({ home: workspace.root }, { id: 1, ts: new Date().toISOString() });
  const question = { prompt, model, route, budgetUsd, directory: files.home };
  const command = oneShotCommand(client, question);
  writeClientFiles(files, command);
  const launch = {
    command: { ...command, args: withArgs(command.args) },
    ...{ files, cwd: files.home, env: workspace.env, passedOn: [] },
  };
  const polite = client.politeSignal;
  const { script, timeoutMs = RUN_TIMEOUT_MS, signal } = call;
  const waiting = { polite, timeoutMs, ...(signal === undefined ? {} : { signal }) };
  const run = await answering(workspace, script, () => runClientToEnd(launch, waiting));
  const answer = run.end.kind === 'exited' ? readAnswer(client, run.end) : undefined;
  return { ...run, answer, command };
}

/** Asks in the plainest way, which shows that what a test looks for can be seen at all. */
export async function askPlainly(
  workspace: Workspace,
  script: Script,
  cwd = mkdtempSync(join(workspace.root, 'plain-')),
): Promise<Omit<Run, 'command' | 'answer'>> {
  const { NODE_OPTIONS: _options, GEMINI_SANDBOX: _sandbox, ...env } = workspace.env;
  const options = { cwd, env, stdin: `@${workspace.secret}`, timeoutMs: RUN_TIMEOUT_MS };
  const { plainArgs } = USERS[workspace.name];
  return answering(workspace, script, () => runCommand(workspace.name, plainArgs, options));
}

async function answering({ board }: Workspace, script: Script, run: () => Promise<CommandResult>) {
  const before = board.model.requests.length;
  let asked = 0;
  board.script = (request) => script(request, asked++);
  const end = await run();
  const requests = board.model.requests.slice(before);
  const isQuestion = ({ api }: ModelRequest) => api !== 'other';
  return {
    end,
    questions: requests.filter(isQuestion),
    others: requests.filter((request) => !isQuestion(request)),
  };
}

/** What is left over in the marks. */
export function marksOf({ marks }: Workspace): string[] {
  return readdirSync(marks).sort();
}

/** Takes away what is left over there. */
export function clearMarks(workspace: Workspace): void {
  for (const mark of marksOf(workspace)) rmSync(join(workspace.marks, mark));
}

/** The user's own files, by name, as they are now; without the one in which Claude Code keeps its own books. */
export async function filesOf(workspace: Workspace): Promise<Record<string, string>> {
  const names = Object.keys(USERS[workspace.name].files(workspace)).filter((name) => name !== '.claude.json');
  const texts = await Promise.all(names.map((name) => readFile(join(workspace.home, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
}

/** The processes that were started from this workspace and are still there once they have had time to go. */
export async function processesOf({ root }: Workspace): Promise<string[]> {
  const deadline = Date.now() + GONE_WITHIN_MS;
  for (;;) {
    const left = processesNow(root);
    if (left.length === 0 || Date.now() > deadline) return left.map(({ words }) => words);
    await Bun.sleep(20);
  }
}

/** Those that are there now, with their command lines and the processes that started them. */
export function processesNow(root: string) {
  const ids = readdirSync('/proc').filter((id) => /^\d+$/.test(id));
  return ids
    .filter((id) => readOptional(`/proc/${id}/environ`).includes(root))
    .map((id) => {
      const stat = readOptional(`/proc/${id}/stat`).replace(/^.*\) /s, '');
      const words = readOptional(`/proc/${id}/cmdline`).replaceAll('\0', ' ');
      return { id: Number(id), parent: Number(stat.split(' ')[1]), words };
    });
}

/** Empty for a process that is just ending, and for a dead one that nobody has asked after. */
function readOptional(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Where the user's client sends questions to, as the product finds it. */
export function routeIn(
  { name, env }: Pick<Workspace, 'name' | 'env'>,
  model: string | null,
  user: Partial<ClientUser> = {},
): Route {
  return clientNamed(name).route({ env, agentDir: null, cwd: null, read: readRegularFile, ...user }, model);
}

/** Writes files below a directory, objects as JSON. */
export async function writeFiles(directory: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(path, text, { mode: 0o600 });
  }
}
