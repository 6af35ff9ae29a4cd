import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { asRecord, isRecord, parseJson, readRecord, readString } from '../core/guards.ts';
import { type Environment, statePaths } from '../core/state-paths.ts';
import { HOOKS } from '../hooks/hooks.ts';
import { type CommandResult, runCommand } from '../system/run-command.ts';
import type { ModelRequest } from './scripted-model.ts';
import { answer, type Script, say, startScriptedModel, startSubAgent, useTool } from './scripted-model.ts';

type LiveCheckOptions = {
  /** The client: a binary, or its `cli.js`, which is run with the `node` of the PATH. */
  readonly clientPath: string;
  readonly binaryPath: string;
  /** The caller's environment. Of it the client sees the PATH and the locale, nothing else. */
  readonly env: Environment;
  /** For the whole check. */
  readonly timeoutMs: number;
};

/** The directories that a client run keeps to. */
export type ClientDirectories = {
  readonly home: string;
  readonly project: string;
  readonly temporary: string;
  /** Holds `claude`, so that whoever looks for the client on the PATH finds the one under test. */
  readonly bin: string;
};

const MARKER = 'live-check-marker';
const REASON_LENGTH_MAX = 500;
const REMOVE_TRIES_MAX = 5;
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'SystemRoot', 'ComSpec', 'PATHEXT', 'CLAUDE_CODE_GIT_BASH_PATH'];

const SCRIPT: Script = {
  main: [
    answer(useTool('Bash', { command: `ls --${MARKER}`, description: 'Fail' })),
    answer(useTool('Bash', { command: 'echo fine', description: 'Succeed' })),
    answer(startSubAgent('general-purpose', 'worker', { run_in_background: false })),
    answer(say('Finished.')),
  ],
  worker: [
    answer(useTool('Bash', { command: 'exit 4', description: 'Fail' })),
    answer(useTool('Bash', { command: 'echo recovered', description: 'Recover' })),
    answer(say('done')),
  ],
};

/**
 * Runs the real client once, in a throw-away home, against a scripted model on loopback, and says which hooks it
 * called and whether a sub-agent was given context. The user's home, key and account are not touched. Does not throw
 * when the client or the binary misbehaves: that is a report.
 */
export async function runLiveCheck(options: LiveCheckOptions) {
  const { clientPath, binaryPath, env, timeoutMs } = options;
  const root = await mkdtemp(join(env.TMPDIR ?? tmpdir(), 'sg-live-'));
  const model = startScriptedModel({ script: SCRIPT });
  try {
    const directories = await makeClientDirectories(root, clientPath);
    const clientEnv = clientEnvironment(env, directories, model.url);
    const stopAt = Date.now() + timeoutMs;
    const run = ([program = '', ...args]: readonly string[], stdin = '') => {
      const timeoutMs = Math.max(0, stopAt - Date.now());
      return runCommand(program, args, { cwd: directories.project, env: clientEnv, stdin, timeoutMs });
    };
    const installed = await run([binaryPath, 'install']);
    if (!hasSucceeded(installed)) return failed(undefined, 'install', installed);
    const command = [...clientCommand(clientPath), ...CLIENT_ARGUMENTS];
    const client = await run(command, '[[conv:main]] Check the hooks.');
    const clientVersion = client.kind === 'exited' ? versionIn(client.stdout) : undefined;
    if (!hasSucceeded(client)) return failed(clientVersion, 'the client', client);
    const events = await sightings(directories.home);
    return { kind: 'completed', clientVersion, events, context: contextIn(model.requests) } as const;
  } finally {
    await model.stop();
    await removeDirectory(root);
  }
}

/** How the client is run without a terminal: the prompt on stdin, one JSON object per line on stdout. */
export const CLIENT_ARGUMENTS: readonly string[] =
  '-p --output-format stream-json --verbose --dangerously-skip-permissions'.split(' ');

/** The command that starts this client. */
export function clientCommand(clientPath: string): readonly [string, ...string[]] {
  return /\.[cm]?js$/.test(clientPath) ? ['node', clientPath] : [clientPath];
}

/** Makes the directories of a client run below `root`, readable by this user only, with the client as `claude`. */
export async function makeClientDirectories(root: string, clientPath: string): Promise<ClientDirectories> {
  const at = (name: string) => join(root, name);
  const directories = { home: at('home'), project: at('project'), temporary: at('t'), bin: at('bin') };
  for (const path of [root, ...Object.values(directories)])
    await mkdir(path, { recursive: true, mode: 0o700 });
  const [program, script] = clientCommand(clientPath);
  if (script === undefined) {
    const name = process.platform === 'win32' ? basename(program) : 'claude';
    await symlink(program, join(directories.bin, name));
  } else {
    const quoted = `'${script.replaceAll("'", "'\\''")}'`;
    const text = `#!/bin/sh\nexec node ${quoted} "$@"\n`;
    await writeFile(join(directories.bin, 'claude'), text, { mode: 0o700 });
  }
  return directories;
}

/** All that a client run sees of the environment: the user's keys, proxies and settings are left out. */
export function clientEnvironment(env: Environment, directories: ClientDirectories, modelUrl: string) {
  const { home, temporary, bin } = directories;
  const passedOn = PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  return {
    ...Object.fromEntries(passedOn),
    PATH: [bin, env.PATH ?? ''].join(delimiter),
    HOME: home,
    ...(process.platform === 'win32' && { USERPROFILE: home, APPDATA: home, LOCALAPPDATA: home }),
    TMPDIR: temporary,
    TEMP: temporary,
    CLAUDE_CODE_TMPDIR: temporary,
    TERM: 'dumb',
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'dummy',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    IS_SANDBOX: '1', // Without it the client refuses to skip permissions for root.
  };
}

/** Removes a directory in which a process that is just ending may still write. */
export async function removeDirectory(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: REMOVE_TRIES_MAX, retryDelay: 100 });
}

/** Whether a program has ended by itself, and with 0. */
export function hasSucceeded(result: CommandResult): boolean {
  return result.kind === 'exited' && result.code === 0;
}

function failed(clientVersion: string | undefined, what: string, result: CommandResult) {
  const reason = `Cannot check live: ${what} ${describeEnd(result)}`;
  return { kind: 'failed', clientVersion, reason } as const;
}

/** How a program ended, and the end of what it said. */
export function describeEnd(result: CommandResult): string {
  if (result.kind === 'failed') return `failed: ${result.reason}`;
  if (result.kind === 'timed-out') return 'took too long';
  const said = (result.stderr.trim() || result.stdout.trim()).slice(-REASON_LENGTH_MAX);
  return `ended with exit code ${result.code}${said === '' ? '' : `: ${said}`}`;
}

function versionIn(stdout: string): string | undefined {
  for (const line of stdout.split('\n')) {
    const message = parseJson(line);
    if (isRecord(message) && message.subtype === 'init') return readString(message, 'claude_code_version');
  }
  return undefined;
}

/** Each event, and whether its hook was seen. `unregistered`: install left it out. `not waited for`: the client may have ended before it did. */
async function sightings(home: string) {
  const paths = statePaths({ HOME: home }, 'linux');
  const seen = paths === undefined ? [] : await readdir(paths.heartbeats).catch(() => []);
  const settings = parseJson(await readFile(join(home, '.claude', 'settings.json'), 'utf8').catch(() => ''));
  const registered = readRecord(asRecord(settings), 'hooks');
  return HOOKS.filter(({ wakes }) => !wakes).map(({ event, isAsync }) => {
    if (seen.includes(event)) return { event, state: 'seen' } as const;
    if (!Object.hasOwn(registered, event)) return { event, state: 'unregistered' } as const;
    return { event, state: isAsync ? 'not waited for' : 'not seen' } as const;
  });
}

/** Whether the sub-agent's first request told of the error that the session had made before. */
function contextIn(requests: readonly ModelRequest[]): 'delivered' | 'not delivered' | 'no sub-agent' {
  const first = requests.find((request) => request.kind === 'turn' && request.conversation === 'worker');
  if (first?.kind !== 'turn') return 'no sub-agent';
  return JSON.stringify(first.body).includes(MARKER) ? 'delivered' : 'not delivered';
}
