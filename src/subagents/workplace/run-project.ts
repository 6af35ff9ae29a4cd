import { canonicalProjectPath, getProjectName, projectPathSpellings } from '../../core/project.ts';
import type { Project } from '../../hooks/decision.ts';
import { pathExists, readTextFile } from '../../sys/runtime-bun.ts';

/** The project of a directory as the hooks know it: one for all worktrees of a repository. */
export function projectOfDirectory(directory: string): Project & { readonly path: string } {
  const path = canonicalProjectPath(directory, { readTextFile, pathExists });
  return { name: getProjectName(path), path, spellings: projectPathSpellings(path, directory) };
}
