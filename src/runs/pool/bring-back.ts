import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../core/guards.ts';
import type { Worktree } from '../model/run.ts';
import { withRuns } from '../store/rows.ts';
import { changeRun } from '../store/runs.ts';
import { type Git, gitIn, said } from '../workspace/git.ts';
import { branchOf, repositoryWith } from '../workspace/worktree.ts';
import type { RunsWorld } from '../world.ts';
import type { Away } from './spec.ts';

/**
 * What a run has changed on another machine, as a commit in a branch of its own here. Nothing is checked out for that: it takes
 * some milliseconds whatever the repository's size, and many runs that end at once do not wait for each other.
 */

const TIMEOUT_MS = 10 * 60_000;
/** Of commits that nobody has made by hand. */
const AUTHOR = ['-c', 'user.name=self-generation', '-c', 'user.email=self-generation@localhost'];

/** Where the changes of a turn come. */
export type Target = {
  readonly git: Git;
  /** Its working tree is there only when somebody makes one. */
  readonly worktree: Worktree;
  /** The commit that the changes are added to, and whether it has them already. */
  readonly parent: string;
  readonly isNewBranch: boolean;
  readonly isDone: boolean;
  /** An index with what that commit has. */
  readonly index: string;
};

type Here = Pick<RunsWorld, 'paths' | 'env'>;

/**
 * Looks where the changes of a turn come: `diff`, `merge` and `discard` look for them there. `directory`: what lies in it is
 * removed when the turn has ended. @throws Error in git's words
 */
export async function targetFor(
  directory: string,
  turn: number,
  run: Away,
  { paths, env }: Here,
): Promise<Target> {
  const worktree = run.worktree ?? (await branchFor(run, { paths, env }));
  const git = await gitIn(worktree.repository, env);
  const listed = said(await git(['for-each-ref', '--format=%(objectname) %(subject)', refOf(worktree)]));
  const [tip = '', newest] = listed.trim().split(/ (.*)/s);
  // Of its own: git may still write that of a supervisor that was killed.
  const index = join(directory, `${randomUUID()}.index`);
  const parent = tip === '' ? run.pool.commit : tip;
  said(await git(['read-tree', parent], { index }));
  // A supervisor that was killed behind this had added them.
  const isDone = newest === messageOf(turn);
  return { git, worktree, parent, isNewBranch: tip === '', isDone, index };
}

async function branchFor(run: Away, { paths, env }: Here): Promise<Worktree> {
  const { root, home } = await repositoryWith(run.cwd, paths, env);
  return { path: join(home, run.id), repository: root, branch: branchOf(run), base: run.pool.commit };
}

const refOf = ({ branch }: Worktree) => `refs/heads/${branch}`;
const messageOf = (turn: number) => `Changes of a sub-agent on another machine, turn ${turn}`;

/** Adds the changes of a turn to the run's branch, once, and stores the branch with the run. @throws Error that says why not */
export async function bringBack(
  patch: string,
  turn: number,
  target: Target,
  run: Away,
  here: Here,
): Promise<void> {
  const { worktree } = target;
  try {
    await add(patch, turn, target).catch(async (error) => {
      // Somebody may have moved the branch since it was looked at.
      const now = await targetFor(dirname(target.index), turn, run, here);
      if (now.parent === target.parent) throw error;
      await add(patch, turn, now);
    });
  } catch (error) {
    throw new Error(`they could not be added to the branch ${worktree.branch}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  if (run.worktree === null) withRuns(here.paths, (db) => changeRun(run.id, { worktree }, db));
}

async function add(
  patch: string,
  turn: number,
  { git, worktree, parent, isNewBranch, isDone, index }: Target,
): Promise<void> {
  if (isDone) return;
  said(await git(['apply', '--cached', '--whitespace=nowarn', patch], { index, timeoutMs: TIMEOUT_MS }));
  const tree = said(await git(['write-tree'], { index })).trim();
  const message = messageOf(turn);
  const commit = said(await git([...AUTHOR, 'commit-tree', '-p', parent, '-m', message, tree])).trim();
  const before = isNewBranch ? '0'.repeat(40) : parent;
  said(await git(['update-ref', refOf(worktree), commit, before]));
}
