import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Run } from '../../core/runs/run.ts';
import { changeRun, runsIn } from '../../store/runs/runs.ts';
import { prepareWorktree } from '../workplace/worktree.ts';
import type { Supervision } from './supervision.ts';

export type Place =
  | { readonly kind: 'ready'; readonly run: Run }
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * Where the turn works: the run with its working tree, when it is to have one. A tree that was removed because nothing in
 * it would be lost is made again at the same place: clients find their sessions by the directory. Never throws for git.
 */
export async function preparePlace(run: Run, supervision: Supervision): Promise<Place> {
  const { world, db } = supervision;
  if (run.worktree !== null && existsSync(run.worktree.path)) return { kind: 'ready', run };
  const asked = run.worktree === null ? run : withoutWorktree(run, run.worktree);
  const prepared = await prepareWorktree(asked, world.paths, {
    env: world.env,
    isShared: asked.worktreeMode === 'auto' && isShared(asked, supervision),
  });
  if (prepared.kind === 'failed') return prepared;
  if (prepared.kind === 'none') return { kind: 'ready', run };
  const { worktree, cwd } = prepared;
  changeRun(run.id, { worktree, cwd }, db);
  return { kind: 'ready', run: { ...run, worktree, cwd } };
}

/** The run as it was accepted. */
function withoutWorktree(run: Run, { repository, path }: NonNullable<Run['worktree']>): Run {
  return { ...run, worktree: null, worktreeMode: 'always', cwd: join(repository, relative(path, run.cwd)) };
}

/** Whether another run is at work in the same directory. */
function isShared(run: Run, { db }: Supervision): boolean {
  return runsIn(run.cwd, 'started', db).some(({ id }) => id !== run.id);
}
