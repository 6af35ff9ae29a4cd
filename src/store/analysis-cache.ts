import { isRecord, type Json, parseJson } from '../core/guards.ts';
import type { Db } from './db.ts';

/** A suggestion of an analysis; the model wrote it, so nothing about it is certain. */
export type Suggestion = Json;

export type Analysis = { readonly ts: string; readonly suggestions: readonly Suggestion[] };

export type CachedAnalysisQuery = { readonly projectPath: string | null; readonly now: Date };

const MS_PER_HOUR = 3_600_000;

/**
 * The project's newest analysis of the last `hours` hours, else the newest global one, else null (REQ-AA-006).
 * A row with a path belongs to that path; one without is found by the project's name.
 */
export function getCachedAnalysis(
  hours: number,
  project: string,
  { projectPath, now }: CachedAnalysisQuery,
  db: Db,
): Analysis | null {
  if (!db.shape.has('analysis_cache', 'analysis') || !db.shape.has('analysis_cache', 'ts')) return null;
  const since = new Date(now.getTime() - hours * MS_PER_HOUR).toISOString();
  const name = db.shape.has('analysis_cache', 'project') ? 'project' : "'all'";
  const path = db.shape.has('analysis_cache', 'project_path') ? 'project_path' : 'NULL';
  for (const wanted of [project, 'all']) {
    const row = db.sqlite.get(
      `SELECT ts, analysis FROM analysis_cache
       WHERE ${name} = ? AND ts >= ? AND (${path} IS NULL OR ${path} = ?) ORDER BY ts DESC, rowid DESC LIMIT 1`,
      wanted,
      since,
      projectPath,
    );
    const analysis = typeof row?.analysis === 'string' ? parseJson(row.analysis) : undefined;
    if (isRecord(analysis) && Array.isArray(analysis.suggestions)) {
      return { ts: String(row?.ts), suggestions: analysis.suggestions.filter(isRecord) };
    }
  }
  return null;
}
