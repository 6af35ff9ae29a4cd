import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { lookOr, reasonOf } from '../core/guards.ts';
import { stdinChunks } from './runtime-bun.ts';

/**
 * The bytes of a file. A pipe may have nobody at its other end, and a device no end, so they are not opened at all.
 * @throws Error that names the path for these; otherwise the system's error, with its code.
 */
export function readPlainFile(path: string): Buffer {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory())
    throw new Error(`Cannot read "${path}": it is a pipe or a device, not a file`);
  return readFileSync(path); // A directory gets the system's own error.
}

/** The text of a file, undefined where there is none. @throws Error for what is there and is no file that can be read. */
export function readRegularFile(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  // Anything else, a pipe for one, might never come to an end.
  if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
  return readFileSync(path, 'utf8');
}

/** Works with an open file, and closes it; a new one is for this user alone. @throws Error from the system. */
export function withOpenFile<T>(path: string, flags: string | number, work: (file: number) => T): T {
  const file = openSync(path, flags, 0o600);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

/** Standard input as text, or its beginning of `bytesMax`. */
export function readInput(bytesMax: number): Promise<string> {
  return textOf(stdinChunks(), bytesMax);
}

/** The same; undefined where nothing comes within this time, and it is not read then. */
export async function readInputSoon(bytesMax: number, withinMs: number): Promise<string | undefined> {
  const { stdin } = process;
  const begins = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), withinMs);
    stdin.once('readable', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  if (await begins) return textOf(stdin, bytesMax);
  stdin.destroy(); // Waiting for it would keep the process.
  return undefined;
}

async function textOf(input: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, bytesMax));
}

/** Whether something was piped or directed into standard input: no terminal, no /dev/null, and no socket, which may never end. */
export function isInputPiped(): boolean {
  return lookOr(() => {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile();
  }, false);
}

/** Longer than anything takes that needs such a directory. */
const STALE_MS = 3_600_000;

/**
 * Makes a directory below `parent` that only this user can look into. At the end of its scope (`using`) it is removed with all
 * that is in it; what a process that was killed has left there an hour ago and before is removed now. `name`: how it begins,
 * ours alone also where `parent` is everybody's; what another user has there stays.
 */
export function temporaryDirectory(parent: string, name: string): Disposable & { readonly path: string } {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(parent).filter((one) => one.startsWith(name))) {
    const path = join(parent, entry);
    const left = lstatSync(path, { throwIfNoEntry: false });
    if (left?.isDirectory() && Date.now() - left.mtimeMs >= STALE_MS)
      lookOr(() => rmSync(path, { recursive: true, force: true }), undefined);
  }
  const path = mkdtempSync(join(parent, name));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export type FoundFile = { readonly path: string; readonly bytes: number; readonly modifiedMs: number };

export type Unreadable = { readonly path: string; readonly reason: string };

const DEPTH_MAX = 12;
const FILES_MAX = 1_000_000;

/**
 * The files below a directory whose names end in this way, each under its real path, in alphabetical order; a file itself
 * is what is found when it is given. Links to files are followed, links below the directory to other directories are not:
 * they may lead anywhere, also back. Never throws.
 */
export function findFiles(root: string, ending: string) {
  const files = new Map<string, FoundFile>();
  const unreadable: Unreadable[] = [];
  let linksNotFollowed = 0;
  const attempt = (path: string, operation: () => void) => {
    try {
      operation();
    } catch (error) {
      unreadable.push({ path, reason: reasonOf(error) });
    }
  };
  const add = (path: string) => {
    const real = realpathSync(path);
    const stats = statSync(real);
    if (!stats.isFile() || files.size >= FILES_MAX) return; // To open a pipe would wait for a writer.
    files.set(real, { path: real, bytes: stats.size, modifiedMs: stats.mtimeMs });
  };
  const search = (directory: string, depth: number) => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      attempt(path, () => {
        if (entry.isDirectory()) {
          if (depth < DEPTH_MAX) search(path, depth + 1);
        } else if (entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isDirectory())
          linksNotFollowed++;
        else if (entry.name.endsWith(ending)) add(path);
      });
    }
  };
  attempt(root, () => (statSync(root).isDirectory() ? search(realpathSync(root), 0) : add(root)));
  const found = [...files.values()].sort((left, right) => (left.path < right.path ? -1 : 1));
  return { files: found, unreadable, linksNotFollowed };
}
