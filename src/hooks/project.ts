import { pathExists, readTextFile } from '#runtime';
import {
  canonicalProjectPath,
  getProjectName,
  getProjectPath,
  projectPathSpellings,
} from '../core/project.ts';
import type { Environment } from '../core/state-paths.ts';
import type { Project } from './decision.ts';

/** The project of what happens in a directory, for a hook with this environment. */
export function projectAt(cwd: string | undefined, env: Environment): Project {
  const given = getProjectPath(cwd, env);
  if (given === null) return { name: getProjectName(null), path: null, spellings: [] };
  const path = canonicalProjectPath(given, { readTextFile, pathExists });
  return { name: getProjectName(path), path, spellings: projectPathSpellings(path, given) };
}
