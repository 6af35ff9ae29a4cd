import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Longer than anything takes that needs such a directory. */
const STALE_MS = 3_600_000;

/**
 * Runs `work` with a directory below `parent` that only this user can look into, and removes it with all that is in it,
 * and what a process that was killed has left there of an hour ago and before. `name`: how it begins.
 */
export function withTemporaryDirectory<T>(parent: string, name: string, work: (directory: string) => T): T {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  removeStale(parent, name);
  const directory = mkdtempSync(join(parent, name));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function removeStale(parent: string, name: string): void {
  for (const entry of readdirSync(parent)) {
    const path = join(parent, entry);
    if (
      !entry.startsWith(name) ||
      Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < STALE_MS
    )
      continue;
    rmSync(path, { recursive: true, force: true });
  }
}
