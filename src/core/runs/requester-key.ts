import { fingerprint } from '../fingerprint.ts';
import { canonicalProjectPath, type GitProbe, getProjectName, isRepository } from '../project.ts';
import type { StatePaths } from '../state-paths.ts';

/** Who asks for runs: the main session of a project, under one name for all clients and worktrees of a repository. */

const LEVELS_MAX = 32;
const NAME_LENGTH_MAX = 40;
const PREFIX = 'agent:main:';

/** `agent:main:<name>-<hash>` of the repository that a directory is in, from any depth or worktree; outside of one of the directory itself. */
export function requesterKey(directory: string, git: GitProbe): string {
  const root = repositoryOf(canonicalProjectPath(directory, git), git);
  return `${PREFIX}${wordOf(getProjectName(root))}-${fingerprint(root)}`;
}

/** The agent that a session key belongs to: `main` in `agent:main:…`. */
export function agentOfKey(key: string): string {
  return key.split(':')[1] || 'main';
}

/** The file that stands while announcements wait for this requester. */
export function inboxMark(requester: string, { inboxMarks }: StatePaths): string {
  let name = '';
  const word = requester.startsWith(PREFIX) ? requester.slice(PREFIX.length) : requester;
  for (const letter of word) name += isPlain(letter) ? letter : '_';
  return `${inboxMarks}/${name}`;
}

function repositoryOf(path: string, git: GitProbe): string {
  let directory = path;
  for (let level = 0; level < LEVELS_MAX && directory !== ''; level++) {
    if (isRepository(directory, git)) return directory;
    const at = Math.max(directory.lastIndexOf('/'), directory.lastIndexOf('\\'));
    directory = directory.slice(0, Math.max(at, 0));
  }
  return path;
}

function wordOf(name: string): string {
  let word = '';
  for (const letter of name.toLowerCase()) {
    const next = isPlain(letter) ? letter : '-';
    if (next !== '-' || !word.endsWith('-')) word += next;
  }
  return word.slice(0, NAME_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'project';
}

function isPlain(letter: string): boolean {
  return (
    (letter >= 'a' && letter <= 'z') ||
    (letter >= '0' && letter <= '9') ||
    (letter >= 'A' && letter <= 'Z') ||
    letter === '-' ||
    letter === '_'
  );
}
