import { copyFileSync, existsSync } from 'node:fs';
import type { Environment } from '../../core/state-paths.ts';
import { oneLine } from '../../core/text.ts';
import {
  type CommandResult,
  findProgram,
  OUTPUT_BYTES_MAX,
  runCommand,
  withAbsolutePath,
} from '../../system/run-command.ts';

/** Git in a repository that is not trusted: nothing that its configuration names is run. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<GitAnswer>;

type GitOptions = {
  readonly timeoutMs?: number;
  readonly stdin?: string;
  /** The index to work with, instead of that of the working tree. */
  readonly index?: string;
  /** What may be fetched by, as in GIT_ALLOW_PROTOCOL; otherwise nothing is. */
  readonly protocols?: string;
};

type GitAnswer =
  | { readonly kind: 'ok'; readonly stdout: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** What git said. @throws Error with its reason, behind these words, when it failed */
export function said(answer: GitAnswer, before = ''): string {
  if (answer.kind === 'failed') throw new Error(`${before}${answer.reason}`);
  return answer.stdout;
}

/** Where the index of a working tree is. */
export const INDEX_PATH = ['rev-parse', '--path-format=absolute', '--git-path', 'index'];

/**
 * Makes an index of our own, so that the user's stays as it is: what that has, and the new files that are not ignored.
 * `isTaken`: whether such a file, by its path from here, is entered; `how`: more for `git add`. @throws Error with git's reason
 */
export async function ownIndex(
  git: Git,
  index: string,
  { how = [], isTaken = () => true }: { how?: readonly string[]; isTaken?: (name: string) => boolean } = {},
): Promise<void> {
  const own = said(await git(INDEX_PATH)).replace(/\n$/, '');
  if (existsSync(own)) copyFileSync(own, index); // A repository in which nothing was added has none.
  const others = said(await git(['ls-files', '-z', '--others', '--exclude-standard']));
  // Not repositories in it: git would enter them as submodules.
  const names = others.split('\0').filter((name) => name !== '' && !name.endsWith('/') && isTaken(name));
  const add = ['--literal-pathspecs', 'add', ...how, '--pathspec-from-file=-', '--pathspec-file-nul'];
  if (names.length > 0) said(await git(add, { index, stdin: names.join('\0') }));
}

const TIMEOUT_MS = 60_000;
/** Where the user has his own configuration. Every other variable of git's says what to do, and comes from elsewhere. */
const KEPT = ['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM'];
const NEVER_RUN: readonly Setting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  // So that a change is seen whatever else the configuration says.
  ['core.ignoreStat', 'false'],
  ['core.trustctime', 'true'],
  ['core.checkStat', 'default'],
  ['status.showUntrackedFiles', 'all'],
  ['submodule.recurse', 'false'],
  ['worktree.guessRemote', 'false'],
];

/** Before 2.31, git did not look at the variables that keep it from running what the configuration names. */
const TOO_OLD = failed('git is too old: 2.31 or later is needed');
const NO_GIT = failed('there is no git on the PATH');

type Setting = readonly [key: string, value: string];

/**
 * Git in this directory. `touched`: a working tree that it works on from there, whose configuration need not be the same,
 * since a file may be included in one of the two only. Never throws: what git complains of comes back as a reason.
 */
export async function gitIn(directory: string, env: Environment, touched?: string): Promise<Git> {
  const program = findProgram('git', env, process.platform);
  if (program === undefined) return async () => NO_GIT;
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || KEPT.includes(name));
  const clean = withAbsolutePath(Object.fromEntries(kept), process.platform);
  const run = async (
    args: readonly string[],
    settings: readonly Setting[],
    { cwd, timeoutMs = TIMEOUT_MS, stdin = '', index, protocols }: GitOptions & { cwd: string },
  ) => {
    const ofIndex = index === undefined ? {} : { GIT_INDEX_FILE: index };
    const fetching = protocols === undefined ? {} : { GIT_ALLOW_PROTOCOL: protocols };
    const variables = { ...clean, ...asVariables(settings), ...ofIndex, ...fetching };
    const options = { cwd, env: variables, timeoutMs, stdin };
    return answerOf(await runCommand(program, ['--no-pager', ...args], options));
  };
  const settings = [...NEVER_RUN];
  for (const cwd of touched === undefined ? [directory] : [directory, touched]) {
    const list = ['config', '--list', '--name-only', '--show-scope', '-z'];
    const listed = await run(list, NEVER_RUN, { cwd });
    if (listed.kind === 'failed') return async () => listed;
    if (!listed.stdout.includes('command\0core.hookspath\0')) return async () => TOO_OLD;
    settings.push(...withoutFilters(listed.stdout));
  }
  return (args, options) => run(args, settings, { ...options, cwd: directory });
}

function failed(reason: string): GitAnswer {
  return { kind: 'failed', reason };
}

function answerOf(result: CommandResult): GitAnswer {
  if (result.kind === 'failed') return result;
  if (result.kind === 'timed-out') return failed('git took too long');
  const { code, stdout, stderr } = result;
  if (code !== 0) return failed(oneLine(stderr) || `git ended with exit code ${code}`);
  return stdout.length >= OUTPUT_BYTES_MAX ? failed('git printed too much') : { kind: 'ok', stdout };
}

/** Filters that the repository itself names are programs of its own; those of the user are the user's. */
function withoutFilters(listing: string): Setting[] {
  const words = listing.split('\0');
  const drivers = new Set<string>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const driver = /^filter\.(.+)\.[^.]+$/s.exec(words[at + 1] ?? '')?.[1];
    if (driver !== undefined && ['local', 'worktree'].includes(words[at] ?? '')) drivers.add(driver);
  }
  const without = { clean: '', smudge: '', process: '', required: 'false' };
  return [...drivers].flatMap((driver) =>
    Object.entries(without).map(([key, value]): Setting => [`filter.${driver}.${key}`, value]),
  );
}

function asVariables(settings: readonly Setting[]): Environment {
  const variables: Record<string, string> = {
    GIT_CONFIG_COUNT: String(settings.length),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    // Nothing is fetched: what is missing in a partial clone stays missing.
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    LC_ALL: 'C',
  };
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
