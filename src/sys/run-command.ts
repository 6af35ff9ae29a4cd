import { type ChildProcess, spawn } from 'node:child_process';
import { reasonOf } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';

export type CommandOptions = {
  readonly env: Environment;
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** Given to the program, which then sees the end of its input; without it the input is empty. */
  readonly stdin?: string;
  /** Ends the program early, as the time limit does. */
  readonly signal?: AbortSignal;
  /** Told the program's process id, which is also that of its group; when this throws, the program is ended again. */
  readonly onStart?: (pid: number) => void;
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
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = start(file, args, options);
    if (child instanceof Error) {
      resolve({ kind: 'failed', reason: child.message });
      return;
    }
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    const timers: NodeJS.Timeout[] = [];
    let ending: Extract<CommandResult, { kind: 'timed-out' | 'failed' }> | undefined;
    const settle = (result: CommandResult) => {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      if (ending !== undefined) signalGroup(child, 'SIGKILL'); // Descendants that outlived the program.
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(ending ?? result);
    };
    const finish = () => settle(ended(child, stdout(), stderr()));
    child.once('error', (error) => settle({ kind: 'failed', reason: error.message }));
    child.once('exit', () => timers.push(setTimeout(finish, ending === undefined ? DRAIN_MS : 0)));
    child.once('close', finish);
    const stop = (why: NonNullable<typeof ending>) => {
      ending ??= why;
      signalGroup(child, 'SIGTERM');
      timers.push(setTimeout(finish, KILL_DELAY_MS));
    };
    const abort = () => stop({ kind: 'failed', reason: 'it was interrupted' });
    timers.push(setTimeout(() => stop({ kind: 'timed-out' }), options.timeoutMs));
    options.signal?.addEventListener('abort', abort);
    if (options.signal?.aborted) abort();
    try {
      if (child.pid !== undefined) options.onStart?.(child.pid);
    } catch (error) {
      stop({ kind: 'failed', reason: reasonOf(error) });
    }
    child.stdin?.on('error', () => {}); // A program need not read its input.
    child.stdin?.end(options.stdin ?? '');
  });
}

function start(file: string, args: readonly string[], options: CommandOptions): ChildProcess | Error {
  const env = Object.fromEntries(Object.entries(options.env).filter(([, value]) => value !== undefined));
  try {
    return spawn(file, args, {
      env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32', // Its own group, so that the group can be ended.
      windowsHide: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
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

function ended(child: ChildProcess, stdout: string, stderr: string): CommandResult {
  if (child.exitCode !== null) return { kind: 'exited', code: child.exitCode, stdout, stderr };
  return { kind: 'failed', reason: `ended by ${child.signalCode ?? 'an unknown cause'}` };
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group is gone already, which is what was wanted.
  }
}
