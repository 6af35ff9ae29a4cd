import { type ChildProcess, spawn } from 'node:child_process';
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
    const child = spawn(file, args, {
      env: options.env,
      cwd: options.cwd,
      stdio: [open(options.stdin, 'r'), open(options.stdout, 'w'), open(options.stderr, 'w')],
      detached: true,
      windowsHide: true,
    });
    const exited = exitOf(child);
    if (child.pid === undefined) throw new Error(`Cannot start "${file}": ${whyNot(options.cwd)}`);
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

/** The system gives one code for both. */
function whyNot(cwd: string): string {
  const isThere = statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? 'there is no such program on the PATH' : `there is no directory "${cwd}"`;
}
