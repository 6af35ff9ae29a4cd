import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Environment } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { findProgram, withAbsolutePath } from '../system/run-command.ts';
import { pathExists } from '../system/runtime-bun.ts';
import { noteRepository } from './store/lesson-log.ts';

/** Of which repository a project is a clone. Git is asked, which takes time: never in a hook. */

/** The history of a large repository is long. */
const TIMEOUT_MS = 20_000;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** Notes it for the hooks, which look for other clones of the same. A place that is gone stays what it was. */
export function lookAtRepository(projectPath: string, env: Environment, db: Db): void {
  if (pathExists(projectPath)) noteRepository(projectPath, repositoryOf(projectPath, env) ?? null, db);
}

/**
 * A name that two clones share when they have the same remote and the same first commit, and of their project the same
 * place in it. Undefined when one of these is not known: of a shallow clone nobody knows the first commit.
 */
function repositoryOf(directory: string, env: Environment): string | undefined {
  const git = gitAt(directory, env);
  const [isShallow, prefix = ''] =
    git?.('rev-parse', '--is-shallow-repository', '--show-prefix')?.split('\n') ?? [];
  if (git === undefined || isShallow !== 'false') return undefined;
  const remotes = git('config', '--local', '--get-regexp', '^remote\\..*\\.url$') ?? '';
  const remote = remoteName(remotes, directory);
  const root = git('rev-list', '--first-parent', '--max-parents=0', 'HEAD');
  if (remote === undefined || !root || !/^[0-9a-f]{40,64}$/.test(root)) return undefined;
  // As a sum, because an address may have a password in it.
  return createHash('sha256').update([remote, root, prefix].join('\n')).digest('hex');
}

/** The remote of a project in one spelling, with its place below the repository's root; undefined without one. */
export function remoteOf(directory: string, env: Environment): string | undefined {
  const git = gitAt(directory, env);
  const prefix = git?.('rev-parse', '--show-prefix');
  if (git === undefined || prefix === undefined) return undefined;
  const remote = remoteName(git('config', '--local', '--get-regexp', '^remote\\..*\\.url$') ?? '', directory);
  return remote === undefined || prefix === '' ? remote : `${remote} ${prefix.replace(/\/$/, '')}`;
}

/** `origin`, or the only one there is, in one spelling: `git@host:a/b.git` is `https://host/a/b`. */
export function remoteName(listing: string, directory: string): string | undefined {
  // Of a remote with several addresses the first.
  const found = [...listing.matchAll(/^remote\.(.*)\.url (.+)$/gm)].reverse();
  const urls = new Map(found.map(([, name = '', url = '']) => [name, url]));
  const url = urls.get('origin') ?? (urls.size === 1 ? [...urls.values()][0] : undefined);
  if (url === undefined) return undefined;
  const [, host = '', path = ''] =
    /^(?:[a-z+]+:\/\/)(?:[^/@]*@)?([^/]+)\/+(.+)$/i.exec(url) ??
    /^(?:[^/@:]+@)?([^/:]{2,}):(?!\/\/)(.+)$/.exec(url) ??
    [];
  const place = path
    .replace(/[?#].*$/, '')
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '');
  if (host !== '') return place === '' ? undefined : `${host.toLowerCase()}/${place}`;
  // A directory, which is one on this machine only.
  return url.startsWith('/') ? url.replace(/\/+$/, '').replace(/\.git$/, '') : `${directory}\n${url}`;
}

type Git = (...args: string[]) => string | undefined;

/** Git that runs nothing the repository names, fetches nothing, and shows history as it was committed. */
function gitAt(directory: string, env: Environment): Git | undefined {
  const program = findProgram('git', env, process.platform);
  if (program === undefined) return undefined;
  const ours = Object.entries(withAbsolutePath(env, process.platform)).filter(
    ([name]) => !name.startsWith('GIT_'),
  );
  const clean = {
    ...Object.fromEntries(ours),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    LC_ALL: 'C',
  };
  const safe = ['--no-pager', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];
  return (...args) => {
    const { status, stdout } = spawnSync(program, [...safe, ...args], {
      cwd: directory,
      env: clean,
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
    });
    return status === 0 ? stdout.replace(/\n$/, '') : undefined;
  };
}
