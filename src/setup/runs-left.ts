import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { inertText } from '../core/inert-text.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import type { Run } from '../runs/model/run.ts';
import { listRuns } from '../runs/store/runs.ts';
import { readRuns } from '../runs/store/runs-db.ts';
import { activeTurns } from '../runs/store/turns.ts';

/** What background runs have left on this machine: processes at work, and working trees with what they wrote. */

const PATH_LENGTH_MAX = 4096;

/** Why nothing may be taken away now, and what to do; undefined when no sub-agent is at work or waits for its turn. */
export type ActiveRuns = { readonly reason: string; readonly advice: string };

/** A working tree below our home, and the repository that it belongs to where that is known. */
export type LeftTree = { readonly path: string; readonly repository: string | undefined };

/** Sub-agents at work, in words. @throws Error when the database cannot be read. */
export function activeRuns(paths: StatePaths): ActiveRuns | undefined {
  const ids = new Set(readRuns(paths, activeTurns)?.map(({ runId }) => runId));
  if (ids.size === 0) return undefined;
  const places = new Set(
    allRuns(paths).flatMap(({ id, requester }) =>
      ids.has(id) ? [`"${inertText(requester.cwd, PATH_LENGTH_MAX)}"`] : [],
    ),
  );
  return {
    reason: `${counted(ids.size, 'sub-agent')} ${ids.size === 1 ? 'is' : 'are'} at work or waiting`,
    advice: `Run "self-generation subagents stop all --project" in ${[...places].join(' and in ')}, or wait until they are done, and run the command again.`,
  };
}

/** Every run with a working tree that is still there. @throws Error when the database cannot be read. */
export function runsWithTrees(paths: StatePaths): Run[] {
  return allRuns(paths).filter(({ worktree }) => worktree !== null && existsSync(worktree.path));
}

/** The working trees that are there, also those of which no database tells. */
export function treesLeft(paths: StatePaths): LeftTree[] {
  const repositories = repositoriesOf(paths);
  return directoriesIn(paths.worktrees)
    .flatMap(directoriesIn)
    .filter((path) => readdirSync(path).length > 0)
    .map((path) => ({ path, repository: repositories.get(path) }));
}

/** What a person has to know of trees that stay, and can do. */
export function keptTreeWarning({ path, repository }: LeftTree): string {
  const git = repository === undefined ? `git -C "${path}"` : `git -C "${repository}"`;
  return `The working tree "${path}" of a sub-agent stays: it may hold work that is nowhere else. Look at it, then remove it: ${git} worktree remove --force "${path}"`;
}

function repositoriesOf(paths: StatePaths): Map<string, string> {
  try {
    const trees = allRuns(paths).flatMap(({ worktree }) => worktree ?? []);
    return new Map(trees.map(({ path, repository }) => [path, repository]));
  } catch {
    return new Map(); // The trees are there all the same.
  }
}

function allRuns(paths: StatePaths): Run[] {
  const limit = Number.MAX_SAFE_INTEGER;
  const listings = readRuns(paths, (db) => listRuns({ includeArchived: true, limit }, db)) ?? [];
  return listings.map(({ run }) => run);
}

/** Links are not followed: what they point to is not ours. */
function directoriesIn(directory: string): string[] {
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name));
}
