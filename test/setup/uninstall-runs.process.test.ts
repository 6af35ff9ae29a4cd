import { beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uninstallCommand } from '../../src/cli/install.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { changeRun } from '../../src/runs/store/runs.ts';
import { prepareWorktree } from '../../src/runs/workspace/worktree.ts';
import { callHere } from '../cli/call.ts';
import { accepted, ended, newRun, started } from '../runs/store/made-up.ts';
import { pathsOf } from '../support/home.ts';
import { installedIn } from '../support/installed.ts';
import { madeRun } from '../support/made-run.ts';
import { putFile, treeBelow } from '../support/tree.ts';
import { useMachine } from './machine.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

const at = useMachine();
const env = () => ({ HOME: at.home, PATH: process.env.PATH });
const paths = () => pathsOf(at.home);
beforeEach(async () => void (await installedIn(at.home, { env: env() })));

/** Everything but what SQLite does around a database that is read. */
function all() {
  return Object.entries(treeBelow(at.root)).filter(([name]) => !/\.db-(wal|shm)$/.test(name));
}

const call = (...words: string[]) =>
  callHere(uninstallCommand, words, { env: env(), executablePath: paths().binary, cwd: at.root });

/** A run that is done, with a working tree of its own in a real repository. */
async function doneInTree(): Promise<{ path: string; repository: string }> {
  const repository = join(at.root, 'app');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, env: env() });
  if (!existsSync(repository)) {
    mkdirSync(repository);
    git('init', '--quiet');
    git('config', 'user.name', 'dev');
    git('config', 'user.email', 'dev@example.invalid');
    git('commit', '--quiet', '--allow-empty', '-m', 'first');
  }
  const { id } = newRun();
  withRuns(paths(), (db) => ended(db, { id }));
  const run = madeRun({ id, cwd: repository, worktreeMode: 'always' });
  const prepared = await prepareWorktree(run, paths(), { env: env(), isShared: false });
  if (prepared.kind !== 'made') throw new Error(JSON.stringify(prepared));
  withRuns(paths(), (db) => changeRun(id, { worktree: prepared.worktree }, db));
  return prepared.worktree;
}

describe('uninstall with background runs', () => {
  for (const words of [[], ['--purge'], ['--dry-run'], ['--purge', '--dry-run']]) {
    test(`[${words}] does nothing while sub-agents are at work, and says how to stop them`, async () => {
      withRuns(paths(), (db) => {
        started(db);
        accepted(db, { requester: { key: 'b', session: null, client: null, cwd: '/home/dev/bank' } });
      });
      const before = all();
      const { stderr, code } = await call(...words);
      expect(code).toBe(1);
      expect(stderr).toStartWith('error: Cannot uninstall: 2 sub-agents are at work or waiting. ');
      expect(stderr).toContain('"self-generation subagents stop all --project"');
      expect(stderr).toContain('"/home/dev/shop"');
      expect(stderr).toContain('"/home/dev/bank"');
      expect(all()).toEqual(before);
    });
  }

  test('goes on when all have ended, and names what it keeps of them', async () => {
    const { path } = await doneInTree();
    putFile(join(paths().runs, 'x', 'turn-1.prompt'), 'x');
    const { stdout, code } = await call();
    expect(code).toBe(0);
    expect(stdout).toContain(`kept     ${paths().runs} (`);
    expect(stdout).toContain(`kept     ${paths().worktrees} (`);
    expect(existsSync(path)).toBe(true);
  });

  test('with purge removes a working tree in which nothing would be lost, and its branch', async () => {
    const { repository } = await doneInTree();
    const { code, stderr } = await call('--purge');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(existsSync(paths().home)).toBe(false);
    const git = (...args: string[]) => String(execFileSync('git', args, { cwd: repository, env: env() }));
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(git('branch', '--list', 'subagent/*')).toBe('');
  });

  test('with purge keeps a working tree with work that is nowhere else, and says how to remove it', async () => {
    const clean = await doneInTree();
    const dirty = await doneInTree();
    writeFileSync(join(dirty.path, 'new.txt'), 'hours of work');
    const { code, stderr } = await call('--purge');
    expect(code).toBe(0);
    expect(stderr).toContain('1 file is not committed');
    expect(stderr).toContain(`git -C "${dirty.repository}" worktree remove --force "${dirty.path}"`);
    expect(stderr).not.toContain(clean.path);
    expect(readdirSync(dirty.path)).toContain('new.txt');
    expect(existsSync(clean.path)).toBe(false);
    expect(readdirSync(paths().home)).toEqual(['worktrees']);
  });

  test('with purge keeps working trees also where the database is damaged', async () => {
    const { path } = await doneInTree();
    for (const suffix of ['-wal', '-shm']) rmSync(paths().runsDatabase + suffix, { force: true });
    writeFileSync(paths().runsDatabase, 'no database'.repeat(1000));
    const { code, stderr } = await call('--purge');
    expect(code).toBe(0);
    expect(stderr).toContain('not known whether sub-agents are at work');
    expect(stderr).toContain(path);
    expect(existsSync(path)).toBe(true);
  });

  test('with purge a dry run changes nothing of the working trees', async () => {
    const { path } = await doneInTree();
    const { stdout } = await call('--purge', '--dry-run');
    expect(existsSync(path)).toBe(true);
    expect(stdout).toContain(paths().worktrees);
  });
});
