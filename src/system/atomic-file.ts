import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { lookOr, reasonOf } from '../core/guards.ts';
import { withOpenFile } from './files.ts';

const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
/** As many as Linux itself follows. */
const LINKS_MAX = 40;
const TEMPORARY_END = /^[0-9a-f-]{36}\.tmp$/;

/**
 * Replaces a file in one step: a reader, or a crash, sees the old bytes or the new ones, never a part. Symbolic links
 * are followed and stay links. Without `mode` an existing file keeps its mode and owner and a new one gets 0600.
 * `isDurable: false` does not wait for the disk: after a power failure there may be neither.
 * @throws Error naming the path when it cannot be written; nothing has changed then.
 */
export function writeFileAtomic(
  path: string,
  bytes: string | Uint8Array,
  { mode, isDurable = true }: { readonly mode?: number; readonly isDurable?: boolean } = {},
): void {
  const target = resolveLinks(path);
  const existing = statOrUndefined(target);
  // A pipe or a device would be gone for everybody, and a link may lead to one of the system's.
  if (existing !== undefined && !existing.isFile())
    throw new Error(`Cannot write "${path}": what stands there is no file`);
  const fill = (temporary: string) =>
    withOpenFile(temporary, 'wx', (file) => {
      writeFileSync(file, bytes);
      // With `sudo` the new file would belong to root, and its owner could no longer read it. Only root may give one away.
      if (existing !== undefined) lookOr(() => fchownSync(file, existing.uid, existing.gid), undefined);
      fchmodSync(file, mode ?? (existing ? modeOf(existing) : PRIVATE_FILE_MODE));
      if (isDurable) fsyncSync(file);
    });
  throughTemporary(target, fill, isDurable);
}

/**
 * Copies a file over another in one step. A program running from the target goes on with the old file. A symbolic
 * link at the target is replaced, so that a foreign program it points to is not overwritten. `aside`: where the old file goes
 * when it cannot be replaced, as on Windows while it runs.
 * @throws Error naming the target when it cannot be written; nothing has changed then.
 */
export function copyFileAtomic(
  source: string,
  target: string,
  { mode, aside }: { readonly mode: number; readonly aside?: string },
): void {
  const fill = (temporary: string) => {
    copyFileSync(source, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    chmodSync(temporary, mode); // The source's mode came with it, which may not let its owner write.
    withOpenFile(temporary, 'r+', fsyncSync);
  };
  throughTemporary(target, fill, true, (from, to) => replaceFile(from, to, aside));
}

/** Renames one file over another; where that is refused and `aside` is given, the old one goes there first, and comes back if need be. */
export function replaceFile(
  from: string,
  to: string,
  aside?: string,
  rename: (from: string, to: string) => void = renameSync,
): void {
  try {
    rename(from, to);
  } catch (error) {
    if (aside === undefined || !existsSync(to)) throw error;
    rename(to, aside);
    try {
      rename(from, to);
    } catch (cause) {
      rename(aside, to);
      throw cause;
    }
  }
}

/** What was there before: nothing (`directories` were made, outermost first), or a directory with this mode. */
export type DirectoryChange =
  | { readonly kind: 'created'; readonly directories: readonly string[] }
  | { readonly kind: 'existed'; readonly modeBefore: number };

/** Makes sure that the directory exists and that nobody else can look into it (0700). @throws Error from the system. */
export function ensurePrivateDirectory(path: string): DirectoryChange {
  const existing = statOrUndefined(path);
  if (existing === undefined) return { kind: 'created', directories: makeDirectories(path) };
  if (!existing.isDirectory()) throw new Error(`Cannot make the directory "${path}": a file stands there`);
  const modeBefore = modeOf(existing);
  if (modeBefore !== PRIVATE_DIRECTORY_MODE) chmodSync(path, PRIVATE_DIRECTORY_MODE);
  return { kind: 'existed', modeBefore };
}

/** Where writing to this path ends up: links are followed, also those to a file that does not exist yet. */
export function resolveLinks(path: string): string {
  let at = path;
  for (let hop = 0; hop < LINKS_MAX; hop++) {
    const current = at;
    const link = lookOr(() => readlinkSync(current), undefined); // Not a link, or nothing there.
    if (link === undefined) return at;
    at = resolve(realPath(dirname(at)), link);
  }
  throw new Error(`Cannot follow "${path}": more than ${LINKS_MAX} symbolic links`);
}

/** Whether two files have the same content. @throws Error from the system when one cannot be read. */
export function hasSameBytes(left: string, right: string): boolean {
  return statSync(left).size === statSync(right).size && readFileSync(left).equals(readFileSync(right));
}

/** The path without symbolic links in it; the path as given when nothing is there. */
export function realPath(path: string): string {
  return lookOr(() => realpathSync(path), path);
}

/** What processes left beside a file that were ended in the middle of writing it. */
export function temporariesOf(target: string): string[] {
  const directory = dirname(target);
  const start = `.${basename(target)}.`;
  return (existsSync(directory) ? readdirSync(directory) : [])
    .filter((name) => name.startsWith(start) && TEMPORARY_END.test(name.slice(start.length)))
    .map((name) => join(directory, name));
}

function makeDirectories(path: string): string[] {
  const missing: string[] = [];
  for (let at = path; statOrUndefined(at) === undefined; at = dirname(at)) missing.unshift(at);
  // `recursive` makes it no error that another process was faster; its directory is not ours then.
  const make = (path: string) => mkdirSync(path, { mode: PRIVATE_DIRECTORY_MODE, recursive: true });
  return missing.filter((directory) => make(directory) !== undefined);
}

function throughTemporary(
  target: string,
  fill: (temporary: string) => void,
  isDurable = true,
  replace: (from: string, to: string) => void = renameSync,
): void {
  const directory = dirname(target);
  const temporary = join(directory, `.${basename(target)}.${randomUUID()}.tmp`);
  try {
    fill(temporary);
    replace(temporary, target);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new Error(`Cannot write "${target}": ${reasonOf(cause)}`, { cause });
  }
  // Makes the rename itself durable. Windows cannot open a directory for this; the file is whole either way.
  if (isDurable) lookOr(() => withOpenFile(directory, 'r', fsyncSync), undefined);
}

const modeOf = ({ mode }: Stats): number => mode & 0o7777;

function statOrUndefined(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
