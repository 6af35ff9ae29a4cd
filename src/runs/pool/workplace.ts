import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import type { Environment } from '../../core/state-paths.ts';
import { ensurePrivateDirectory } from '../../system/atomic-file.ts';
import { type Git, gitIn, said } from '../workspace/git.ts';
import { AS_PATCH } from '../workspace/worktree-changes.ts';
import { protocolOf } from './remote.ts';
import type { PoolSpec } from './spec.ts';

/**
 * Where a worker's runs work: for each session a repository of its own, which takes its objects from a mirror of the remote.
 * No worktree of the mirror: all of those share one configuration and its hooks, and a run of one member could leave some there
 * for the run of another. Nothing that stands in a repository is run, see workspace/git.ts.
 */

const FETCH_TIMEOUT_MS = 15 * 60_000;
const CHECKOUT_TIMEOUT_MS = 10 * 60_000;
export const PATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How long a session's place waits for another message. */
const KEPT_MS = 24 * 3_600_000;

export type Places = {
  /** The worker's own directory. */
  readonly home: string;
  readonly env: Environment;
  readonly allowsLocal: 'local too' | 'remote alone';
};

/** `tree`: what was there before the turn. */
export type Workplace = { readonly root: string; readonly cwd: string; readonly tree: string };

/** The place for the session `line`: made for a new one, as it was left for another message. @throws Error that says why not */
export async function workplaceFor(line: string, spec: PoolSpec, places: Places): Promise<Workplace> {
  const root = join(places.home, 'places', line);
  if (spec.session === 'new') await make(root, spec, places);
  if (!existsSync(join(root, '.git'))) throw new Error('its working tree is not kept any more: use retry');
  const tree = spec.session === 'new' ? spec.commit : await treeOf(root, await gitIn(root, places.env));
  const cwd = join(root, spec.inside);
  const isInside = existsSync(cwd) && `${realpathSync(cwd)}${sep}`.startsWith(`${realpathSync(root)}${sep}`);
  return { root, cwd: isInside ? cwd : root, tree };
}

/** What was changed since, new files with it, as one patch; its size alone when it is too large. @throws Error in git's words */
export async function changesIn({ root, tree }: Workplace, env: Environment) {
  const file = join(root, '.git', 'pool.patch');
  const git = await gitIn(root, env);
  const index = await indexOf(root, git);
  said(
    await git(['diff-index', '--cached', '-p', '--binary', ...AS_PATCH, `--output=${file}`, tree], { index }),
  );
  const { size } = statSync(file);
  return { size, patch: size > PATCH_BYTES_MAX ? null : readFileSync(file) };
}

/** Removes the places that no message came to for a day. Never throws. */
export function removeOldPlaces({ home }: Pick<Places, 'home'>, nowMs: number): void {
  const directory = join(home, 'places');
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const used =
      statSync(join(path, '.git'), { throwIfNoEntry: false }) ?? statSync(path, { throwIfNoEntry: false });
    if (used !== undefined && used.mtimeMs < nowMs - KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

async function make(root: string, spec: PoolSpec, places: Places): Promise<void> {
  const mirror = await mirrorWith(spec, places);
  rmSync(root, { recursive: true, force: true }); // What a process that died had begun.
  ensurePrivateDirectory(join(places.home, 'places'));
  mkdirSync(join(root, '.git/objects/info'), { recursive: true, mode: 0o700 });
  mkdirSync(join(root, '.git/refs/heads'), { recursive: true });
  writeFileSync(join(root, '.git/objects/info/alternates'), `${mirror}/objects\n`);
  writeFileSync(join(root, '.git/config'), PLAIN);
  writeFileSync(join(root, '.git/HEAD'), `${spec.commit}\n`);
  const git = await gitIn(root, places.env);
  said(
    await git(['reset', '--hard', '--quiet', spec.commit], { timeoutMs: CHECKOUT_TIMEOUT_MS }),
    'its files cannot be checked out: ',
  );
}

const PLAIN = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n';

/** The commits of each mirror that were seen there; none is ever removed from one. */
const seen = new Map<string, Set<string>>();

/** One after the other for each mirror: git fails where two write the same. */
const fetching = new Map<string, Promise<unknown>>();

/** The mirror of the remote, with the commit in it. @throws Error that says why not */
async function mirrorWith(spec: PoolSpec, places: Places): Promise<string> {
  const { remote } = spec;
  const protocol = protocolOf(remote, places.allowsLocal);
  if (protocol === undefined) throw new Error(refusal(remote));
  const mirrors = join(places.home, 'mirrors');
  const mirror = join(mirrors, createHash('sha256').update(remote).digest('hex').slice(0, 16));
  if (seen.get(mirror)?.has(spec.commit) && existsSync(join(mirror, 'HEAD'))) return mirror;
  const before = fetching.get(mirror) ?? Promise.resolve();
  const own = before.catch(() => {}).then(() => fetchInto(mirror, spec, protocol, places));
  fetching.set(mirror, own);
  await own;
  seen.set(mirror, (seen.get(mirror) ?? new Set()).add(spec.commit));
  return mirror;
}

function refusal(remote: string): string {
  const what = remote.startsWith('/')
    ? 'a directory, and this worker was started without --allow-local-remotes'
    : 'none';
  return `this worker fetches from https and ssh addresses; "${remote}" is ${what}`;
}

async function fetchInto(
  mirror: string,
  spec: PoolSpec,
  protocols: string,
  { env, home }: Places,
): Promise<void> {
  const { remote, branch, commit } = spec;
  ensurePrivateDirectory(home);
  ensurePrivateDirectory(join(home, 'mirrors'));
  if (!existsSync(join(mirror, 'HEAD'))) {
    const outside = await gitIn(home, env);
    said(await outside(['init', '--quiet', '--bare', '--template=', mirror]));
    said(await (await gitIn(mirror, env))(['config', 'gc.auto', '0']));
  }
  const git = await gitIn(mirror, env);
  const has = async () => (await git(['cat-file', '-e', `${commit}^{commit}`])).kind === 'ok';
  if (await has()) return;
  const how = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--no-auto-gc'];
  // By a sum: of a branch "a" that became "a/b" git would not store the second.
  const wanted = `+refs/heads/${branch}:refs/pool/${createHash('sha256').update(branch).digest('hex')}`;
  const fetched = await git(['fetch', ...how, '--', remote, wanted], {
    protocols,
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  if (fetched.kind === 'failed')
    throw new Error(`the branch "${branch}" cannot be fetched from "${remote}": ${fetched.reason}`);
  if (!(await has())) throw new Error(`the commit ${commit} is not in the branch "${branch}" of "${remote}"`);
}

/** The tree of all that is there now. */
async function treeOf(root: string, git: Git): Promise<string> {
  return said(await git(['write-tree'], { index: await indexOf(root, git) })).trim();
}

/** An index of all that is there now, without what is ignored; the place's own stays as it is. */
async function indexOf(root: string, git: Git): Promise<string> {
  const index = join(root, '.git', 'pool.index');
  const own = join(root, '.git', 'index');
  if (existsSync(own)) writeFileSync(index, readFileSync(own));
  // Of this place, whatever the run has put into its configuration.
  const add = ['--work-tree', root, 'add', '--all', '--', '.'];
  said(await git(add, { index, timeoutMs: CHECKOUT_TIMEOUT_MS }));
  return index;
}
