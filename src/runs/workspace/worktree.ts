import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../core/guards.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { tryProcessLock } from '../../hooks/store/use-database.ts';
import { ensurePrivateDirectory } from '../../system/atomic-file.ts';
import { type Run, runDirectory, type Worktree } from '../model/run.ts';
import { type Git, gitIn, INDEX_PATH, said } from './git.ts';

/**
 * A git worktree for a run, so that runs that write at the same time do not overwrite each other's files. It is removed only
 * if nothing is lost with it: it is clean, and every commit is in another branch too.
 */

const CHECKOUT_TIMEOUT_MS = 10 * 60_000;
const LOCK_WAIT_MS = 15 * 60_000;
const LOCK_RETRY_MS = 50;
const COUNTED_MAX = 100_000;
const LOOK_TIMEOUT_MS = 5000;
/** The prefix of the branches of runs. */
const BRANCHES = 'subagent/';
const SLUG_LENGTH_MAX = 40;
const ID_LENGTH = 8;
const TOP = ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir'];
/** Not into submodules, which have a configuration each; git removes no working tree that has any. */
const STATUS: readonly string[] = [
  ...['status', '--porcelain=v1', '-z', '--untracked-files=all', '--no-renames', '--ignore-submodules=all'],
];
/** Ignored files that tools create again; other ignored files may be the result of the run. */
const MADE_ANEW = new Set([
  ...['node_modules', 'target', '__pycache__', '.venv', '.tox', '.gradle', '.cache', '.next', '.turbo'],
  ...['.pytest_cache', '.mypy_cache', '.ruff_cache', '.parcel-cache', '.eslintcache', '.DS_Store'],
]);

type WorktreeWorld = { readonly env: Environment };

export type Prepared =
  | { readonly kind: 'none' }
  /** `cwd`: the directory in it that corresponds to `run.cwd` in the repository. */
  | { readonly kind: 'made'; readonly worktree: Worktree; readonly cwd: string }
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * Creates the run's worktree if it is to have one. `isShared`: another active run writes in the same directory, which
 * decides for the mode `auto`; outside of a repository that does without one. Can be repeated: an existing worktree is
 * returned, and one that was removed is created again at the same path, since clients find their sessions by the
 * directory. Never throws.
 */
export async function prepareWorktree(
  run: Run,
  paths: StatePaths,
  { env, isShared }: WorktreeWorld & { readonly isShared: boolean },
): Promise<Prepared> {
  const { worktree: known, worktreeMode: mode } = run;
  if (known === null && (mode === 'never' || (mode === 'auto' && !isShared))) return { kind: 'none' };
  if (known !== null && existsSync(known.path)) return { kind: 'made', worktree: known, cwd: run.cwd };
  try {
    runDirectory(paths, run.id); // The id becomes a path and a branch.
    const before = directoryBefore(run);
    const git = await gitIn(before, env);
    const top = await git(TOP);
    if (top.kind === 'failed' && known === null && mode === 'auto') return { kind: 'none' };
    const { root, common, head } = await originOf(before, top, git);
    const prefix = await git(['rev-parse', '--show-prefix']);
    const home = homeOf(common, paths);
    const path = join(home, run.id);
    const branch = known?.branch ?? branchOf(run);
    // Where nothing of it stayed, it begins anew, with what is there now.
    const isAnew = known === null || (await commitOf(`refs/heads/${branch}`, git)) === undefined;
    const base = isAnew ? head : known.base;
    const worktree = { path, repository: root, branch, ...(base !== undefined && { base }) };
    ensurePrivateDirectory(paths.worktrees);
    ensurePrivateDirectory(home);
    await whileLocked(`${home}.lock`, () => addWorktree(worktree, git, env));
    const inside = prefix.kind === 'ok' ? prefix.stdout.replace(/\/?\n$/, '') : '';
    return { kind: 'made', worktree, cwd: cwdIn(path, inside) };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) };
  }
}

/** The directory of the run outside of its worktree: the one that its worktree was made from. */
export function directoryBefore({ cwd, worktree }: Pick<Run, 'cwd' | 'worktree'>): string {
  if (worktree === null) return cwd;
  const inside = relative(worktree.path, cwd);
  const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
  return isInside ? join(worktree.repository, inside) : worktree.repository;
}

/** What a worktree is made of. `top`: what git says to TOP. @throws Error when none can be made */
async function originOf(directory: string, top: Awaited<ReturnType<Git>>, git: Git) {
  const unusable = `Cannot make a worktree: "${directory}" is in no git repository that can be used: `;
  const [root = '', common = ''] = said(top, unusable).split('\n');
  const head = await commitOf('HEAD', git);
  if (head === undefined) throw new Error(`Cannot make a worktree: "${root}" has no commit yet`);
  return { root, common, head };
}

/** Why no worktree can be made of the directory's repository; undefined when one can. Never throws. */
export async function worktreeProblem(directory: string, env: Environment): Promise<string | undefined> {
  const git = await gitIn(directory, env);
  return await originOf(directory, await git(TOP), git).then(() => undefined, reasonOf);
}

/** Where the working trees of the runs of a repository lie. */
function homeOf(common: string, { worktrees }: StatePaths): string {
  return join(worktrees, createHash('sha256').update(realpathSync(common)).digest('hex').slice(0, 16));
}

/** The root of the directory's repository, and where working trees of it lie. @throws Error when it can have none */
export async function repositoryWith(directory: string, paths: StatePaths, env: Environment) {
  const git = await gitIn(directory, env);
  const { root, common } = await originOf(directory, await git(TOP), git);
  return { root, home: homeOf(common, paths) };
}

/** `subagent/fix-tests-1a2b3c4d`. */
export function branchOf({ id, label }: Run): string {
  const words = (label ?? '').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  const slug = cutText(words.replace(/^-/, ''), SLUG_LENGTH_MAX).replace(/-$/, '');
  return `${BRANCHES}${slug === '' ? '' : `${slug}-`}${id.slice(0, ID_LENGTH)}`;
}

/** The number of uncommitted files of the directory's repository; 0 if git cannot say. Never throws. */
export async function uncommittedFiles(directory: string, env: Environment): Promise<number> {
  const git = await gitIn(directory, env);
  const status = await git(STATUS, { timeoutMs: LOOK_TIMEOUT_MS });
  return status.kind === 'failed' ? 0 : status.stdout.split('\0').length - 1;
}

/** Removes the run's worktree and branch if nothing is lost with them; else returns where and why they stay. Never throws. */
export async function leaveWorktree(run: Run, { env }: WorktreeWorld): Promise<string | null> {
  const { worktree } = run;
  if (worktree === null) return null;
  try {
    const repository = await gitIn(worktree.repository, env);
    if (!existsSync(worktree.path)) return await forget(worktree, repository);
    const inside = await gitIn(worktree.path, env);
    const reason = await reasonToKeep(worktree, { inside, repository, isMerged: false });
    if (reason !== null) return kept(worktree, reason);
    const remover = await gitIn(worktree.repository, env, worktree.path);
    said(await remover(['worktree', 'remove', worktree.path], { timeoutMs: CHECKOUT_TIMEOUT_MS }));
    return await forget(worktree, repository);
  } catch (error) {
    return kept(worktree, reasonOf(error));
  }
}

/** What would be lost with the worktree and branch; null: nothing. `isMerged`: all that git tracks is merged. Never throws. */
export async function lossOf(
  worktree: Worktree,
  { env, isMerged }: WorktreeWorld & { readonly isMerged: boolean },
): Promise<string | null> {
  try {
    const repository = await gitIn(worktree.repository, env);
    if (existsSync(worktree.path)) {
      const inside = await gitIn(worktree.path, env);
      return await reasonToKeep(worktree, { inside, repository, isMerged });
    }
    return isMerged ? null : await lostCommits(worktree, repository, repository);
  } catch (error) {
    return reasonOf(error);
  }
}

/** Removes the run's working tree and its branch, whatever is in them. @throws Error in git's words when one stays. */
export async function discardWorktree(worktree: Worktree, { env }: WorktreeWorld): Promise<void> {
  const { path, repository, branch } = worktree;
  const git = await gitIn(repository, env, existsSync(path) ? path : undefined);
  const calls = [
    ...(existsSync(path) ? [['worktree', 'remove', '--force', path]] : []),
    ['worktree', 'prune'],
    ...(branch.startsWith(BRANCHES) ? [['update-ref', '-d', `refs/heads/${branch}`]] : []),
  ];
  const problem = `Cannot remove worktree "${path}" and its branch "${branch}": `;
  for (const call of calls) said(await git(call, { timeoutMs: CHECKOUT_TIMEOUT_MS }), problem);
}

function kept({ path, branch }: Worktree, reason: string): string {
  return `worktree kept: ${path} (branch ${branch}): ${reason}`;
}

/** Adds the worktree and checks its files out. @throws Error with what git says */
async function addWorktree(worktree: Worktree, git: Git, env: Environment): Promise<void> {
  const { path } = worktree;
  const problem = `Cannot make the worktree "${path}": `;
  const listed = await git(['worktree', 'list', '--porcelain', '-z']);
  const lines = listed.kind === 'ok' ? listed.stdout.split('\0') : [];
  const branch = `refs/heads/${worktree.branch}`;
  if (!lines.includes(`branch ${branch}`) || !existsSync(join(path, '.git'))) {
    // The branch is there when the run had a tree before, and commits of it stayed.
    const hasBranch = (await commitOf(branch, git)) !== undefined;
    const how = hasBranch
      ? [path, worktree.branch]
      : ['--no-track', '-b', worktree.branch, path, worktree.base ?? 'HEAD'];
    said(await git(['worktree', 'add', '--quiet', '--no-checkout', ...how]), problem);
  }
  // Separately, because some of git's configuration is known only inside of the worktree.
  const inside = await gitIn(path, env);
  const index = said(await inside(INDEX_PATH), problem).replace(/\n$/, '');
  if (existsSync(index)) return; // It is written after all files.
  said(await inside(['reset', '--hard', '--quiet'], { timeoutMs: CHECKOUT_TIMEOUT_MS }), problem);
}

/** The directory need not be in the commit, and a link in its place could lead anywhere. */
function cwdIn(path: string, prefix: string): string {
  const cwd = join(path, prefix);
  const isInside = existsSync(cwd) && `${realpathSync(cwd)}${sep}`.startsWith(`${realpathSync(path)}${sep}`);
  return isInside ? cwd : path;
}

/** One at a time in each repository, because git fails if two worktrees are added at once. */
async function whileLocked<T>(file: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    const release = tryProcessLock(file);
    if (release !== undefined) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (Date.now() > deadline) throw new Error(`Cannot make a worktree: another process holds "${file}"`);
    await sleep(LOCK_RETRY_MS);
  }
}

/** Why the worktree has to stay; null: nothing in it would be lost. @throws Error with what git says */
async function reasonToKeep(
  worktree: Worktree,
  { inside, repository, isMerged }: { inside: Git; repository: Git; isMerged: boolean },
): Promise<string | null> {
  const status = said(await inside([...STATUS, '--ignored=matching']));
  const entries = status.split('\0').filter((entry) => entry !== '' && !isMadeAnew(entry));
  const isIgnored = (entry: string) => entry.startsWith('!! ');
  const ignored = entries.filter(isIgnored).length;
  // A repository in the tree ends with a slash, and is never merged.
  const changed = entries.filter((entry) => !isIgnored(entry) && (!isMerged || entry.endsWith('/'))).length;
  if (changed > 0) return counted(changed, 'file is not committed', 'files are not committed');
  const lost = isMerged ? null : await lostCommits(worktree, inside, repository);
  if (lost !== null) return lost;
  return ignored > 0 ? counted(ignored, 'ignored file is left', 'ignored files are left') : null;
}

/** How many commits are only in the worktree or its branch, in words, or why git cannot say; null: none. */
async function lostCommits(worktree: Worktree, inside: Git, repository: Git): Promise<string | null> {
  const own = [await commitOf('HEAD', inside), await commitOf(`refs/heads/${worktree.branch}`, inside)];
  const tips = own.filter((tip) => tip !== undefined);
  const main = await commitOf('HEAD', repository);
  if (tips.length === 0) return 'its HEAD cannot be read';
  // Branches of other runs do not count: they may be removed at the same time.
  const elsewhere = [
    `--exclude=${BRANCHES}*`,
    '--branches',
    '--tags',
    '--remotes',
    ...(main === undefined ? [] : [main]),
  ];
  const listed = await repository([
    'rev-list',
    '--count',
    `--max-count=${COUNTED_MAX}`,
    ...tips,
    '--not',
    ...elsewhere,
  ]);
  if (listed.kind === 'failed') return listed.reason;
  const lost = Number(listed.stdout.trim());
  return lost === 0 ? null : counted(lost, 'commit is in no other branch', 'commits are in no other branch');
}

/** Removes what is left of a worktree that is gone: git's record of it, and its branch if that adds nothing. */
async function forget(worktree: Worktree, repository: Git): Promise<string | null> {
  const pruned = await repository(['worktree', 'prune']);
  if (pruned.kind === 'failed')
    return `worktree ${worktree.path} is gone, but not its record: ${pruned.reason}`;
  const branch = `refs/heads/${worktree.branch}`;
  const tip = await commitOf(branch, repository);
  if (tip === undefined) return null;
  const lost = await lostCommits(worktree, repository, repository);
  if (lost !== null) return `branch kept: ${worktree.branch} in ${worktree.repository}: ${lost}`;
  // Only if it has not moved since it was checked.
  const deleted = await repository(['update-ref', '-d', branch, tip]);
  return deleted.kind === 'ok' ? null : `branch kept: ${worktree.branch}: ${deleted.reason}`;
}

/** The commit that a name stands for; undefined: none. */
async function commitOf(name: string, git: Git): Promise<string | undefined> {
  const found = await git(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
  return found.kind === 'ok' ? found.stdout.trim() : undefined;
}

function isMadeAnew(entry: string): boolean {
  const names = entry.startsWith('!! ') ? entry.slice(3).split('/') : [];
  return names.some((name) => MADE_ANEW.has(name));
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${many}`;
}
