import { isRecord, type Json, parseJson } from '../core/guards.ts';
import type { Db } from './connection.ts';
import type { Row } from './sqlite.ts';

export type Analysis = {
  readonly ts: string;
  /** Empty when the row belongs to no path. */
  readonly projectPath: string;
  /** As a model wrote them: nothing about them is certain. */
  readonly suggestions: readonly Json[];
};

const MS_PER_HOUR = 3_600_000;
const ROWS_MAX = 5;

/**
 * The project's newest analysis of the last `hours` hours, else the newest global one, else null (REQ-AA-006).
 * A row with a path belongs to that path; one without is found by the project's name.
 */
export function getCachedAnalysis(
  hours: number,
  project: string,
  { projectPath, now }: { readonly projectPath: string | null; readonly now: Date },
  db: Db,
): Analysis | null {
  if (!db.shape.has('analysis_cache', 'analysis') || !db.shape.has('analysis_cache', 'ts')) return null;
  const since = new Date(now.getTime() - hours * MS_PER_HOUR).toISOString();
  const name = db.shape.has('analysis_cache', 'project') ? 'project' : "'all'";
  const path = db.shape.has('analysis_cache', 'project_path') ? 'project_path' : 'NULL';
  const statement = `SELECT ts, analysis, ${path} AS path FROM analysis_cache
    WHERE ${name} = ? AND ts >= ? AND (${path} IS NULL OR ${path} = ?) ORDER BY ts DESC, rowid DESC LIMIT ?`;
  for (const wanted of [project, 'all']) {
    for (const row of db.sqlite.all(statement, wanted, since, projectPath, ROWS_MAX)) {
      const analysis = readAnalysis(row);
      if (analysis) return analysis;
    }
  }
  return null;
}

/** A row that holds no analysis, somebody else's or damaged, does not hide the one before it. */
function readAnalysis({ ts, analysis, path }: Row): Analysis | undefined {
  const parsed = typeof analysis === 'string' ? parseJson(analysis) : undefined;
  if (!isRecord(parsed) || !Array.isArray(parsed.suggestions)) return undefined;
  const suggestions: Json[] = [];
  for (const suggestion of parsed.suggestions) if (isRecord(suggestion)) suggestions.push(suggestion);
  return { ts: String(ts), projectPath: typeof path === 'string' ? path : '', suggestions };
}
