import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { retryRun } from '../../src/runs/spawn.ts';
import { changeRun, getRun, listRuns } from '../../src/runs/store/runs.ts';
import { withRuns } from '../../src/runs/store/runs-db.ts';
import { accepted, runsHome } from './runs-home.ts';
import { tell } from './told.ts';

/** Nothing is started: the program is none. */

test('a run that had a working tree is tried again from the same directory of its repository', async () => {
  await using here = runsHome();
  const { paths, path } = here.home;
  const world = { ...here.world, executablePath: '/bin/true', isCompiled: true };
  const nested = `${here.project}/packages/app`;
  mkdirSync(nested, { recursive: true });
  const tree = { path: `${path}/tree`, branch: 'b', repository: here.project };
  const places = [
    [`${tree.path}/packages/app`, nested],
    [tree.path, here.project],
    ['/elsewhere', here.project],
  ] as const;
  for (const [cwd, expected] of places) {
    tell(here.requester, paths);
    const [first] = withRuns(paths, (db) => listRuns({ limit: 1 }, db));
    const runId = first?.run.id ?? '';
    withRuns(paths, (db) => changeRun(runId, { worktree: tree, cwd }, db));
    const again = accepted(retryRun(runId, here.requester, world));
    expect(withRuns(paths, (db) => getRun(again.runId, db)?.run.cwd)).toBe(expected);
  }
});
