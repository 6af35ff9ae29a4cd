import type { Db } from '../../database/connection.ts';
import type { Row } from '../../database/sqlite.ts';
import type { NamesThatDiffer } from '../errors/error-names.ts';
import { originOf, type Scope, tellableScopes } from './told-lessons.ts';

export type KnownError = {
  readonly id: number;
  readonly errorNormalized: string;
  /** The telling line as it was printed, when that is known. */
  readonly said: string | null;
  readonly resolution: string;
  readonly useCount: number;
  /** The project that taught it, where a person shares it; null for the own project's. */
  readonly origin: string | null;
  /** The names in which it differs from the error that was asked about: then it is only alike. */
  readonly differing?: NamesThatDiffer | undefined;
};

/**
 * The resolution that is known for exactly this error, the most used one (RA-402): what this repository has learnt, else
 * what a person shares of another. Undefined when there is none.
 */
export function findResolution(
  normalizedError: string,
  projectPath: string | null,
  db: Db,
): KnownError | undefined {
  if (!db.shape.has('error_kb', 'resolution') || !db.shape.has('error_kb', 'error_normalized'))
    return undefined;
  const scopes = db.isOwn ? tellableScopes(projectPath, db) : [foreignScope(projectPath, db)];
  const most = db.shape.has('error_kb', 'use_count') ? 'use_count' : 'NULL';
  for (const scope of scopes) {
    const row = db.sqlite.get(
      `SELECT *, rowid AS id, ${most} AS use_count FROM error_kb
       WHERE error_normalized = ? AND typeof(resolution) = 'text' AND ${scope.sql} ORDER BY ${most} DESC LIMIT 1`,
      normalizedError,
      scope.value,
    );
    if (row !== undefined) return knownError(row, scope);
  }
  return undefined;
}

/** What an earlier implementation left and nobody has taken over yet may not say of which project it is. */
function foreignScope(projectPath: string | null, db: Db): Scope {
  const sql = db.shape.has('error_kb', 'project_path')
    ? "COALESCE(project_path, '') IN (?, '')"
    : '? IS NOT NULL';
  return { isOwn: true, sql, value: projectPath ?? '' };
}

/** A row of error_kb within this scope. */
export function knownError(row: Row, { isOwn }: Scope): KnownError {
  return {
    id: Number(row.id),
    errorNormalized: String(row.error_normalized),
    said: typeof row.said === 'string' ? row.said : null,
    resolution: String(row.resolution),
    useCount: Number(row.use_count ?? 0),
    origin: isOwn ? null : originOf(row.project_path),
  };
}
