import { readFileSync } from 'node:fs';
import type { Subprocess } from 'bun';
import { HANG_MS } from './hook-process.ts';
import { BINARY } from './program.ts';

export type Ended = {
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  /** The most memory that was ever resident. */
  readonly peakBytes: number;
};

export type OpenHook = {
  /** Writes; resolves when the pipe has taken it, or when the hook has gone. */
  readonly write: (part: string | Uint8Array) => Promise<void>;
  readonly close: () => Promise<void>;
  readonly ended: Promise<Ended>;
};

/**
 * A hook whose standard input stays open until it is closed here.
 *
 * Its memory is read from /proc while it lives: VmHWM is the high-water mark of this program alone. The figure that
 * wait4() gives at the end is not used, because a child started by vfork inherits the mark of its parent, which is
 * this test runner. The last reading comes from at most a millisecond before the end.
 */
export function openHook(home: string, name = 'prompt-logger'): OpenHook {
  const child = Bun.spawn([BINARY, 'hook', name], {
    cwd: home,
    env: { HOME: home },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  const ended = Promise.all([child.exited, child.stdout.bytes(), peakBytesOf(child)]).then(
    ([code, stdout, peakBytes]) => ({ exitCode: child.signalCode === null ? code : null, stdout, peakBytes }),
  );
  return {
    write: async (part) => {
      try {
        child.stdin.write(part);
        await Promise.race([child.stdin.flush(), child.exited]);
      } catch {
        // The hook has ended: then nobody takes the rest.
      }
    },
    close: async () => {
      try {
        await child.stdin.end();
      } catch {
        // As above.
      }
    },
    ended,
  };
}

/** The most memory that the program was ever seen with, once it has ended. */
export async function peakBytesOf(child: Subprocess): Promise<number> {
  let peakBytes = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, highWaterMark(child.pid));
    await Promise.race([child.exited, Bun.sleep(1)]);
  }
  return peakBytes;
}

function highWaterMark(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0; // It has just ended.
  }
}
