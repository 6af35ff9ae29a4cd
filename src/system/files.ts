import {
  type Dirent,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../core/guards.ts';
import { stdinChunks } from './runtime-bun.ts';

/**
 * The bytes of a file. A pipe may have nobody at its other end, and a device no end, so they are not opened at all.
 * @throws Error that names the path for these; otherwise what the system says, with its code.
 */
export function readPlainFile(path: string): Buffer {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory())
    throw new Error(`Cannot read "${path}": it is a pipe or a device, not a file`);
  return readFileSync(path); // Of a directory the system says what it is.
}

/** The text of a file, undefined where there is none. @throws Error for what is there and is no file that can be read. */
export function readRegularFile(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  // Anything else, a pipe for one, might never come to an end.
  if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
  return readFileSync(path, 'utf8');
}

/** Standard input as text, or its beginning of `bytesMax`. */
export async function readInput(bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdinChunks()) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, bytesMax));
}

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

export type FoundFile = { readonly path: string; readonly bytes: number; readonly modifiedMs: number };

export type Unreadable = { readonly path: string; readonly reason: string };

type Found = {
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
