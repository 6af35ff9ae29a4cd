import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { readMembership } from '../../team/membership.ts';
import { POOL_NAME, type PoolPlace } from '../model/pool-role.ts';
import { type Git, gitIn } from '../workspace/git.ts';
import { toldRemote } from './remote.ts';

type Answer =
  | { readonly kind: 'place'; readonly place: PoolPlace }
  | { readonly kind: 'refused'; readonly reason: string };

/** Where a machine of the pool finds what is checked out here, or why it cannot. @throws Error when the membership is damaged */
export async function placeOnPool(
  pool: string,
  directory: string,
  { paths, env }: { readonly paths: StatePaths; readonly env: Environment },
): Promise<Answer> {
  if (!POOL_NAME.test(pool)) return refused('its name has small letters, digits, - and _, at most 41');
  if (readMembership(paths) === undefined)
    return refused('you are in no team; "self-generation team join" makes you a member of one');
  const git = await gitIn(directory, env);
  const head = await line(git, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head === undefined) return refused(`"${directory}" is in no git repository with a commit`);
  const remote = await remoteOf(git);
  if (remote === undefined)
    return refused('the repository has no remote that another machine could fetch from');
  const told = toldRemote(remote.url);
  if (told === undefined) return refused(`its remote "${remote.name}" is no https or ssh address`);
  const branch = await branchWith(head, remote.name, git);
  if (branch === undefined)
    return refused(
      `its commit ${head.slice(0, 10)} is in no branch of the remote "${remote.name}", from where the machine fetches it; push it first`,
    );
  const inside = (await line(git, ['rev-parse', '--show-prefix']))?.replace(/\/$/, '') ?? '';
  return { kind: 'place', place: { kind: 'away', pool, remote: told.url, branch, commit: head, inside } };
}

function refused(reason: string): Answer {
  return { kind: 'refused', reason };
}

/** The remote of the branch that is checked out, else `origin`, else the only one. */
async function remoteOf(git: Git) {
  const names = (await line(git, ['remote']))?.split('\n') ?? [];
  const current = await line(git, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const own = current && (await line(git, ['config', '--get', `branch.${current}.remote`]));
  const name = [own, 'origin', names.length === 1 ? names[0] : undefined].find(
    (one) => one && names.includes(one),
  );
  const url = name && (await line(git, ['remote', 'get-url', name]));
  return name && url ? { name, url } : undefined;
}

/** A branch of the remote, by its name there, that has the commit as far as is known here. */
async function branchWith(commit: string, remote: string, git: Git): Promise<string | undefined> {
  const prefix = `refs/remotes/${remote}/`;
  const format = '--format=%(refname) %(symref)';
  const found = (await line(git, ['for-each-ref', format, '--contains', commit, prefix]))?.split('\n') ?? [];
  const names = found.flatMap((row) => {
    const [name = '', symbolic] = row.split(' ');
    return symbolic || !name.startsWith(prefix) ? [] : name.slice(prefix.length);
  });
  return names.find((name) => name === 'main' || name === 'master') ?? names[0];
}

async function line(git: Git, args: readonly string[]): Promise<string | undefined> {
  const answer = await git(args);
  return answer.kind === 'ok' && answer.stdout.trim() !== '' ? answer.stdout.trim() : undefined;
}
