import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { lookOr, reasonOf } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { type Exit, identityNow } from './process-identity.ts';
import { endProcesses } from './processes.ts';

const PATH_ENTRIES_MAX = 500;

/**
 * Where a program is found on the PATH. Relative entries are passed over: they would name a program inside whatever
 * repository the user is in.
 */
export function findProgram(name: string, env: Environment, platform: string): string | undefined {
  const isWindows = platform === 'win32';
  const path = (isWindows ? (env.PATH ?? env.Path) : env.PATH) ?? '';
  const names = isWindows ? [`${name}.exe`, `${name}.cmd`] : [name];
  return path
    .split(delimiter)
    .slice(0, PATH_ENTRIES_MAX)
    .filter((directory) => isAbsolute(directory))
    .flatMap((directory) => names.map((one) => join(directory, one)))
    .find(isExecutableFile);
}

/** The environment without what on the PATH would name a program inside the directory that one happens to be in. */
export function withAbsolutePath(env: Environment, platform: string): Environment {
  const isPath = (name: string) => (platform === 'win32' ? name.toUpperCase() : name) === 'PATH';
  const absolute = (path: string) => path.split(delimiter).filter(isAbsolute).join(delimiter);
  const kept = (name: string, value: string | undefined) => (value && isPath(name) ? absolute(value) : value);
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, kept(name, value)]));
}

function isExecutableFile(path: string): boolean {
  return lookOr(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  }, false);
}

export type CommandOptions = {
  readonly env: Environment;
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** Given to the program, which then sees the end of its input; without it the input is empty. */
  readonly stdin?: string;
  /** The input ends only when this is true of what was printed: for a program that would end with it before it has answered. */
  readonly isAnswered?: (stdout: string) => boolean;
};

/** How a program ended. `failed` means that it could not be started or that a signal from elsewhere ended it. */
export type CommandResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'timed-out' };

export type RunCommand = (
  file: string,
  args: readonly string[],
  options: CommandOptions,
) => Promise<CommandResult>;

/** Of each stream; what comes after it is read and dropped, so that the program never blocks on a full pipe. */
export const OUTPUT_BYTES_MAX = 1024 * 1024;
/** From SIGTERM to SIGKILL. */
const KILL_DELAY_MS = 1000;
/** How long a descendant may hold the output open after the program itself has ended. */
const DRAIN_MS = 250;

/** Runs a program without a shell and collects its output. At the time limit its whole group is ended. Never throws. */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const { env, cwd } = options;
  const detached = process.platform !== 'win32'; // Its own group, so that the group can be ended.
  try {
    return await resultOf(spawn(file, args, { env, cwd, detached, windowsHide: true }), options);
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  }
}

function resultOf(
  child: ChildProcess,
  { timeoutMs, stdin = '', isAnswered }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    let drained: NodeJS.Timeout | undefined;
    let isEnding = false;
    const settle = (result: CommandResult) => {
      clearTimeout(limit);
      clearTimeout(drained);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(result);
    };
    const finish = () => {
      const { exitCode: code, signalCode } = child;
      if (isEnding) return;
      if (code !== null) settle({ kind: 'exited', code, stdout: stdout(), stderr: stderr() });
      else settle({ kind: 'failed', reason: `ended by ${signalCode ?? 'an unknown cause'}` });
    };
    const limit = setTimeout(async () => {
      isEnding = true;
      const leader = child.pid === undefined ? null : identityNow(child.pid);
      await endProcesses({ leader, polite: 'SIGTERM', graceMs: KILL_DELAY_MS, marker: null });
      settle({ kind: 'timed-out' });
    }, timeoutMs);
    child.once('error', (error) => settle({ kind: 'failed', reason: error.message }));
    child.once('exit', () => {
      clearTimeout(limit); // Its id may be somebody else's from now on.
      drained = setTimeout(finish, DRAIN_MS);
    });
    child.once('close', finish);
    child.stdin?.on('error', () => {}); // A program need not read its input.
    child.stdin?.write(stdin);
    const endInput = () => isAnswered?.(stdout()) === false || child.stdin?.end();
    child.stdout?.on('data', endInput);
    if (isAnswered === undefined) endInput();
  });
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream?.on('data', (chunk: Buffer) => {
    const taken = chunk.subarray(0, OUTPUT_BYTES_MAX - length);
    length += taken.length;
    if (taken.length > 0) chunks.push(taken);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

/**
 * Runs a program, without a shell, on this process' own terminal; resolves with its exit code, or what a shell would say of a
 * signal. @throws Error from the system when it cannot be started.
 */
export function runAttached(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 143)));
  });
}

type DetachedOptions = {
  readonly env: Environment;
  readonly cwd: string;
  /** Files; what is not named is empty or thrown away. What stands in an output file goes. */
  readonly stdin?: string;
  readonly stdout?: string;
  readonly stderr?: string;
};

const PRIVATE_FILE_MODE = 0o600;

/**
 * Starts a program without a shell, in a session and process group of its own: it lives on when this process ends, which
 * does not wait for it. `exited` resolves when it has ended. @throws Error that says why it cannot be started.
 */
export function startDetached(file: string, args: readonly string[], options: DetachedOptions) {
  const opened: number[] = [];
  const open = (path: string | undefined, flags: 'r' | 'w'): number | 'ignore' => {
    if (path === undefined) return 'ignore';
    const handle = openSync(path, flags, PRIVATE_FILE_MODE);
    opened.push(handle);
    return handle;
  };
  try {
    const { env, cwd } = options;
    const stdio = [open(options.stdin, 'r'), open(options.stdout, 'w'), open(options.stderr, 'w')];
    const child = spawned(file, args, { env, cwd, stdio, detached: true, windowsHide: true });
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => {}); // That it could not be started is seen by the missing id.
    });
    if (child.pid === undefined) throw new Error(`Cannot start "${file}": ${whyNot(file, cwd)}`);
    child.unref();
    return { pid: child.pid, exited };
  } finally {
    for (const handle of opened) closeSync(handle);
  }
}

/** What is no program is refused by the system at once. */
function spawned(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(file, args, options);
  } catch (cause) {
    const reason = 'it is no program that this machine can run; install it again, for this system';
    if ((cause as NodeJS.ErrnoException).code !== 'ENOEXEC') throw cause;
    throw new Error(`Cannot start "${file}": ${reason}`, { cause });
  }
}

/** Why a program could not be started: the system has one code for all of these. */
function whyNot(file: string, cwd: string): string {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    return `there is no directory "${cwd}"`;
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return 'there is no such program on the PATH';
  return 'the program that its first line names is not there; install that, or install it again';
}
