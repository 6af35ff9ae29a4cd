import type { Db } from '../database/connection.ts';
import { type Row, recordIn, textIn } from '../database/sqlite.ts';
import { readDetails, SUGGESTION_TYPES } from './model/suggestion.ts';

/** The project that a report is about; all of them without a path. */
type FeedbackScope = { readonly name: string; readonly path: string | null };

/** Suggestions of the project and of none; one without a path is known by its project's name. */
const OF_PROJECT = "(s.project_path = ? OR (s.project_path = '' AND s.project IN (?, 'all')))";

const RECENT_MAX = 10;
const RULES_MAX = 20;
const WINDOW_DAYS_MAX = 14;
const MS_PER_DAY = 86_400_000;

export type FeedbackSummary = NonNullable<ReturnType<typeof feedbackSummary>>;

/**
 * What became of earlier suggestions, for the next analysis (REQ-SE-102); null as long as the user has not
 * decided on anything. A verdict that was taken back does not count.
 */
export function feedbackSummary(scope: FeedbackScope, db: Db) {
  // The predecessor's rows name no suggestion that is known, and so no project either.
  const ofScope = scope.path === null ? '1' : OF_PROJECT;
  const verdicts = db.sqlite.all(
    `SELECT f.action, f.suggestion_type AS type,
       COALESCE(CASE WHEN s.type = 'lesson' THEN s.text END, s.summary, f.summary, f.suggestion_id) AS summary, s.why
     FROM feedback AS f LEFT JOIN suggestions AS s ON s.id = f.suggestion_id
     WHERE f.id IN (SELECT MAX(id) FROM feedback GROUP BY suggestion_id) AND f.action <> 'undone' AND ${ofScope}
     ORDER BY f.id DESC`,
    ...(scope.path === null ? [] : [scope.path, scope.name]),
  );
  if (verdicts.length === 0) return null;
  const accepted = verdicts.filter((verdict) => verdict.action === 'accepted');
  const rejected = verdicts.filter((verdict) => verdict.action !== 'accepted');
  const types = [...new Set(verdicts.map(typeOf))].sort();
  const countOf = (rows: typeof verdicts, type: string) => rows.filter((row) => typeOf(row) === type).length;
  return {
    accepted: accepted.length,
    rejected: rejected.length,
    rate: accepted.length / verdicts.length,
    byType: Object.fromEntries(
      types.map((type) => [type, { accepted: countOf(accepted, type), rejected: countOf(rejected, type) }]),
    ),
    recentRejections: rejected
      .slice(0, RECENT_MAX)
      .map(({ summary, why }) => ({ summary: String(summary), why: textIn(why) || null })),
    recentAcceptances: accepted.slice(0, RECENT_MAX).map(({ summary }) => String(summary)),
  };
}

function typeOf({ type }: Row): string {
  return SUGGESTION_TYPES.find((one) => one === type) ?? 'unknown';
}

/**
 * How often the errors of each applied rule happened, in equal numbers of days before and after it; a rule of
 * today has none yet. Days are whole, so that the same log gives the same numbers all day long. About one
 * project, only what happened there counts.
 */
export function ruleEffects(scope: FeedbackScope, now: Date, db: Db) {
  const rules = appliedRules(scope, now, db);
  const byPath = Map.groupBy(rules, ({ projectPath }) => projectPath);
  const errors = new Map([...byPath].map(([path, ofPath]) => [path, errorTimes(ofPath, path, db)]));
  return rules.map(({ id, rule, errors: named, projectPath, appliedMs, windowMs }) => {
    const times = named.flatMap((error) => errors.get(projectPath)?.get(error) ?? []);
    const count = (fromMs: number) => times.filter((ms) => ms >= fromMs && ms < fromMs + windowMs).length;
    return {
      id,
      rule,
      appliedTs: new Date(appliedMs).toISOString(),
      windowDays: windowMs / MS_PER_DAY,
      before: count(appliedMs - windowMs),
      after: count(appliedMs),
    };
  });
}

type AppliedRule = ReturnType<typeof appliedRules>[number];

/** The newest rules that name errors. `projectPath`: whose errors count; null: those of all projects. */
function appliedRules(scope: FeedbackScope, now: Date, db: Db) {
  const rows = db.sqlite.all(
    `SELECT s.id, s.text, s.details, s.decided_ts, s.project_path FROM suggestions AS s
     WHERE s.type = 'claude_md' AND s.status = 'applied' AND ${scope.path === null ? '1' : OF_PROJECT}
     ORDER BY s.decided_ts DESC LIMIT ?`,
    ...(scope.path === null ? [] : [scope.path, scope.name]),
    RULES_MAX,
  );
  return rows.flatMap((row) => {
    const errors = [...new Set(readDetails(recordIn(row.details)).errors)];
    const appliedMs = Date.parse(String(row.decided_ts));
    const windowDays = Math.min(Math.floor((now.getTime() - appliedMs) / MS_PER_DAY), WINDOW_DAYS_MAX);
    if (errors.length === 0 || !(windowDays >= 1)) return [];
    const ofRule = row.project_path === '' ? null : String(row.project_path);
    const projectPath = scope.path ?? ofRule;
    const windowMs = windowDays * MS_PER_DAY;
    return [{ id: String(row.id), rule: String(row.text), errors, projectPath, appliedMs, windowMs }];
  });
}

/** Every project path, found by one index lookup each. */
const EVERY_PATH = `WITH RECURSIVE paths(path) AS (
  SELECT (SELECT MIN(project_path) FROM events)
  UNION ALL SELECT (SELECT MIN(project_path) FROM events WHERE project_path > paths.path) FROM paths
  WHERE paths.path IS NOT NULL)`;

/** When the errors of these rules happened, in one pass over the errors of the project, or of each of them. */
function errorTimes(
  rules: readonly AppliedRule[],
  projectPath: string | null,
  db: Db,
): Map<string, readonly number[]> {
  const errors = [...new Set(rules.flatMap((rule) => rule.errors))];
  const from = Math.min(...rules.map(({ appliedMs, windowMs }) => appliedMs - windowMs));
  const until = Math.max(...rules.map(({ appliedMs, windowMs }) => appliedMs + windowMs));
  // The recursion ends with NULL, which is the path of what belongs to no project.
  const [every, source] =
    projectPath === null
      ? [EVERY_PATH, 'paths CROSS JOIN events AS e ON e.project_path IS paths.path']
      : ['', 'events AS e'];
  const rows = db.sqlite.all(
    `${every} SELECT e.ts, json_extract(e.data, '$.error') AS error FROM ${source}
     WHERE ${projectPath === null ? '' : 'e.project_path = ? AND'} e.type = 'tool_error' AND e.ts >= ? AND e.ts < ?
       AND json_valid(e.data) AND json_extract(e.data, '$.error') IN (${errors.map(() => '?').join(', ')})`,
    ...(projectPath === null ? [] : [projectPath]),
    new Date(from).toISOString(),
    new Date(until).toISOString(),
    ...errors,
  );
  const times = new Map<string, number[]>(errors.map((error) => [error, []]));
  for (const { ts, error } of rows) times.get(String(error))?.push(Date.parse(String(ts)));
  return times;
}

/** When each skill was last used in the project, or anywhere, by its name. */
export function skillUses(
  scope: FeedbackScope,
  since: string,
  db: Db,
): Map<string, { readonly uses: number; readonly lastTs: string }> {
  const rows = db.sqlite.all(
    `SELECT json_extract(data, '$.skillName') AS name, COUNT(*) AS uses, MAX(ts) AS lastTs FROM events
     WHERE ${scope.path === null ? '' : 'project_path = ? AND'} type = 'skill_used' AND ts >= ?
       AND json_valid(data) GROUP BY 1`,
    ...(scope.path === null ? [] : [scope.path]),
    since,
  );
  return new Map(
    rows.map((row) => [String(row.name), { uses: Number(row.uses), lastTs: String(row.lastTs) }]),
  );
}
