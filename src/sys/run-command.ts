import { type ChildProcess, spawn } from 'node:child_process';
import type { Environment } from '../core/state-paths.ts';
import { endProcesses } from './end-processes.ts';
import { identityNow } from './process-identity.ts';

export type CommandOptions = {
  readonly env: Environment;
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** Given to the program, which then sees the end of its input; without it the input is empty. */
  readonly stdin?: string;
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
    let drained: NodeJS.Timeout | undefined;
    let isEnding = false;
    const settle = (result: CommandResult) => {
      clearTimeout(limit);
      clearTimeout(drained);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(result);
    };
    const finish = () => isEnding || settle(ended(child, stdout(), stderr()));
    const limit = setTimeout(async () => {
      isEnding = true;
      await endGroup(child);
      settle({ kind: 'timed-out' });
    }, options.timeoutMs);
    child.once('error', (error) => settle({ kind: 'failed', reason: error.message }));
    child.once('exit', () => {
      clearTimeout(limit); // Its id may be somebody else's from now on.
      drained = setTimeout(finish, DRAIN_MS);
    });
    child.once('close', finish);
    child.stdin?.on('error', () => {}); // A program need not read its input.
    child.stdin?.end(options.stdin ?? '');
  });
}

function start(file: string, args: readonly string[], options: CommandOptions): ChildProcess | Error {
  try {
    return spawn(file, args, {
      env: options.env,
      cwd: options.cwd,
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

async function endGroup({ pid }: ChildProcess): Promise<void> {
  if (pid === undefined) return;
  const leader = identityNow(pid);
  await endProcesses({ leader, polite: 'SIGTERM', graceMs: KILL_DELAY_MS, marker: null });
}
