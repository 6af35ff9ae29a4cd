import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../core/guards.ts';
import type { PoolPlace } from '../model/pool-role.ts';
import { type Run, runDirectory, type Worktree } from '../model/run.ts';
import { withRuns } from '../store/rows.ts';
import { changeRun } from '../store/runs.ts';
import { gitIn, said } from '../workspace/git.ts';
import { branchOf, repositoryWith } from '../workspace/worktree.ts';
import type { RunsWorld } from '../world.ts';

/**
 * What a run has changed on another machine, as a commit in a branch of its own here. Nothing is checked out for that: it takes
 * some milliseconds whatever the repository's size, and many runs that end at once do not wait for each other.
 */

const TIMEOUT_MS = 10 * 60_000;
/** Of commits that nobody has made by hand. */
const AUTHOR = ['-c', 'user.name=self-generation', '-c', 'user.email=self-generation@localhost'];

/** Adds the changes of a turn to the run's branch, which is stored with the run. @throws Error that says why not */
export async function bringBack(
  patch: string,
  turn: number,
  run: Run & { readonly pool: PoolPlace },
  { paths, env }: RunsWorld,
): Promise<Worktree> {
  const index = `${runDirectory(paths, run.id)}/turn-${turn}.index`;
  const worktree = run.worktree ?? (await branchFor(run, { paths, env }));
  const git = await gitIn(worktree.repository, env);
  const ref = `refs/heads/${worktree.branch}`;
  const tip = await git(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  const parent = tip.kind === 'ok' ? tip.stdout.trim() : run.pool.commit;
  try {
    said(await git(['read-tree', parent], { index }));
    said(await git(['apply', '--cached', '--whitespace=nowarn', patch], { index, timeoutMs: TIMEOUT_MS }));
    const tree = said(await git(['write-tree'], { index })).trim();
    const message = `Changes of a sub-agent on another machine, turn ${turn}`;
    const commit = said(await git([...AUTHOR, 'commit-tree', '-p', parent, '-m', message, tree])).trim();
    // Only if nobody has moved it meanwhile.
    said(await git(['update-ref', ref, commit, tip.kind === 'ok' ? parent : '0'.repeat(40)]));
  } catch (error) {
    throw new Error(`they could not be added to the branch ${worktree.branch}: ${reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    rmSync(index, { force: true });
  }
  if (run.worktree === null) withRuns(paths, (db) => changeRun(run.id, { worktree }, db));
  return worktree;
}

/** Where `diff`, `merge` and `discard` look for a run's changes. A working tree is there only when somebody makes one. */
async function branchFor(
  run: Run & { readonly pool: PoolPlace },
  { paths, env }: Pick<RunsWorld, 'paths' | 'env'>,
): Promise<Worktree> {
  const { root, home } = await repositoryWith(run.cwd, paths, env);
  return { path: join(home, run.id), repository: root, branch: branchOf(run), base: run.pool.commit };
}
