import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Environment } from '../../core/state-paths.ts';
import { cleanText, cutText } from '../../core/text.ts';
import { type Git, gitIn, ownIndex, said } from './git.ts';
import { AS_PATCH, type Failed } from './worktree-changes.ts';

/** A working tree as it stands now, committed or not, as a tree of git; and what is different between two of them. */

/** `added` and `deleted`: lines; null for a file that is no text. The path is from the repository's root, and git's own. */
export type ChangedFile = {
  readonly path: string;
  readonly how: 'added' | 'changed' | 'deleted';
  readonly added: number | null;
  readonly deleted: number | null;
};

export type Changes = {
  readonly files: readonly ChangedFile[];
  /** Without secrets and control characters, and cut. */
  readonly patch: string;
  readonly isCut: boolean;
};

const TIMEOUT_MS = 5 * 60_000;
/** New files beyond this are data and no source, and are left out: each snapshot would be a copy of them. */
const NEW_FILE_BYTES_MAX = 32 * 1024 * 1024;
const PATCH_LENGTH_MAX = 256 * 1024;
const PATCH_BYTES_MAX = 8 * PATCH_LENGTH_MAX;

/**
 * Stores the working tree that a directory is in, new files that are not ignored included, and gives the id of that tree;
 * undefined where git cannot do so, as outside of a repository. Neither the index nor a branch is touched. Never throws.
 */
export async function snapshotTree(cwd: string, env: Environment): Promise<string | undefined> {
  const taken = await inTree(cwd, env, async (git, root, directory) => {
    const index = join(directory, 'index');
    const isTaken = (name: string) =>
      (statSync(join(root, name), { throwIfNoEntry: false })?.size ?? 0) <= NEW_FILE_BYTES_MAX;
    await ownIndex(git, index, { isTaken });
    said(await git(['add', '--update'], { index, timeoutMs: TIMEOUT_MS }));
    return said(await git(['write-tree'], { index, timeoutMs: TIMEOUT_MS })).trim();
  });
  return taken.kind === 'done' ? taken.value : undefined; // Who asks goes on without it, and says so.
}

/** The branch and the commit that a directory is at, `main 1f2e3d4`; undefined where git cannot say. Never throws. */
export async function headOf(cwd: string, env: Environment): Promise<string | undefined> {
  const git = await gitIn(cwd, env);
  const shown = await git(['log', '-1', '--no-show-signature', '--format=%h %D']);
  const found = shown.kind === 'ok' ? /^(\S+) HEAD(?: -> ([^,\n]+))?/.exec(shown.stdout) : null;
  return found === null ? undefined : `${found[2] ?? '(no branch)'} ${found[1]}`;
}

/** What is different between two snapshots. Where git cannot say so, its reason stands in place of the patch. Never throws. */
export async function changesBetween(
  cwd: string,
  from: string,
  to: string,
  env: Environment,
): Promise<Changes> {
  const found = await inTree(cwd, env, async (git, _root, directory): Promise<Changes> => {
    const diff = async (name: string, ...how: string[]) => {
      const file = join(directory, name);
      // Names stay readable, in whatever script they are.
      const words = [
        '-c',
        'core.quotePath=false',
        'diff',
        ...AS_PATCH,
        ...how,
        `--output=${file}`,
        '--end-of-options',
        from,
        to,
      ];
      said(await git(words, { timeoutMs: TIMEOUT_MS }));
      return file;
    };
    const files = await Promise.all([diff('files', '--raw', '--numstat', '-z'), diff('patch')]);
    const listed = readFileSync(files[0], 'utf8');
    const { text, isWhole } = beginningOf(files[1]);
    const patch = redactSecrets(cleanText(text));
    const isCut = !isWhole || patch.length > PATCH_LENGTH_MAX;
    return { files: changedFiles(listed), patch: cutText(patch, PATCH_LENGTH_MAX), isCut };
  });
  if (found.kind === 'done') return found.value;
  return { files: [], patch: `(git cannot show what has changed: ${found.reason})`, isCut: true };
}

type Done<T> = { readonly kind: 'done'; readonly value: T };

/** Calls `work` with git at the root of the working tree, and a directory that is removed afterwards; fails when that throws. */
async function inTree<T>(
  cwd: string,
  env: Environment,
  work: (git: Git, root: string, directory: string) => Promise<T>,
): Promise<Done<T> | Failed> {
  const directory = mkdtempSync(join(tmpdir(), 'self-generation-tree-'));
  try {
    const git = await gitIn(cwd, env);
    const root = said(await git(['rev-parse', '--show-toplevel'])).replace(/\n$/, '');
    const there = root === cwd ? git : await gitIn(root, env);
    return { kind: 'done', value: await work(there, root, directory) };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What `git diff --raw --numstat -z` lists: `:… M`, a path, and behind all of these `added TAB deleted TAB path`. */
function changedFiles(listed: string): ChangedFile[] {
  const words = listed.split('\0');
  const how = new Map<string, ChangedFile['how']>();
  const files: ChangedFile[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word.startsWith(':')) {
      const letter = word.at(-1);
      how.set(words[++at] ?? '', letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'changed');
      continue;
    }
    const [, added = '-', deleted = '-', path = ''] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(word) ?? [];
    const lines = (count: string) => (count === '-' ? null : Number(count));
    if (path !== '')
      files.push({ path, how: how.get(path) ?? 'changed', added: lines(added), deleted: lines(deleted) });
  }
  return files;
}

function beginningOf(file: string): { text: string; isWhole: boolean } {
  const open = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(PATCH_BYTES_MAX);
    const length = readSync(open, buffer, 0, PATCH_BYTES_MAX, 0);
    const isWhole = length < PATCH_BYTES_MAX;
    return { text: new TextDecoder().decode(buffer.subarray(0, length), { stream: !isWhole }), isWhole };
  } finally {
    closeSync(open);
  }
}
