import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../core/guards.ts';
import type { PoolPlace } from '../model/pool-role.ts';
import { type Run, runDirectory, type Worktree } from '../model/run.ts';
import { withRuns } from '../store/rows.ts';
import { changeRun } from '../store/runs.ts';
import { type Git, gitIn, said } from '../workspace/git.ts';
import { branchOf, repositoryWith } from '../workspace/worktree.ts';
import type { RunsWorld } from '../world.ts';

/**
 * What a run has changed on another machine, as a commit in a branch of its own here. Nothing is checked out for that: it takes
 * some milliseconds whatever the repository's size, and many runs that end at once do not wait for each other.
 */

const TIMEOUT_MS = 10 * 60_000;
/** Of commits that nobody has made by hand. */
const AUTHOR = ['-c', 'user.name=self-generation', '-c', 'user.email=self-generation@localhost'];

/** The branch of a run here, whose working tree is there only when somebody makes one. */
export type Target = { readonly worktree: Worktree; readonly git: Git };

/** Where the changes of a run come: `diff`, `merge` and `discard` look for them there. @throws Error in git's words */
export async function targetFor(
  run: Run & { readonly pool: PoolPlace },
  { paths, env }: Pick<RunsWorld, 'paths' | 'env'>,
): Promise<Target> {
  const worktree = run.worktree ?? (await branchFor(run, { paths, env }));
  return { worktree, git: await gitIn(worktree.repository, env) };
}

async function branchFor(
  run: Run & { readonly pool: PoolPlace },
  { paths, env }: Pick<RunsWorld, 'paths' | 'env'>,
): Promise<Worktree> {
  const { root, home } = await repositoryWith(run.cwd, paths, env);
  return { path: join(home, run.id), repository: root, branch: branchOf(run), base: run.pool.commit };
}

/** Adds the changes of a turn to the run's branch, once, and stores the branch with the run. @throws Error that says why not */
export async function bringBack(
  patch: string,
  turn: number,
  { worktree, git }: Target,
  run: Run & { readonly pool: PoolPlace },
  { paths }: Pick<RunsWorld, 'paths'>,
): Promise<void> {
  const index = `${runDirectory(paths, run.id)}/turn-${turn}.index`;
  const ref = `refs/heads/${worktree.branch}`;
  const message = `Changes of a sub-agent on another machine, turn ${turn}`;
  const listed = said(await git(['for-each-ref', '--format=%(objectname) %(subject)', ref])).trim();
  const [tip = '', newest] = listed.split(/ (.*)/s);
  const parent = tip === '' ? run.pool.commit : tip;
  try {
    // A supervisor that was killed behind this had added them.
    if (newest !== message) {
      said(await git(['read-tree', parent], { index }));
      said(await git(['apply', '--cached', '--whitespace=nowarn', patch], { index, timeoutMs: TIMEOUT_MS }));
      const tree = said(await git(['write-tree'], { index })).trim();
      const commit = said(await git([...AUTHOR, 'commit-tree', '-p', parent, '-m', message, tree])).trim();
      // Only if nobody has moved it meanwhile.
      said(await git(['update-ref', ref, commit, tip === '' ? '0'.repeat(40) : tip]));
    }
  } catch (error) {
    throw new Error(`they could not be added to the branch ${worktree.branch}: ${reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    rmSync(index, { force: true });
  }
  if (run.worktree === null) withRuns(paths, (db) => changeRun(run.id, { worktree }, db));
}
