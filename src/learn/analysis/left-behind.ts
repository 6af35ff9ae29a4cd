import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunClient } from '../../store/analysis-runs.ts';

/** What an analysis that was killed leaves behind: the process of its client, and its directory. */

export const DIRECTORY_PREFIX = 'analysis-';
const END_TIMEOUT_MS = 1000;
const POLL_MS = 20;
/** In `/proc/<pid>/stat`, counted from the first field after the name: the state, and the start in ticks. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/**
 * When a process started, as no other process with its id ever did: the machine's start and the ticks since. Undefined
 * when it has ended, and where the system does not tell.
 */
export function processStart(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const isEnded = fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X';
    const ticks = fields[START_FIELD];
    if (isEnded || ticks === undefined || !/^\d+$/.test(ticks)) return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${ticks}`;
  } catch {
    return undefined; // There is no such process.
  }
}

/** Whether this very process lives, and not a later one with its id. */
export function isClientAlive({ pid, started }: RunClient): boolean {
  return processStart(pid) === started;
}

/** Ends the process groups of clients that still live; one that does not end in time is killed. Never throws. */
export async function endClients(clients: readonly RunClient[]): Promise<void> {
  for (const client of clients) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!isClientAlive(client)) break;
      try {
        process.kill(-client.pid, signal);
      } catch {
        break; // It has just ended, or it is not ours to end: then it counts as running.
      }
      for (let ms = 0; ms < END_TIMEOUT_MS && isClientAlive(client); ms += POLL_MS) await sleep(POLL_MS);
    }
  }
}

/** Removes directories of analyses that nothing has been put into since a time. Never throws. */
export function removeOldDirectories(home: string, before: Date): void {
  try {
    for (const entry of readdirSync(home, { withFileTypes: true })) {
      if (!entry.isDirectory() || !entry.name.startsWith(DIRECTORY_PREFIX)) continue;
      const directory = join(home, entry.name);
      if (statSync(directory).mtimeMs < before.getTime()) rmSync(directory, { recursive: true, force: true });
    }
  } catch {
    // What cannot be removed now is tried again by the next analysis.
  }
}
