import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import type { Environment } from '../../../src/core/state-paths.ts';
import type { Run } from '../../../src/runs/model/run.ts';
import { type Prepared, prepareWorktree } from '../../../src/runs/workspace/worktree.ts';
import { runCommand } from '../../../src/system/run-command.ts';
import { temporaryHome } from '../../support/home.ts';
import { madeRun } from '../../support/made-run.ts';

/** Repositories, and runs with working trees in them. */

/** A user with a repository of one commit, all of it real. */
export async function place() {
  const home = temporaryHome();
  const env: Environment = { PATH: process.env.PATH, HOME: home.path, LANG: 'C.UTF-8' };
  home.put(
    '.gitconfig',
    '[user]\n\tname = dev\n\temail = dev@example.invalid\n[init]\n\tdefaultBranch = main\n',
  );
  const repository = `${realpathSync(home.path)}/app`;
  mkdirSync(`${repository}/sub`, { recursive: true });
  const git = async (...args: string[]) => gitAt(repository, args, env);
  await git('init', '--quiet');
  writeFileSync(`${repository}/.gitignore`, 'node_modules/\n*.log\n');
  writeFileSync(`${repository}/a.txt`, 'one\n');
  writeFileSync(`${repository}/sub/b.txt`, 'two\n');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'first');
  const runOf = (id: string, changes: Partial<Run> = {}) =>
    madeRun({ id, cwd: repository, worktreeMode: 'always', worktree: null, ...changes });
  const prepare = (run: Run, isShared = false) => prepareWorktree(run, home.paths, { env, isShared });
  const made = async (run: Run) => withTree(run, await prepare(run));
  /** Work that is committed in a tree, without a file. */
  const commit = (path: string) => gitAt(path, ['commit', '--quiet', '--allow-empty', '-m', 'work'], env);
  return { ...home, home, env, repository, git, commit, runOf, prepare, made };
}

/** Makes the first commit, without a file, of a repository in this directory. */
export async function commitNothing(directory: string): Promise<void> {
  const author = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.invalid'];
  const commit = [...author, 'commit', '--quiet', '--allow-empty', '-m', 'first'];
  for (const words of [['init', '--quiet'], commit])
    await gitAt(directory, words, { PATH: process.env.PATH });
}

export async function gitAt(cwd: string, args: readonly string[], env: Environment): Promise<string> {
  const result = await runCommand('git', args, { cwd, env, timeoutMs: 30_000 });
  if (result.kind !== 'exited' || result.code !== 0)
    throw new Error(`git ${args[0]}: ${JSON.stringify(result)}`);
  return result.stdout.trim();
}

/** The run as it goes on after its tree was made. */
export function withTree(run: Run, prepared: Prepared): Run & { worktree: NonNullable<Run['worktree']> } {
  if (prepared.kind !== 'made') throw new Error(`It was not made: ${JSON.stringify(prepared)}`);
  return { ...run, worktree: prepared.worktree, cwd: prepared.cwd };
}
