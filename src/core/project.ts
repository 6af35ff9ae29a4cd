import type { Environment } from './state-paths.ts';

/** The last segment of a project's path, for display; `unknown` when there is none. Both separators count. */
export function getProjectName(projectPath: string | null | undefined): string {
  const trimmed = trimPath(projectPath ?? '');
  return trimmed.slice(lastSeparator(trimmed) + 1) || 'unknown';
}

/** The project that a hook was called for: `CLAUDE_PROJECT_DIR`, else the event's `cwd` (REQ-DC-012). */
export function getProjectPath(cwd: string | undefined, env: Environment): string | null {
  return env.CLAUDE_PROJECT_DIR || cwd || null;
}

/** What the file system says about `.git` at a path: its text when it is a file, whether anything is there. */
export type GitProbe = {
  readonly readTextFile: (path: string) => string | undefined;
  readonly pathExists: (path: string) => boolean;
};

const LEVELS_MAX = 32;

/**
 * Whether git has its place here. An empty `.git` is none: sandboxes put one into the directory of a command, so that the
 * command cannot make one, for as long as it runs.
 */
export function isRepository(directory: string, git: GitProbe): boolean {
  const marker = `${directory}/.git`;
  return git.pathExists(`${marker}/HEAD`) || (git.readTextFile(marker) ?? '').startsWith('gitdir: ');
}

/**
 * One name for one project: no trailing separator, an upper-case drive letter, and for a git worktree the same place
 * in the main working tree, so that all worktrees of a repository share what was learned.
 */
export function canonicalProjectPath(path: string, git: GitProbe): string {
  const trimmed = trimPath(path);
  let directory = trimmed;
  for (let level = 0; level < LEVELS_MAX && directory !== ''; level++) {
    const marker = `${directory}/.git`;
    if (git.pathExists(marker)) {
      const main = mainWorkingTree(directory, git);
      return main === undefined
        ? (removedWorktree(trimmed, git) ?? trimmed)
        : main + trimmed.slice(directory.length);
    }
    directory = parentDirectory(directory);
  }
  return removedWorktree(trimmed, git) ?? trimmed;
}

/** Where clients and people put worktrees: one that is gone says no more itself where it belonged. */
function removedWorktree(path: string, git: GitProbe): string | undefined {
  if (!path.includes('worktrees')) return undefined;
  const main = /^(.+?)[\\/]\.(?:claude[\\/])?worktrees[\\/][^\\/]/.exec(path)?.[1];
  return main === undefined || git.pathExists(path) ? undefined : trimPath(main);
}

/** The spellings under which rows of this project may stand in a database, most likely first. */
export function projectPathSpellings(canonical: string, given: string): string[] {
  const spellings = [canonical];
  for (const spelling of [trimPath(given), given, `${canonical}/`]) {
    if (!spellings.includes(spelling)) spellings.push(spelling);
  }
  return spellings;
}

/**
 * `/repo/.git/worktrees/name` in the `.git` file of `directory` means that `/repo` is the main working tree, if that
 * place names this file in turn: anybody can write such a file, but not the other one. Git writes forward slashes on
 * Windows too; the answer has the separators of `directory`.
 */
function mainWorkingTree(directory: string, git: GitProbe): string | undefined {
  const marker = `${directory}/.git`;
  const target = /^gitdir: (.+)$/m.exec(git.readTextFile(marker) ?? '')?.[1]?.trim() ?? '';
  const isAbsolute = /^(?:[\\/]|[A-Za-z]:)/.test(target);
  const absolute = (isAbsolute ? target : resolvePath(directory, target)) ?? '';
  const main = /^(.+)[\\/]\.git[\\/]worktrees[\\/][^\\/]+$/.exec(absolute)?.[1];
  if (main === undefined) return undefined;
  const back = git.readTextFile(`${absolute}/gitdir`)?.trim() ?? '';
  if (!isSamePath(back, marker) && !isSamePath(resolvePath(absolute, back) ?? '', marker)) return undefined;
  return trimPath(directory.includes('\\') ? main.replaceAll('/', '\\') : main);
}

function isSamePath(left: string, right: string): boolean {
  return trimPath(left).replaceAll('\\', '/') === trimPath(right).replaceAll('\\', '/');
}

/** The path that is `relative` to an absolute directory, or undefined when it leads out of the root. */
function resolvePath(directory: string, relative: string): string | undefined {
  const segments = directory.split(/[\\/]/);
  for (const segment of relative.split(/[\\/]/)) {
    if (segment === '..') segments.pop();
    else if (segment !== '.') segments.push(segment);
    if (segments.length === 0) return undefined;
  }
  return segments.join('/');
}

function trimPath(path: string): string {
  let end = path.length;
  while (end > 1 && lastSeparator(path.slice(0, end)) === end - 1) end--;
  const trimmed = path.slice(0, end);
  const hasSmallDrive = trimmed[1] === ':' && trimmed.charCodeAt(0) >= 0x61 && trimmed.charCodeAt(0) <= 0x7a;
  return hasSmallDrive ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
}

function lastSeparator(path: string): number {
  return Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
}

function parentDirectory(directory: string): string {
  const at = lastSeparator(directory);
  return at <= 0 ? '' : directory.slice(0, at);
}

/** The file relative to the project with forward slashes, or as it is when it lies outside. */
export function relativeFile(file: string, projectPath: string | null): string {
  const normal = trimPath(file).replaceAll('\\', '/');
  const root = trimPath(projectPath ?? '').replaceAll('\\', '/');
  const prefix = root.endsWith('/') ? root : `${root}/`;
  return root !== '' && normal.startsWith(prefix) ? normal.slice(prefix.length) : normal;
}
