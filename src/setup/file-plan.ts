import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, extname, join, parse } from 'node:path';
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';
import { z } from 'zod';
import { isRecord, lookOr, reasonOf } from '../core/guards.ts';
import { resolveLinks, writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';

/**
 * Every change of a file that belongs to the user: planned from the text that stands there, shown as a diff, done all or
 * not at all and only while that text still stands there, with a copy, and taken back as far as it is still ours.
 */

/** One file as it is and as it is to be; undefined: it is not there. The same twice: it stays. */
export type FileChange = {
  /** With all symbolic links resolved. */
  readonly path: string;
  readonly what: SetupStep['what'];
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Of a new file, and of the directories that are made for it; an existing file keeps its own. */
  readonly mode: number;
  /** The text from before our first change is put back. */
  readonly restores?: true;
  /** What the user should know of it. */
  readonly note?: string;
};

/** Changes on the disk that are made together or not at all. */
export type FilePlan = {
  readonly files: readonly FileChange[];
  /** Directories to be removed at the end if they are empty, innermost first. */
  readonly removes?: readonly string[];
};

/** What lies in our own directory; all else is the user's. */
type OwnFile = 'directory' | 'binary' | 'script' | 'config' | 'backup' | 'manifest' | 'data';

/** One thing that was done, or in a dry run would be done. */
export type SetupStep = {
  readonly what:
    | OwnFile
    | 'settings'
    | 'mcp'
    | 'plugin'
    | 'extension'
    | 'approval'
    | 'rule'
    | 'skill'
    | 'link';
  readonly path: string;
  readonly change: 'created' | 'updated' | 'removed' | 'restored' | 'unchanged' | 'kept';
  /** The reason, where it is not obvious. */
  readonly note?: string;
};

type Undo = () => void;

/** Collects what has been done, and how to undo it. */
export type Work = { readonly dryRun: boolean; readonly steps: SetupStep[]; readonly undo: Undo[] };

export type Refusal = { readonly kind: 'refused'; readonly reason: string };

/** `Cannot …: <reason>.` */
export function refused(reason: string): Refusal {
  return { kind: 'refused', reason };
}

/** The record of a file that we have changed, from which it can be restored. */
export const FILE_RECORD = z.object({
  path: z.string(),
  /** What stood there before our first edit; `edited-since` when the user's edits and ours are mixed by now. */
  before: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('absent') }),
    z.object({ kind: z.literal('saved'), backup: z.string(), sha256: z.string() }),
    z.object({ kind: z.literal('edited-since') }),
  ]),
  /** SHA-256 of the text that we wrote. */
  writtenSha256: z.string(),
});
export type FileRecord = z.infer<typeof FILE_RECORD>;

export const NO_CHANGE: FilePlan = { files: [] };
export const TEXT_BYTES_MAX = 64 * 1024 * 1024;
const ATTEMPTS_MAX = 2;
/** Copies that no record names: only the newest of each kind are kept. */
const UNNAMED_COPY = /^apply-\w+\./;
const UNNAMED_COPIES_MAX = 20;

/** A plan cannot be made, or a text not be edited; the message is the reason of the refusal. */
export class Refused extends Error {}

/** What is ours cannot be taken out of a file. */
export class RefusedRemoval extends Refused {
  readonly file: Pick<FileChange, 'path' | 'what'>;

  constructor(file: RefusedRemoval['file'], reason: string) {
    super(reason);
    this.file = file;
  }
}

/** A file cannot be read as text that could be written back unharmed. */
export class UnreadableFile extends Error {}

/** A file is not as it was when the change was planned. */
class ChangedFile extends Error {}

/** SHA-256 of a text's UTF-8 bytes, in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The text of a file, byte order mark included, to be written back as it is; undefined without one. @throws UnreadableFile */
export function readText(path: string): string | undefined {
  try {
    const { size } = statSync(path);
    if (size > TEXT_BYTES_MAX) throw new Error(`it has ${size} bytes, more than ${TEXT_BYTES_MAX}`);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readPlainFile(path));
    if (text.includes('\0')) throw new Error('it has NUL characters');
    return text;
  } catch (cause) {
    if (isRecord(cause) && cause.code === 'ENOENT') return undefined;
    const reason = cause instanceof TypeError ? 'it is not a UTF-8 text' : reasonOf(cause);
    throw new UnreadableFile(`"${path}" cannot be read: ${reason}`, { cause });
  }
}

/** A plan, or the refusal that was thrown while it was made. */
export function orRefused<Plan>(plan: () => Plan): Plan | Refusal {
  try {
    return plan();
  } catch (error) {
    if (error instanceof Refused || error instanceof UnreadableFile) return refused(error.message);
    throw error;
  }
}

/** The directory in which copies are kept, the file's name among them, and when this one is made. */
type Copies = { readonly backups: string; readonly name: string; readonly now: () => Date };

/** The change, behind a private copy of what stands there now. */
export function withCopy(file: FileChange, { backups, name, now }: Copies): FileChange[] {
  if (file.before === undefined || file.before === file.after) return [file];
  const stamp = now().toISOString().replace(/[-:.]/g, '');
  const { name: stem, ext } = parse(name);
  const pathOf = (copy: number) => join(backups, `${stem}.${stamp}${copy === 1 ? '' : `-${copy}`}${ext}`);
  let copy = 1;
  while (existsSync(pathOf(copy))) copy++;
  return [{ path: pathOf(copy), what: 'backup', before: undefined, after: file.before, mode: 0o600 }, file];
}

/** What the user is shown: a unified diff of each file of theirs. */
export function diffOf({ files }: FilePlan): string {
  return files
    .filter(({ what, before, after }) => what !== 'backup' && what !== 'manifest' && before !== after)
    .map(({ path, before, after }) => {
      const name = (text: string | undefined) => (text === undefined ? '/dev/null' : path);
      const [from, to] = [name(before), name(after)];
      const patch = structuredPatch(from, to, before ?? '', after ?? '', '', '', { context: 3 });
      return formatPatch(patch, FILE_HEADERS_ONLY);
    })
    .join('');
}

/**
 * Carries a plan out. Returns the directories that were made for it, outermost first, and a function that undoes everything.
 * @throws Error when a change fails, or a file is no longer as it was when planned; then everything has been undone.
 */
export function perform(plan: FilePlan): {
  readonly directories: readonly string[];
  readonly rollBack: Undo;
} {
  const undo: Undo[] = [];
  const directories: string[] = [];
  try {
    for (const file of plan.files) {
      if (file.before === file.after) continue;
      if (file.before === undefined) directories.push(...makeDirectories(file, undo));
      replace(file, undo);
    }
    for (const directory of plan.removes ?? []) removeEmptyDirectory(directory, undo);
  } catch (error) {
    rollBack(undo);
    throw error;
  }
  for (const { path, what } of plan.files) if (what === 'backup') removeOldestCopies(path);
  return { directories, rollBack: () => rollBack(undo) };
}

/** Runs the undo functions, the last first, and empties the list. Never throws. */
export function rollBack(undo: Undo[]): void {
  // What cannot be undone is left; the failure that led here is the one to report.
  for (const step of undo.splice(0).reverse()) lookOr(step, undefined);
}

/** Neither replaces nor undoes what somebody else has written since. A dangling symbolic link counts as a file. */
function replace({ path, before, after, mode: modeOfNew }: FileChange, undo: Undo[]): void {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (readText(path) !== before || (isThere && before === undefined))
    throw new ChangedFile(`"${path}" has been changed meanwhile`);
  const mode = before === undefined ? modeOfNew : statSync(path).mode & 0o7777;
  const put = (text: string | undefined) =>
    text === undefined ? rmSync(path) : writeFileAtomic(path, text, { mode });
  put(after);
  undo.push(() => {
    if (readText(path) === after) put(before);
  });
}

/** Whoever may read the file may enter the directories that are made for it. */
function makeDirectories({ path, mode }: FileChange, undo: Undo[]): string[] {
  const missing: string[] = [];
  for (let at = dirname(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  return missing.filter((directory) => {
    // `recursive` makes it no error that another process was faster; its directory is not ours then.
    if (mkdirSync(directory, { recursive: true }) === undefined) return false;
    undo.push(() => rmdirSync(directory));
    chmodSync(directory, mode | 0o100 | ((mode & 0o044) >> 2)); // The process's own mask would narrow it.
    return true;
  });
}

function removeEmptyDirectory(path: string, undo: Undo[]): void {
  try {
    const mode = statSync(path).mode & 0o7777;
    rmdirSync(path);
    undo.push(() => {
      mkdirSync(path);
      chmodSync(path, mode);
    });
  } catch (error) {
    const code = isRecord(error) ? String(error.code) : '';
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code)) throw error;
  }
}

function removeOldestCopies(copy: string): void {
  const [kind] = UNNAMED_COPY.exec(basename(copy)) ?? [];
  if (kind === undefined) return;
  const copies = readdirSync(dirname(copy)).filter((name) => name.startsWith(kind));
  for (const name of copies.sort().slice(0, -UNNAMED_COPIES_MAX)) rmSync(join(dirname(copy), name));
}

/** Carries a plan out, unless this is a dry run, and adds its steps. Returns the directories made. @throws as perform(). */
export function performSteps(plan: FilePlan, { dryRun, steps, undo }: Work): readonly string[] {
  const done = dryRun ? undefined : perform(plan);
  if (done !== undefined) undo.push(done.rollBack);
  for (const file of plan.files) {
    const { what, path, note } = file;
    steps.push({ what, path, change: changeOf(file), ...(note && { note }) });
  }
  return done?.directories ?? [];
}

function changeOf({ before, after, restores }: FileChange): SetupStep['change'] {
  if (before === after) return 'unchanged';
  if (after === undefined) return 'removed';
  if (restores) return 'restored';
  return before === undefined ? 'created' : 'updated';
}

type FileEdit = {
  readonly path: string;
  readonly what: SetupStep['what'];
  readonly note?: string;
  /** Returns the text as it has to be. @throws Refused */
  readonly edit: (text: string | undefined) => string;
  /** How the name of a copy begins, where it is not `what`. */
  readonly name?: string;
  /** Whether a text has something of ours in it, and so is not the user's original. */
  readonly holdsOurs?: (text: string) => boolean;
  /** The record that an earlier install kept of the file. */
  readonly known?: FileRecord | undefined;
};

export type EditedFile = {
  readonly isChanged: boolean;
  /** From which planRestore() restores the file. */
  readonly record: FileRecord;
  /** Directories that were made for it, outermost first. */
  readonly directories: readonly string[];
};

/** Changes a file so that uninstall can restore it; once more when another program writes it meanwhile. @throws Refused */
export function editFile(
  { path, what, edit, note, name = what, holdsOurs, known }: FileEdit,
  { backups, now, work }: { readonly backups: string; readonly now: () => Date; readonly work: Work },
): EditedFile {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const before = readText(path);
    const after = edit(before);
    const isChanged = after !== before;
    const file = { path: resolveLinks(path), what, before, after, mode: 0o600, ...(note && { note }) };
    const files = withCopy(file, { backups, name: name + extname(path), now });
    try {
      const directories = performSteps({ files }, work);
      if (!isChanged && known !== undefined) return { isChanged, record: known, directories };
      const copy = files.find((one) => one.what === 'backup')?.path;
      const isUsers = before !== undefined && copy !== undefined && !holdsOurs?.(before);
      const standing = isUsers
        ? ({ kind: 'saved', backup: copy, sha256: sha256(before) } as const)
        : standingBefore(before, known);
      return { isChanged, record: { path, before: standing, writtenSha256: sha256(after) }, directories };
    } catch (error) {
      if (!(error instanceof ChangedFile)) throw error;
    }
  }
  throw new Refused('another program keeps changing the file');
}

/** What an earlier install found, as long as nobody has edited the file since. */
function standingBefore(text: string | undefined, known: FileRecord | undefined): FileRecord['before'] {
  if (text === undefined) return { kind: 'absent' };
  return known?.writtenSha256 === sha256(text) ? known.before : { kind: 'edited-since' };
}

/** How a text looks without what is ours. */
export type Removal = {
  /** The same text when nothing in it is ours. `original`: what stood there before, where that is known. @throws Refused */
  readonly remove: (text: string, original?: string) => string;
  /** Whether nothing is left, so that whoever made the file may delete it. Without this: whether it is blank. */
  readonly isEmpty?: (text: string) => boolean;
};

/**
 * Plans how a file that we have changed is restored: to the same bytes as before when nobody has edited it since;
 * otherwise only what is ours is taken out. @throws UnreadableFile, RefusedRemoval
 */
export function planRestore(
  { path, before, writtenSha256 }: Pick<FileRecord, 'path'> & Partial<FileRecord>,
  what: SetupStep['what'],
  { remove, isEmpty = (text) => text.trim() === '' }: Removal,
): FileChange {
  const text = readText(path);
  const file = { path: resolveLinks(path), what, before: text, mode: 0o600 };
  if (text === undefined) return { ...file, after: undefined };
  const original = originalOf(before);
  const wasAbsent = before?.kind === 'absent';
  if (writtenSha256 === sha256(text)) {
    if (wasAbsent) return { ...file, after: undefined };
    if (original !== undefined && orRefused(() => remove(original)) === original)
      return { ...file, after: original, restores: true };
  }
  const rest = orRefused(() => remove(text, original));
  if (typeof rest !== 'string') throw new RefusedRemoval({ path, what }, rest.reason);
  return { ...file, after: rest !== text && wasAbsent && isEmpty(rest) ? undefined : rest };
}

/** The text of the copy from before our first edit; undefined when there is none, or it has been changed. */
function originalOf(before: FileRecord['before'] | undefined): string | undefined {
  if (before?.kind !== 'saved') return undefined;
  const text = orRefused(() => readText(before.backup));
  return typeof text === 'string' && sha256(text) === before.sha256 ? text : undefined;
}
