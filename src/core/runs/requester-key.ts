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
  const word = requester.startsWith(PREFIX) ? requester.slice(PREFIX.length) : requester;
  return `${inboxMarks}/${word.replace(/[^\w-]/gu, '_')}`;
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
  const word = name.toLowerCase().replace(/\W+/g, '-');
  return word.slice(0, NAME_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'project';
}
