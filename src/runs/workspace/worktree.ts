import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../core/guards.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { tryProcessLock } from '../../hooks/store/use-database.ts';
import { ensurePrivateDirectory } from '../../system/atomic-file.ts';
import { type Run, runDirectory, type Worktree } from '../model/run.ts';
import { type Git, gitIn } from './git.ts';

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
 * decides for the mode `auto`. Can be repeated: an existing worktree is returned, and one that was removed is created again
 * at the same path, since clients find their sessions by the directory. Never throws.
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
    const planned = await planTree(run, paths, env);
    if ('reason' in planned) {
      // Outside of a repository `auto` does without one; `always` fails.
      return known === null && mode === 'auto' && !planned.isRepository
        ? { kind: 'none' }
        : { kind: 'failed', reason: planned.reason };
    }
    ensurePrivateDirectory(paths.worktrees);
    ensurePrivateDirectory(dirname(planned.worktree.path));
    return await whileLocked(`${dirname(planned.worktree.path)}.lock`, () => addWorktree(planned));
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

/** `subagent/fix-tests-1a2b3c4d`. */
function branchOf({ id, label }: Run): string {
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
    const removed = await remover(['worktree', 'remove', worktree.path], { timeoutMs: CHECKOUT_TIMEOUT_MS });
    if (removed.kind === 'failed') return kept(worktree, removed.reason);
    return await forget(worktree, repository);
  } catch (error) {
    return kept(worktree, reasonOf(error));
  }
}

/**
 * What would be lost with the run's worktree and branch; null: nothing. `isMerged`: everything that git tracks is merged.
 * Never throws.
 */
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
    if (isMerged) return null;
    const lost = await countLostCommits(worktree, repository, repository);
    return lost === 0 ? null : lostWords(lost);
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
  for (const call of calls) {
    const answer = await git(call, { timeoutMs: CHECKOUT_TIMEOUT_MS });
    if (answer.kind === 'failed')
      throw new Error(`Cannot remove worktree "${path}" and its branch "${branch}": ${answer.reason}`);
  }
}

function kept({ path, branch }: Worktree, reason: string): string {
  return `worktree kept: ${path} (branch ${branch}): ${reason}`;
}

type PlannedTree = { worktree: Worktree; prefix: string; git: Git; env: Environment };
type NoTree = { reason: string; isRepository: boolean };

async function planTree(run: Run, paths: StatePaths, env: Environment): Promise<PlannedTree | NoTree> {
  runDirectory(paths, run.id); // The id becomes a path and a branch.
  const cwd = directoryBefore(run);
  const git = await gitIn(cwd, env);
  const top = await git(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir']);
  if (top.kind === 'failed') {
    const reason = `Cannot make a worktree: "${cwd}" is in no git repository that can be used: ${top.reason}`;
    return { reason, isRepository: false };
  }
  const [root = '', common = ''] = top.stdout.split('\n');
  const head = await commitOf('HEAD', git);
  if (head === undefined) {
    return { reason: `Cannot make a worktree: "${root}" has no commit yet`, isRepository: true };
  }
  const prefix = await git(['rev-parse', '--show-prefix']);
  const hash = createHash('sha256').update(realpathSync(common)).digest('hex').slice(0, 16);
  return {
    worktree: {
      path: join(paths.worktrees, hash, run.id),
      branch: run.worktree?.branch ?? branchOf(run),
      repository: root,
      base: run.worktree?.base ?? head,
    },
    prefix: prefix.kind === 'ok' ? prefix.stdout.replace(/\/?\n$/, '') : '',
    git,
    env,
  };
}

async function addWorktree(planned: PlannedTree): Promise<Prepared> {
  const { worktree, git } = planned;
  const listed = await git(['worktree', 'list', '--porcelain', '-z']);
  const lines = listed.kind === 'ok' ? listed.stdout.split('\0') : [];
  const branch = `refs/heads/${worktree.branch}`;
  if (!lines.includes(`branch ${branch}`) || !existsSync(join(worktree.path, '.git'))) {
    // The branch is there when the run had a tree before, and commits of it stayed.
    const hasBranch = (await commitOf(branch, git)) !== undefined;
    const how = hasBranch ? [] : ['--no-track', '-b', worktree.branch];
    const from = [worktree.path, hasBranch ? worktree.branch : 'HEAD'];
    const added = await git(['worktree', 'add', '--quiet', '--no-checkout', ...how, ...from]);
    if (added.kind === 'failed') return notMade(worktree, added.reason);
  }
  return (await fill(planned)) ?? { kind: 'made', worktree, cwd: cwdIn(planned) };
}

/** Checks the files out. Separately, because some of git's configuration is known only inside of the worktree. */
async function fill({ worktree, env }: PlannedTree): Promise<Prepared | undefined> {
  const inside = await gitIn(worktree.path, env);
  const index = await inside(['rev-parse', '--path-format=absolute', '--git-path', 'index']);
  if (index.kind === 'failed') return notMade(worktree, index.reason);
  // The index is written after all files.
  if (existsSync(index.stdout.replace(/\n$/, ''))) return undefined;
  const filled = await inside(['reset', '--hard', '--quiet'], { timeoutMs: CHECKOUT_TIMEOUT_MS });
  return filled.kind === 'failed' ? notMade(worktree, filled.reason) : undefined;
}

function notMade({ path }: Worktree, reason: string): Prepared {
  return { kind: 'failed', reason: `Cannot make the worktree "${path}": ${reason}` };
}

/** The directory need not be in the commit, and a link in its place could lead anywhere. */
function cwdIn({ worktree, prefix }: PlannedTree): string {
  const cwd = join(worktree.path, prefix);
  const root = realpathSync(worktree.path);
  const isInside = existsSync(cwd) && `${realpathSync(cwd)}${sep}`.startsWith(`${root}${sep}`);
  return isInside ? cwd : worktree.path;
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

/** Why the worktree has to stay; null: nothing in it would be lost. What git cannot say is a reason. */
async function reasonToKeep(
  worktree: Worktree,
  { inside, repository, isMerged }: { inside: Git; repository: Git; isMerged: boolean },
): Promise<string | null> {
  const status = await inside([...STATUS, '--ignored=matching']);
  if (status.kind === 'failed') return status.reason;
  const entries = status.stdout.split('\0').filter((entry) => entry !== '' && !isMadeAnew(entry));
  const isIgnored = (entry: string) => entry.startsWith('!! ');
  const ignored = entries.filter(isIgnored).length;
  // A repository in the tree ends with a slash, and is never merged.
  const changed = entries.filter((entry) => !isIgnored(entry) && (!isMerged || entry.endsWith('/'))).length;
  if (changed > 0) return counted(changed, 'file is not committed', 'files are not committed');
  const lost = isMerged ? 0 : await countLostCommits(worktree, inside, repository);
  if (lost !== 0) return lostWords(lost);
  return ignored > 0 ? counted(ignored, 'ignored file is left', 'ignored files are left') : null;
}

/** The number of commits that are only in the worktree or its branch; git's error if it cannot say. */
async function countLostCommits(worktree: Worktree, inside: Git, repository: Git): Promise<number | string> {
  const own = [await commitOf('HEAD', inside), await commitOf(`refs/heads/${worktree.branch}`, inside)];
  const tips = own.filter((tip) => tip !== undefined);
  const main = await commitOf('HEAD', repository);
  if (tips.length === 0) return 'its HEAD cannot be read';
  const listed = await repository([
    ...['rev-list', '--count', `--max-count=${COUNTED_MAX}`, ...tips],
    // Branches of other runs do not count: they may be removed at the same time.
    ...[
      '--not',
      `--exclude=${BRANCHES}*`,
      '--branches',
      '--tags',
      '--remotes',
      ...(main === undefined ? [] : [main]),
    ],
  ]);
  return listed.kind === 'ok' ? Number(listed.stdout.trim()) : listed.reason;
}

/** Removes what is left of a worktree that is gone: git's record of it, and its branch if that adds nothing. */
async function forget(worktree: Worktree, repository: Git): Promise<string | null> {
  const pruned = await repository(['worktree', 'prune']);
  if (pruned.kind === 'failed')
    return `worktree ${worktree.path} is gone, but not its record: ${pruned.reason}`;
  const branch = `refs/heads/${worktree.branch}`;
  const tip = await commitOf(branch, repository);
  if (tip === undefined) return null;
  const lost = await countLostCommits(worktree, repository, repository);
  if (lost !== 0) return `branch kept: ${worktree.branch} in ${worktree.repository}: ${lostWords(lost)}`;
  // Only if it has not moved since it was checked.
  const deleted = await repository(['update-ref', '-d', branch, tip]);
  return deleted.kind === 'ok' ? null : `branch kept: ${worktree.branch}: ${deleted.reason}`;
}

/** The commit that a name stands for; undefined: none. */
async function commitOf(name: string, git: Git): Promise<string | undefined> {
  const found = await git(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
  return found.kind === 'ok' ? found.stdout.trim() : undefined;
}

function lostWords(lost: number | string): string {
  if (typeof lost === 'string') return lost;
  return counted(lost, 'commit is in no other branch', 'commits are in no other branch');
}

function isMadeAnew(entry: string): boolean {
  const names = entry.startsWith('!! ') ? entry.slice(3).split('/') : [];
  return names.some((name) => MADE_ANEW.has(name));
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${many}`;
}
