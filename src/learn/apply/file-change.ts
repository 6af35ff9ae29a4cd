import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';
import { isRecord } from '../../core/guards.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../../sys/atomic-file.ts';
import { readPlainFile } from '../../sys/plain-file.ts';

/** One file as it is and as it is to be; null: it is not there. */
export type FileChange = {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** Of a new file; another keeps its own. */
  readonly mode: number;
  /** How a copy of the user's file is called before it is changed. */
  readonly backup?: 'CLAUDE.md' | 'settings.json';
  /** Whether the user is shown it; our own bookkeeping goes without. */
  readonly isShown: boolean;
};

/** What is to be done on the disk, all of it or nothing. */
export type Change = {
  readonly files: readonly FileChange[];
  /** To be made first, outermost first. */
  readonly makes: readonly string[];
  /** To be removed at the end if they are empty, innermost first. */
  readonly removes: readonly string[];
  /** Of directories that are made. */
  readonly directoryMode: number;
};

export const NO_CHANGE: Change = { files: [], makes: [], removes: [], directoryMode: 0o700 };
export const TEXT_BYTES_MAX = 1024 * 1024;
const BACKUPS_MAX = 20;

export type ReadText =
  | { readonly kind: 'read'; readonly text: string | null }
  | { readonly kind: 'refused'; readonly reason: string };

/** The text of a file, byte order mark included, so that writing it back gives the same bytes; null when there is none. */
export function readText(path: string): ReadText {
  const refused = (reason: string): ReadText => ({ kind: 'refused', reason: `"${path}" ${reason}` });
  try {
    const { size } = statSync(path);
    if (size > TEXT_BYTES_MAX) return refused(`has ${size} bytes, more than ${TEXT_BYTES_MAX}`);
    const bytes = readPlainFile(path);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? refused('is no text: it has NUL characters') : { kind: 'read', text };
  } catch (error) {
    if (isRecord(error) && error.code === 'ENOENT') return { kind: 'read', text: null };
    if (error instanceof TypeError) return refused('is not in UTF-8');
    return refused(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What the user is shown: a unified diff of each file. */
export function diffOf(change: Change): string {
  return change.files
    .filter(({ isShown }) => isShown)
    .map(({ path, before, after }) => {
      const [from, to] = [before === null ? '/dev/null' : path, after === null ? '/dev/null' : path];
      const patch = structuredPatch(from, to, before ?? '', after ?? '', undefined, undefined, {
        context: 3,
      });
      return formatPatch(patch, FILE_HEADERS_ONLY);
    })
    .join('');
}

/**
 * Does it. Gives a function that puts everything back. @throws Error when something cannot be done, or when a file is no
 * longer as it was read; then everything is as before.
 */
export function perform(change: Change, backups: string, now: Date): () => void {
  const undo: (() => void)[] = [];
  const rollBack = () => {
    for (const step of undo.splice(0).reverse()) {
      try {
        step();
      } catch {
        // What cannot be put back is left; the failure that led here is the one to report.
      }
    }
  };
  try {
    for (const { path, before } of change.files) assertUnchanged(path, before);
    for (const directory of change.makes) makeDirectory(directory, change.directoryMode, undo);
    for (const file of change.files) replace(file, backups, now, undo);
    for (const directory of change.removes) removeEmptyDirectory(directory, undo);
    return rollBack;
  } catch (error) {
    rollBack();
    throw error;
  }
}

function assertUnchanged(path: string, before: string | null): void {
  const now = readText(path);
  if (now.kind === 'refused') throw new Error(now.reason);
  if (now.text !== before) throw new Error(`"${path}" has been changed meanwhile`);
}

function makeDirectory(path: string, mode: number, undo: (() => void)[]): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (isRecord(error) && error.code === 'EEXIST' && statSync(path).isDirectory()) return;
    throw error;
  }
  undo.push(() => rmdirSync(path));
  chmodSync(path, mode); // The process's own mask would keep others out of the user's project.
}

function replace(file: FileChange, backups: string, now: Date, undo: (() => void)[]): void {
  const { path, before, after, mode } = file;
  if (before === after) return;
  if (before === null) {
    writeNewFile(path, after ?? '', mode);
    undo.push(() => rmSync(path));
    return;
  }
  const modeBefore = statSync(path).mode & 0o7777;
  if (file.backup !== undefined) undo.push(backUp(file.backup, before, backups, now));
  if (after === null) {
    rmSync(path);
    undo.push(() => writeNewFile(path, before, modeBefore));
  } else {
    writeFileAtomic(path, after);
    undo.push(() => writeFileAtomic(path, before));
  }
}

/** Fails when anything stands there, also a link that leads nowhere. */
function writeNewFile(path: string, text: string, mode: number): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } catch (error) {
    rmSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
  chmodSync(path, mode);
}

function removeEmptyDirectory(path: string, undo: (() => void)[]): void {
  try {
    const mode = statSync(path).mode & 0o7777;
    rmdirSync(path);
    undo.push(() => makeDirectory(path, mode, []));
  } catch (error) {
    const isInUse =
      isRecord(error) && ['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(String(error.code));
    if (!isInUse) throw error;
  }
}

/** A private copy; of each kind of file the newest are kept. Gives what takes it back. */
function backUp(name: 'CLAUDE.md' | 'settings.json', text: string, backups: string, now: Date): () => void {
  ensurePrivateDirectory(backups);
  const [stem, ending] = name.split('.');
  const stamp = now.toISOString().replace(/[-:.]/g, '');
  let path = join(backups, `apply-${stem}.${stamp}.${ending}`);
  for (let copy = 2; existsSync(path); copy++)
    path = join(backups, `apply-${stem}.${stamp}-${copy}.${ending}`);
  writeFileAtomic(path, text, { mode: 0o600 });
  const older = readdirSync(backups)
    .filter((other) => other.startsWith(`apply-${stem}.`))
    .sort()
    .slice(0, -BACKUPS_MAX);
  for (const other of older) rmSync(join(backups, other));
  return () => rmSync(path, { force: true });
}
