import type { Db } from '../../database/connection.ts';
import type { Project } from '../decision.ts';

/** A database and the project about which it is asked. */
type ProjectDb = { readonly project: Project; readonly db: Db };

/** Whether a project still meets an error: it is open, or came back in another session. */
export function isOfInterest(error: string, project: Project, db: Db): boolean {
  if (!db.shape.has('error_kb', 'state')) return true;
  const row = db.sqlite.get(
    'SELECT state, sessions FROM error_kb WHERE error_normalized = ? AND project_path = ?',
    error,
    project.path ?? '',
  );
  return (
    row === undefined ||
    row.state === null ||
    row.state === 'open' ||
    (row.state === 'solved' && Number(row.sessions) > 1)
  );
}

/** The rules that the user applied, of this project and of all, the newest first; at most `limit` rows are looked at. */
export function appliedRules({ project, db }: ProjectDb, limit: number): string[] {
  const rules: string[] = [];
  if (!db.shape.has('suggestions', 'status')) return rules;
  const rows = db.sqlite.all(
    `SELECT text FROM suggestions WHERE project_path IN (?, '') AND status = 'applied' AND type = 'claude_md'
       AND (project_path <> '' OR project IN ('all', ?)) ORDER BY decided_ts DESC LIMIT ?`,
    project.path ?? '',
    project.name,
    limit,
  );
  for (const { text } of rows) if (typeof text === 'string' && !rules.includes(text)) rules.push(text);
  return rules;
}

/**
 * Whether the user has not agreed to this rule. What our own analysis proposed has to be applied first; a rule that
 * somebody else put into the cache is taken as RA-403 says until it is dismissed.
 */
export function isWithheld(id: unknown, rule: string, { project, db }: ProjectDb): boolean {
  if (!db.shape.has('suggestions', 'status')) return false;
  const row = db.sqlite.get(
    `SELECT 1 FROM suggestions WHERE project_path IN (?, '') AND status <> 'applied'
       AND (origin <> 'cache' OR status = 'dismissed') AND (id = ? OR (type = 'claude_md' AND text = ?)) LIMIT 1`,
    project.path ?? '',
    typeof id === 'string' ? id : '',
    rule,
  );
  return row !== undefined;
}
