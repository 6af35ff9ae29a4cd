import { inertText } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import type { Db } from './connection.ts';

/** What of the knowledge base a project may be told: what its own repository taught, and what a person shares. */

/** A condition on rows of error_kb, with the one value that it takes. */
export type Scope = { readonly isOwn: boolean; readonly sql: string; readonly value: string };

export type Beyond = {
  /** The paths of other clones of the project's repository. */
  readonly clones: readonly string[];
  /** The rows that a person shares of other repositories. */
  readonly shared: readonly number[];
};

/** Mostly it gives no row, and is the one more query that SubagentStart makes. */
const BEYOND = `SELECT project_path AS path, NULL AS id FROM repositories
  WHERE repository = (SELECT repository FROM repositories WHERE project_path = ?)
  UNION ALL SELECT project_path, id FROM error_kb WHERE shared = resolution LIMIT 64`;

/** What a project with these spellings of its path may be told beyond what stands under them. */
export function beyondOwn(spellings: readonly string[], db: Db): Beyond {
  const clones: string[] = [];
  const shared: number[] = [];
  for (const { path, id } of db.sqlite.all(BEYOND, spellings[0] ?? '')) {
    const place = String(path);
    if (spellings.includes(place) || clones.includes(place)) continue;
    if (id === null) clones.push(place);
    else shared.push(Number(id));
  }
  return { clones, shared };
}

const NAME_LENGTH_MAX = 60;

/** The name of a project, by its path in a row, as it may stand in a context. */
export function originOf(projectPath: unknown): string {
  return inertText(getProjectName(String(projectPath)), NAME_LENGTH_MAX);
}

/** What a project may be told, its own first. Without a project its own is what no project has taught. */
export function tellableScopes(projectPath: string | null, db: Db): Scope[] {
  const own = projectPath ?? '';
  const { clones, shared } = beyondOwn([own], db);
  const among = 'IN (SELECT value FROM json_each(?))';
  const scopes = [{ isOwn: true, sql: `project_path ${among}`, value: JSON.stringify([own, ...clones]) }];
  if (shared.length > 0) scopes.push({ isOwn: false, sql: `+id ${among}`, value: JSON.stringify(shared) });
  return scopes;
}
