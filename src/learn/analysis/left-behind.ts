import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessIdentity } from '../../core/runs/turn.ts';
import { isSameProcess } from '../../sys/process-identity.ts';

/** What an analysis that was killed leaves behind: the process of its client, and its directory. */

export const DIRECTORY_PREFIX = 'analysis-';
const END_TIMEOUT_MS = 1000;
const POLL_MS = 20;
/** Ends the process groups of clients that still live; one that does not end in time is killed. Never throws. */
export async function endClients(clients: readonly ProcessIdentity[]): Promise<void> {
  for (const client of clients) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!isSameProcess(client)) break;
      try {
        process.kill(-client.pid, signal);
      } catch {
        break; // It has just ended, or it is not ours to end: then it counts as running.
      }
      for (let ms = 0; ms < END_TIMEOUT_MS && isSameProcess(client); ms += POLL_MS) await sleep(POLL_MS);
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
