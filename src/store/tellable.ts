import { inertText } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import type { Db } from './connection.ts';

/** What of the knowledge base a project may be told: what its own repository taught, and what a person shares. */

/** A condition on rows of error_kb, with the one value that it takes. */
export type Scope = { readonly isOwn: boolean; readonly sql: string; readonly value: string };

/** The paths of other clones of the project's repository. A plain loop: SubagentStart asks this. */
export function otherClones(projectPath: string, db: Db): string[] {
  const paths: string[] = [];
  for (const { path } of db.sqlite.all(OTHER_CLONES, projectPath)) paths.push(String(path));
  return paths;
}

const OTHER_CLONES = `SELECT b.project_path AS path FROM repositories a JOIN repositories b USING (repository)
  WHERE a.project_path = ? AND b.project_path <> a.project_path LIMIT 16`;

const NAME_LENGTH_MAX = 60;

/** The name of a project, by its path in a row, as it may stand in a context. */
export function originOf(projectPath: unknown): string {
  return inertText(getProjectName(String(projectPath)), NAME_LENGTH_MAX);
}

/** What a project may be told, its own first. Without a project its own is what no project has taught. */
export function tellableScopes(projectPath: string | null, db: Db): Scope[] {
  const own = projectPath ?? '';
  const value = JSON.stringify([own, ...otherClones(own, db)]);
  const sql = 'project_path IN (SELECT value FROM json_each(?))';
  const scopes = [{ isOwn: true, sql, value }];
  if (db.sqlite.get('SELECT 1 FROM error_kb WHERE shared = resolution LIMIT 1'))
    scopes.push({ isOwn: false, sql: `shared = resolution AND NOT ${sql}`, value });
  return scopes;
}
