import type { Db } from './connection.ts';

/** The resolution that this project itself knows for exactly this error, and no other project's. */
export function ownResolution(normalizedError: string, projectPath: string, db: Db): string | undefined {
  const row = db.sqlite.get(
    `SELECT resolution FROM error_kb
     WHERE error_normalized = ? AND project_path = ? AND typeof(resolution) = 'text'`,
    normalizedError,
    projectPath,
  );
  return row === undefined ? undefined : String(row.resolution);
}
