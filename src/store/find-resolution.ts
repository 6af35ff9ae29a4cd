import type { Db } from './connection.ts';
import type { Row } from './sqlite.ts';

export type KnownError = {
  readonly id: number;
  readonly errorNormalized: string;
  /** The telling line as it was printed, when that is known. */
  readonly said: string | null;
  readonly resolution: string;
  readonly useCount: number;
};

/**
 * The resolution that is known for exactly this error, the most used one (RA-402): what this project has learnt, or what
 * belongs to none. What another project has learnt is told there only. Undefined when there is none.
 */
export function findResolution(
  normalizedError: string,
  projectPath: string | null,
  db: Db,
): KnownError | undefined {
  if (!db.shape.has('error_kb', 'resolution') || !db.shape.has('error_kb', 'error_normalized'))
    return undefined;
  const own = db.shape.has('error_kb', 'project_path')
    ? "COALESCE(project_path, '') IN (?, '')"
    : '? IS NOT NULL';
  const most = db.shape.has('error_kb', 'use_count') ? 'use_count' : 'NULL';
  const row = db.sqlite.get(
    `SELECT rowid AS id, error_normalized, resolution, ${most} AS use_count FROM error_kb
     WHERE error_normalized = ? AND typeof(resolution) = 'text' AND ${own} ORDER BY ${most} DESC LIMIT 1`,
    normalizedError,
    projectPath ?? '',
  );
  return row && knownError(row);
}

/** A row of error_kb with id, error_normalized, resolution and use_count. */
export function knownError(row: Row): KnownError {
  return {
    id: Number(row.id),
    errorNormalized: String(row.error_normalized),
    said: typeof row.said === 'string' ? row.said : null,
    resolution: String(row.resolution),
    useCount: Number(row.use_count ?? 0),
  };
}
