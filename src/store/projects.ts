import type { Db } from './connection.ts';

export type KnownProject = { readonly name: string; readonly path: string; readonly events: number };

/** The projects of which something is recorded, the largest first. */
export function listProjects(db: Db): KnownProject[] {
  if (!db.shape.has('events', 'project_path')) return [];
  return db.sqlite
    .all(
      `SELECT project_path AS path, MAX(project) AS name, COUNT(*) AS events FROM events
       WHERE project_path IS NOT NULL GROUP BY project_path ORDER BY events DESC`,
    )
    .map(({ path, name, events }) => ({ name: String(name), path: String(path), events: Number(events) }));
}

/** Whether anything is recorded of this path. */
export function isRecorded(projectPath: string, db: Db): boolean {
  if (!db.shape.has('events', 'project_path')) return false;
  return db.sqlite.get('SELECT 1 FROM events WHERE project_path = ? LIMIT 1', projectPath) !== undefined;
}
