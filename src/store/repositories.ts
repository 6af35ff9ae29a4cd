import type { Db } from './connection.ts';

/** What of the knowledge base a project may be told: what its own repository taught, and what a person shares. */

/** A condition on rows of error_kb, with the one value that it takes. */
export type Scope = { readonly isOwn: boolean; readonly sql: string; readonly value: string };

const CLONES_MAX = 16;

/** The paths of other clones of the project's repository. A plain loop: SubagentStart asks this. */
export function otherClones(projectPath: string, db: Db): string[] {
  const rows = db.sqlite.all(
    `SELECT other.project_path AS path FROM repositories AS own JOIN repositories AS other USING (repository)
     WHERE own.project_path = ? AND repository <> '' AND other.project_path <> own.project_path LIMIT ?`,
    projectPath,
    CLONES_MAX,
  );
  const paths: string[] = [];
  for (const { path } of rows) paths.push(String(path));
  return paths;
}

/** What a project may be told, its own first. Without a project it is what no project has taught. */
export function tellableScopes(projectPath: string | null, db: Db): Scope[] {
  const own = projectPath ?? '';
  const paths = JSON.stringify([own, ...otherClones(own, db)]);
  const ofPaths = 'project_path IN (SELECT value FROM json_each(?))';
  const scopes: Scope[] = [{ isOwn: true, sql: ofPaths, value: paths }];
  const isAnyShared = db.sqlite.get('SELECT 1 FROM error_kb WHERE shared = resolution LIMIT 1') !== undefined;
  if (isAnyShared) scopes.push({ isOwn: false, sql: `shared = resolution AND NOT ${ofPaths}`, value: paths });
  return scopes;
}

/** Whether somebody has looked of which repository this path is a clone. */
export function isRepositoryKnown(projectPath: string, db: Db): boolean {
  return db.sqlite.get('SELECT 1 FROM repositories WHERE project_path = ?', projectPath) !== undefined;
}

/** Notes of which repository a path is a clone; an empty name: of none that could have another. */
export function noteRepository(projectPath: string, repository: string, db: Db): void {
  db.sqlite.run(
    `INSERT INTO repositories(project_path, repository) VALUES (?, ?)
     ON CONFLICT(project_path) DO UPDATE SET repository = excluded.repository WHERE repository <> excluded.repository`,
    projectPath,
    repository,
  );
}

/** Shares a lesson with every project, or takes that back. False: there is nothing to tell of this error. */
export function setShared(id: number, isShared: boolean, db: Db): boolean {
  const { changes } = db.sqlite.run(
    `UPDATE error_kb SET shared = ${isShared ? 'resolution' : 'NULL'} WHERE id = ?${isShared ? " AND typeof(resolution) = 'text'" : ''}`,
    id,
  );
  return changes > 0;
}
