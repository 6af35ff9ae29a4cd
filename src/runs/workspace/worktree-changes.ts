import { copyFileSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { reasonOf } from '../../core/guards.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { ensurePrivateDirectory } from '../../system/atomic-file.ts';
import { type Run, runDirectory, type Worktree } from '../model/run.ts';
import { gitIn, ownIndex, said } from './git.ts';

/**
 * What a run has changed in its working tree, as one patch: what it has committed, what it has not, and files that are
 * new; and that patch in the tree from which it was made. Submodules and ignored files are not in it.
 */

const PATCH_BYTES_MAX = 32 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;
/** So that the patch is the same, whatever the user has configured for reading one. */
export const AS_PATCH: readonly string[] = [
  ...['--full-index', '--unified=3', '--no-renames', '--ignore-submodules=all'],
  ...['--no-color', '--no-ext-diff', '--no-textconv', '--no-relative', '--src-prefix=a/', '--dst-prefix=b/'],
];

type ChangesWorld = { readonly paths: StatePaths; readonly env: Environment };
export type TreeRun = Pick<Run, 'id'> & { readonly worktree: Worktree };

type Patch = { readonly kind: 'patch'; readonly text: string };
export type Failed = { readonly kind: 'failed'; readonly reason: string };
export type Merged =
  | { readonly kind: 'merged'; readonly files: readonly string[] }
  /** There are no changes, or they are merged already. */
  | { readonly kind: 'nothing' | 'known' }
  | Failed;

/** What the run has changed since its tree and the one that it was made from were the same. Never throws. */
export function readChanges(run: TreeRun, world: ChangesWorld): Promise<Patch | Failed> {
  return withPatch(run, world, async (file) => {
    const { size } = statSync(file);
    if (size > PATCH_BYTES_MAX)
      throw new Error(`the patch has ${size} bytes, the most that is shown is ${PATCH_BYTES_MAX}`);
    return { kind: 'patch', text: readFileSync(file, 'utf8') };
  });
}

/**
 * Applies the changes, uncommitted, to the working tree that the run's was made from: all of them or none. Changes that
 * were merged before are reverted first if they are unchanged, since the patch has them too. Never throws.
 */
export function mergeChanges(run: TreeRun, world: ChangesWorld): Promise<Merged | Failed> {
  const earlier = `${runDirectory(world.paths, run.id)}/merged.patch`;
  return withPatch(run, world, async (file) => {
    if (statSync(file).size === 0) return { kind: 'nothing' };
    const git = await gitIn(run.worktree.repository, world.env);
    const apply = (patch: string, ...how: string[]) =>
      git(['apply', '--whitespace=nowarn', ...how, patch], { timeoutMs: TIMEOUT_MS });
    const listed = said(await apply(file, '--numstat', '-z'));
    if ((await apply(file, '--reverse', '--check')).kind === 'ok') return { kind: 'known' };
    const isTakenOut = existsSync(earlier) && (await apply(earlier, '--reverse')).kind === 'ok';
    const applied = await apply(file);
    if (applied.kind === 'failed') {
      if (isTakenOut) await apply(earlier);
      return applied;
    }
    copyFileSync(file, earlier);
    return { kind: 'merged', files: listed.split('\0').flatMap((line) => line.split('\t')[2] ?? []) };
  });
}

/** Whether all changes are in the tree that the run's was made from; false with submodules, which are in no patch. Never throws. */
export async function isMerged(run: TreeRun, world: ChangesWorld): Promise<boolean> {
  const { path, repository } = run.worktree;
  if (existsSync(`${path}/.gitmodules`)) return false;
  const checked = await withPatch(run, world, async (file) =>
    (await gitIn(repository, world.env))(['apply', '--reverse', '--check', file], { timeoutMs: TIMEOUT_MS }),
  );
  return checked.kind === 'ok';
}

/** Calls `use` with a temporary file that has the patch. */
async function withPatch<T>(
  run: TreeRun,
  { paths, env }: ChangesWorld,
  use: (file: string) => Promise<T>,
): Promise<T | Failed> {
  const directory = runDirectory(paths, run.id);
  const stem = `${directory}/changes-${process.pid}`;
  const [file, index] = [`${stem}.patch`, `${stem}.index`];
  try {
    ensurePrivateDirectory(directory);
    await writePatch(run.worktree, { file, index, env });
    return await use(file);
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  } finally {
    for (const path of [file, index]) rmSync(path, { force: true });
  }
}

async function writePatch(
  { path, branch, repository, base: start }: Worktree,
  { file, index, env }: { file: string; index: string; env: Environment },
): Promise<void> {
  const hasTree = existsSync(path);
  const git = await gitIn(hasTree ? path : repository, env);
  const tip = hasTree ? 'HEAD' : `refs/heads/${branch}`;
  if (!hasTree && (await git(['rev-parse', '--verify', '--quiet', tip])).kind === 'failed')
    throw new Error('neither its worktree nor its branch is there any more');
  const main = said(await (await gitIn(repository, env))(['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
  // The run may have taken in what is new in the other tree, and the other tree may have left the first commit.
  const bases = start === undefined ? [main] : [main, start];
  const base = said(await git(['merge-base', tip, ...bases])).trim();
  const diff = ['diff', '--binary', ...AS_PATCH, `--output=${file}`, base];
  if (!hasTree) {
    said(await git([...diff, tip], { timeoutMs: TIMEOUT_MS }));
    return;
  }
  await ownIndex(git, index, { how: ['--intent-to-add'] });
  said(await git(diff, { index, timeoutMs: TIMEOUT_MS }));
}
