import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { lookOr } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { realPath } from '../system/atomic-file.ts';
import { findProgram } from '../system/run-command.ts';
import { type CheckWorld, type Finding, ok, skipped, warning } from './checks.ts';
import type { Work } from './file-plan.ts';
import { knownManifest, locate, type Place } from './manifest.ts';

/** That the command is found by its name: a link in a directory of the user's that is on the PATH. */

const NAME = 'self-generation';
/** Below the user's home, and nobody else's: what other tools keep their programs in is theirs. */
const DIRECTORIES = ['.local/bin', 'bin'];

/** Where the command stands on the PATH. */
export type CommandState =
  | { readonly kind: 'found'; readonly path: string }
  /** Another program has its name, and is found first. */
  | { readonly kind: 'other'; readonly path: string }
  | { readonly kind: 'missing' };

export type CommandReport = {
  readonly state: CommandState;
  /** The link that is ours; undefined where there is none. */
  readonly link?: LinkRecord;
  /** Directories that were made for it, outermost first. */
  readonly directories: readonly string[];
};

/** A link of ours, as the manifest has it. */
export type LinkRecord = { readonly path: string; readonly target: string };

type Shell = Pick<Place, 'env' | 'platform' | 'paths'>;

/** Whether the shell finds the installed program by its name. */
export function commandState({ env, platform, paths }: Shell): CommandState {
  const path = findProgram(NAME, env, platform);
  if (path === undefined) return { kind: 'missing' };
  return { kind: realPath(path) === realPath(paths.binary) ? 'found' : 'other', path };
}

/** How the user calls the installed program: by its name where that works, else with the whole path. */
export function commandWord({ env, platform, paths }: Shell): string {
  return programWord(paths.binary, env, platform);
}

/** The same of any program of ours. */
export function programWord(program: string, env: Environment, platform: string): string {
  const found = findProgram(NAME, env, platform);
  if (found !== undefined && realPath(found) === realPath(program)) return NAME;
  return /[^\w./:\\-]/.test(program) ? `"${program}"` : program;
}

/**
 * Links the program where the PATH leads to, unless it is found there already or `isWanted` is false; what is not ours is
 * never replaced. No failure of an install: without a link the command is missing.
 */
export function linkCommand(place: Place, isWanted: boolean, work: Work): CommandReport {
  const known = knownManifest(place.paths.manifest)?.link;
  const state = commandState(place);
  const standing = known !== undefined && targetOf(known.path) === known.target ? known : undefined;
  // Where its program is to be put, or was before.
  const isCurrent = standing?.target === place.paths.binary;
  if (state.kind !== 'missing' || !isWanted || place.platform === 'win32' || isCurrent)
    return { state, directories: [], ...(standing && { link: standing }) };
  for (const directory of directoriesOnPath(place)) {
    const path = join(directory, NAME);
    const target = targetOf(path);
    const isOurs = target === place.paths.binary || path === standing?.path;
    if (target === place.paths.binary) return { state: { kind: 'found', path }, directories: [] };
    if (!isOurs && lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    const directories = lookOr(() => makeLink(path, place.paths.binary, work), undefined);
    if (directories === undefined) continue;
    const change = isOurs ? 'updated' : 'created';
    work.steps.push({ what: 'link', path, change, note: `so that your shell finds ${NAME}` });
    return { state: { kind: 'found', path }, link: { path, target: place.paths.binary }, directories };
  }
  return { state, directories: [], ...(standing && { link: standing }) };
}

function targetOf(path: string): string | undefined {
  return lookOr(() => readlinkSync(path), undefined);
}

/** Those on the PATH that the user alone writes to, or that may be made. */
function directoriesOnPath({ env, userHome }: Place): string[] {
  if (userHome === undefined) return [];
  const onPath = (env.PATH ?? '').split(delimiter).map((entry) => entry.replace(/\/+$/, ''));
  const own = DIRECTORIES.map((name) => join(userHome, name));
  return own.filter((directory) => onPath.includes(directory) && isUsersOwn(nearest(directory, userHome)));
}

function nearest(directory: string, userHome: string): string {
  const isThere = lstatSync(directory, { throwIfNoEntry: false }) !== undefined;
  return isThere || directory === userHome ? directory : nearest(dirname(directory), userHome);
}

const WRITABLE_BY_OTHERS = 0o002;

function isUsersOwn(directory: string): boolean {
  return lookOr(() => {
    const { uid, mode } = statSync(directory);
    accessSync(directory, constants.W_OK | constants.X_OK);
    return (
      statSync(directory).isDirectory() && uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0
    );
  }, false);
}

/** Returns the directories that were made for it, outermost first. @throws Error from the system */
function makeLink(path: string, target: string, { dryRun, undo }: Work): string[] {
  if (dryRun) return [];
  const missing: string[] = [];
  for (let at = dirname(path); !statSync(at, { throwIfNoEntry: false }); at = dirname(at))
    missing.unshift(at);
  for (const directory of missing) {
    mkdirSync(directory);
    undo.push(() => rmdirSync(directory));
  }
  if (targetOf(path) !== undefined) rmSync(path);
  symlinkSync(target, path);
  undo.push(() => rmSync(path));
  return missing;
}

/** The line that puts the program's directory on the PATH, for the user's shell. */
export function pathLine({
  env,
  platform,
  paths,
  userHome,
}: Pick<Place, 'env' | 'platform' | 'paths' | 'userHome'>): string {
  if (platform === 'win32') {
    const path = `[Environment]::GetEnvironmentVariable('Path', 'User')`;
    return `[Environment]::SetEnvironmentVariable('Path', ${path} + ';${paths.hooks.replaceAll("'", "''")}', 'User')`;
  }
  const isBelow = userHome !== undefined && paths.hooks.startsWith(`${userHome}/`);
  const rest = (isBelow ? paths.hooks.slice(userHome.length) : paths.hooks).replace(/["$`\\]/g, '\\$&');
  const directory = `${isBelow ? '$HOME' : ''}${rest}`;
  const shell = basename(env.SHELL ?? '');
  if (shell === 'fish') return `fish_add_path "${directory}"`;
  const line = `export PATH="${directory}:$PATH"`;
  const file = profileOf(shell, platform);
  return file === undefined ? line : `echo '${line.replaceAll("'", `'\\''`)}' >> ~/${file}`;
}

function profileOf(shell: string, platform: string): string | undefined {
  if (shell === 'zsh') return '.zshrc';
  if (shell !== 'bash') return undefined;
  return platform === 'darwin' ? '.bash_profile' : '.bashrc';
}

/** Takes the link away again, as long as it is the one that install made. */
export function removeLink({ path, target }: LinkRecord, { dryRun, steps }: Omit<Work, 'undo'>): void {
  if (targetOf(path) !== target) return;
  if (!dryRun) rmSync(path);
  steps.push({ what: 'link', path, change: 'removed' });
}

/** Whether the shell finds the command by its name. */
export function checkCommand({
  env,
  platform,
  paths,
}: Pick<CheckWorld, 'env' | 'platform' | 'paths'>): Finding {
  const place = locate(env, platform);
  if (place.kind === 'failed') return skipped(place.reason);
  const state = commandState({ env, platform, paths });
  if (state.kind === 'found') return ok(`${NAME} is ${state.path}`);
  // No hook needs it, and whoever installs with --no-link wants it so.
  if (state.kind === 'missing')
    return {
      ...skipped(`your shell does not find ${NAME} by its name`),
      remedy: `To have that: ${pathLine(place)}`,
    };
  return warning(
    `your shell finds another ${NAME} first: ${state.path}`,
    'Remove that, or put its directory behind',
  );
}
