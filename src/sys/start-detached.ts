import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import type { Exit } from '../core/runs/turn.ts';
import type { Environment } from '../core/state-paths.ts';

export type DetachedOptions = {
  readonly env: Environment;
  readonly cwd: string;
  /** Files; what is not named is empty or thrown away. What stands in an output file goes. */
  readonly stdin?: string;
  readonly stdout?: string;
  readonly stderr?: string;
};

export type Started = {
  readonly pid: number;
  /** Resolves when the process has ended; never when this process ends before. */
  readonly exited: Promise<Exit>;
};

const PRIVATE_FILE_MODE = 0o600;

/**
 * Starts a program without a shell, in a session and process group of its own: it lives on when this process ends, which
 * does not wait for it. @throws Error that says why it cannot be started.
 */
export function startDetached(file: string, args: readonly string[], options: DetachedOptions): Started {
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
    const exited = exitOf(child);
    if (child.pid === undefined) throw new Error(`Cannot start "${file}": ${whyNot(file, cwd)}`);
    child.unref();
    return { pid: child.pid, exited };
  } finally {
    for (const handle of opened) closeSync(handle);
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => {}); // That it could not be started is seen by the missing id.
  });
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

/** The system gives one code for all of these. */
function whyNot(file: string, cwd: string): string {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    return `there is no directory "${cwd}"`;
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return 'there is no such program on the PATH';
  return 'the program that its first line names is not there; install that, or install it again';
}
