import type { Db } from './connection.ts';

/** Where lessons come from, and which of them go everywhere: what hooks read by tellable.ts, written. */

/** Whether somebody has looked of which repository this path is a clone. */
export function isRepositoryKnown(projectPath: string, db: Db): boolean {
  return db.sqlite.get('SELECT 1 FROM repositories WHERE project_path = ?', projectPath) !== undefined;
}

/** Notes of which repository a path is a clone; null: of none that could have another. */
export function noteRepository(projectPath: string, repository: string | null, db: Db): void {
  db.sqlite.run(
    `INSERT INTO repositories(project_path, repository) VALUES (?, ?)
     ON CONFLICT(project_path) DO UPDATE SET repository = excluded.repository WHERE repository IS NOT excluded.repository`,
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

/** The rows of the same error in all clones of its repository, itself among them. */
export function sameInClones(id: number, db: Db): number[] {
  const rows = db.sqlite.all(
    `SELECT other.id FROM error_kb AS own JOIN repositories AS a ON a.project_path = own.project_path
       JOIN repositories AS b ON b.repository = a.repository
       JOIN error_kb AS other ON other.error_normalized = own.error_normalized AND other.project_path = b.project_path
     WHERE own.id = ?`,
    id,
  );
  return [...new Set([id, ...rows.map((row) => Number(row.id))])];
}
