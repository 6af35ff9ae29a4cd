import { Database } from 'bun:sqlite';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRecord, type Json, lookOr, parseJson, readString } from '../../src/core/guards.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import {
  CLIENT_ARGUMENTS,
  type ClientDirectories,
  clientCommand,
  clientEnvironment,
  describeEnd,
  makeClientDirectories,
  removeDirectory,
} from '../../src/setup/live-check.ts';
import { type ModelRequest, type ScriptedModel, startScriptedModel } from '../../src/setup/scripted-model.ts';
import { withMarker } from '../../src/system/processes.ts';
import { type CommandResult, runCommand } from '../../src/system/run-command.ts';
import type { InstalledClient } from './install-client.ts';
import type { Scenario } from './scenarios.ts';

/** A throw-away home and project with a client and the binary under test. */
export type Workspace = ClientDirectories & {
  readonly root: string;
  readonly client: InstalledClient;
  readonly binary: string;
};

export type WorkspaceOptions = {
  readonly client: InstalledClient;
  readonly binary: string;
  /** Path below the project to the file's text. */
  readonly files?: Readonly<Record<string, string>>;
};

export type HookResponse = {
  readonly event: string;
  readonly exitCode: unknown;
  readonly outcome: unknown;
  readonly stdout: string;
  readonly stderr: string;
};

/** What was seen of one client run. */
export type ClientRun = {
  readonly end: CommandResult;
  readonly requests: readonly ModelRequest[];
  /** The client's own record of its hooks; SessionEnd is never in it. Old clients keep none: undefined. */
  readonly hookResponses: readonly HookResponse[] | undefined;
};

export type EventRow = { readonly type: string; readonly projectPath: unknown; readonly data: Json };
export type ErrorRow = { readonly errorNormalized: string; readonly resolution: unknown };
export type Recorded = { readonly events: readonly EventRow[]; readonly errors: readonly ErrorRow[] };

const RUN_TIMEOUT_MS = 120_000;
const PRODUCT_TIMEOUT_MS = 60_000;
const NO_MODEL = 'http://127.0.0.1:9';
const PROJECT_FILES = {
  'package.json': JSON.stringify({ name: 'shop', version: '1.0.0', scripts: { test: 'sh test.sh' } }),
  'test.sh': '[ -n "$PORT" ] || { echo "Error: PORT is not set"; exit 1; }\n',
  'settings.ini': 'name = shop\n',
  '.claude/agents/executor.md': agentFile('executor', 'Bash, Read, Edit, Write, Agent, Task'),
  '.claude/agents/researcher.md': agentFile('researcher', 'Read'),
};
const HOME_FILES = { '.claude/agents/scribe.md': agentFile('scribe', 'Read, Write') };

/** Of a user whose texts are those of the seed. */
const KOREAN: Environment = { ...process.env, LANG: 'ko_KR.UTF-8', LC_ALL: undefined };

/** A project with a failing test, agents of its own, and the client on the PATH. */
export async function makeWorkspace({ client, binary, files }: WorkspaceOptions): Promise<Workspace> {
  const root = await mkdtemp(join(tmpdir(), 'sg-client-'));
  const directories = await makeClientDirectories(root, client.path);
  await writeFiles(directories.project, { ...PROJECT_FILES, ...files });
  await writeFiles(directories.home, HOME_FILES);
  return { ...directories, root, client, binary };
}

/** Removes the workspace; `KEEP_CLIENT_WORKSPACES=1` keeps it for looking into. */
export async function removeWorkspace({ root }: Workspace): Promise<void> {
  if (process.env.KEEP_CLIENT_WORKSPACES === '1') console.log(`kept: ${root}`);
  else await removeDirectory(root);
}

/** Runs the binary under test as the user of this workspace would. */
export function runProduct(
  workspace: Workspace,
  args: readonly string[],
  stdin = '',
  modelUrl = NO_MODEL,
): Promise<CommandResult> {
  const env = clientEnvironment(KOREAN, workspace, modelUrl);
  const options = { cwd: workspace.project, env, stdin, timeoutMs: PRODUCT_TIMEOUT_MS };
  return runCommand(workspace.binary, args, options);
}

/** Runs the binary under test and throws unless it succeeds. */
export async function runProductOrThrow(workspace: Workspace, args: readonly string[]): Promise<void> {
  const end = await runProduct(workspace, args);
  if (end.kind === 'exited' && end.code === 0) return;
  throw new Error(`Cannot prepare the test: "${args.join(' ')}" ${describeEnd(end)}`);
}

/** Runs the client through one scenario, headless, to its end. */
export async function clientNamed(
  workspace: Workspace,
  scenario: Scenario,
  env: Environment = {},
): Promise<ClientRun> {
  const model = await startScriptedModel({ script: scenario.script });
  try {
    return await runClientOn(model, workspace, { prompt: scenario.prompt, env });
  } finally {
    await model.stop();
  }
}

export type ClientCall = {
  readonly prompt: string;
  readonly env?: Environment;
  /** More arguments of the client, such as `--resume ID`. */
  readonly args?: readonly string[];
};

/** Runs the client once against a model that goes on afterwards. The requests are those of this run. */
export async function runClientOn(
  model: ScriptedModel,
  workspace: Workspace,
  { prompt, env = {}, args = [] }: ClientCall,
): Promise<ClientRun> {
  const before = model.requests.length;
  const reportsHooks = isAtLeast(workspace.client.version, [2, 1, 100]);
  const flags = reportsHooks ? ['--include-hook-events'] : [];
  const [program, ...script] = clientCommand(workspace.client.path);
  const end = await runCommand(program, [...script, ...CLIENT_ARGUMENTS, ...flags, ...args], {
    cwd: workspace.project,
    env: { ...clientEnvironment(KOREAN, workspace, model.url), ...env },
    stdin: prompt,
    timeoutMs: RUN_TIMEOUT_MS,
  });
  await workBehindEnds(workspace);
  const stdout = end.kind === 'exited' ? end.stdout : '';
  return {
    end,
    hookResponses: reportsHooks ? hookResponsesIn(stdout) : undefined,
    requests: model.requests.slice(before),
  };
}

const BEHIND_MAX_MS = 20_000;

/** Resolves when what hooks have left to processes of their own is done; a background agent of the client may stay. */
async function workBehindEnds({ home }: Workspace): Promise<void> {
  const isOurs = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0catch-up\0');
  const endMs = Date.now() + BEHIND_MAX_MS;
  const isAtWork = () =>
    withMarker({ name: 'HOME', value: home }).some((pid) => lookOr(() => isOurs(pid), false));
  while (isAtWork() && Date.now() < endMs) await Bun.sleep(20);
}

/** Whether version `a.b.c` is this one or later. */
export function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, wanted] of least.entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

/** What the hooks stored; nothing when there is no database yet. */
export function readRecorded(workspace: Workspace): Recorded {
  const events = readTable(workspace, 'events').map((row) => {
    const [type, data] = [readString(row, 'type') ?? '', parsedRecord(row.data)];
    return { type, projectPath: row.project_path, data };
  });
  const errors = readTable(workspace, 'error_kb').map((row) => {
    const resolution = parseJson(readString(row, 'resolution') ?? '');
    return { errorNormalized: readString(row, 'error_normalized') ?? '', resolution };
  });
  return { events, errors };
}

/** The rows of a table in their order; none when there is no database yet. */
export function readTable({ home }: Workspace, table: string): Json[] {
  const path = join(home, '.self-generation', 'data', 'self-gen.db');
  if (!existsSync(path)) return [];
  const database = new Database(path, { readonly: true });
  database.run('PRAGMA busy_timeout = 5000'); // A reader may be at work behind the session's end.
  try {
    return database.query(`SELECT * FROM ${table} ORDER BY rowid`).all().filter(isRecord);
  } finally {
    database.close();
  }
}

/** When each event last came in: what changes when any hook runs. */
export async function readHeartbeats(workspace: Workspace): Promise<Map<string, Buffer>> {
  const files = await readStateFiles(workspace);
  return new Map([...files].filter(([name]) => name.startsWith('heartbeats')));
}

/** The bytes of every file below the product's home except the binary, by relative path. */
export async function readStateFiles({ home }: Workspace): Promise<Map<string, Buffer>> {
  const root = join(home, '.self-generation');
  const files = new Map<string, Buffer>();
  if (!existsSync(root)) return files;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const isBinary = path.startsWith(join(root, 'hooks'));
    if (entry.isFile() && !isBinary) files.set(path.slice(root.length + 1), await readFile(path));
  }
  return files;
}

/** The user's settings file as the client reads it. */
export async function readSettings({ home }: Workspace): Promise<Json> {
  return parsedRecord(await readFile(join(home, '.claude', 'settings.json'), 'utf8'));
}

/** Writes files below a directory, making the directories between. */
export async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

function agentFile(name: string, tools: string): string {
  return `---\nname: ${name}\ndescription: Does the work of a ${name}.\ntools: ${tools}\n---\nYou are a ${name}.\n`;
}

function parsedRecord(value: unknown): Json {
  const parsed = typeof value === 'string' ? parseJson(value) : undefined;
  return isRecord(parsed) ? parsed : {};
}

function hookResponsesIn(stdout: string): HookResponse[] {
  const messages = stdout.split('\n').map(parsedRecord);
  return messages.flatMap((message) => {
    if (message.subtype !== 'hook_response') return [];
    const said = (key: string) => readString(message, key) ?? '';
    const { exit_code: exitCode, outcome } = message;
    return [{ event: said('hook_event'), exitCode, outcome, stdout: said('stdout'), stderr: said('stderr') }];
  });
}
