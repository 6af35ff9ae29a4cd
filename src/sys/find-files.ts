import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../core/guards.ts';

export type FoundFile = { readonly path: string; readonly bytes: number; readonly modifiedMs: number };

export type Unreadable = { readonly path: string; readonly reason: string };

export type Found = {
  /** Each under its real path, in alphabetical order. */
  readonly files: readonly FoundFile[];
  readonly unreadable: readonly Unreadable[];
  /** Symbolic links to directories: they may lead anywhere, also back. */
  readonly linksNotFollowed: number;
};

const DEPTH_MAX = 12;
const FILES_MAX = 1_000_000;

/**
 * The files below a directory whose names end in this way; a file itself is what is found when it is given. Links to
 * files are followed, links below the directory to other directories are not. Never throws.
 */
export function findFiles(root: string, ending: string): Found {
  const found: Search = { files: new Map(), unreadable: [], linksNotFollowed: 0 };
  attempt(found, root, () => {
    if (statSync(root).isDirectory()) search(realpathSync(root), { ending, depth: 0 }, found);
    else add(root, found);
  });
  const files = [...found.files.values()].sort((left, right) => (left.path < right.path ? -1 : 1));
  return { ...found, files };
}

type Search = { files: Map<string, FoundFile>; unreadable: Unreadable[]; linksNotFollowed: number };

function search(
  directory: string,
  { ending, depth }: { ending: string; depth: number },
  found: Search,
): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    attempt(found, path, () => {
      if (entry.isDirectory()) {
        if (depth < DEPTH_MAX) search(path, { ending, depth: depth + 1 }, found);
      } else if (leadsToDirectory(path, entry)) found.linksNotFollowed++;
      else if (entry.name.endsWith(ending)) add(path, found);
    });
  }
}

function leadsToDirectory(path: string, entry: Dirent): boolean {
  return entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function add(path: string, found: Search): void {
  const real = realpathSync(path);
  const stats = statSync(real);
  if (!stats.isFile() || found.files.size >= FILES_MAX) return; // To open a pipe would wait for a writer.
  found.files.set(real, { path: real, bytes: stats.size, modifiedMs: stats.mtimeMs });
}

function attempt(found: Search, path: string, operation: () => void): void {
  try {
    operation();
  } catch (error) {
    found.unreadable.push({ path, reason: reasonOf(error) });
  }
}
