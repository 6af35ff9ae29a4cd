import { parseJson } from '../core/guards.ts';
import { readDetails } from '../core/suggestion.ts';
import type { Db } from './connection.ts';

const RECENT_MAX = 10;
const RULES_MAX = 20;
const WINDOW_DAYS_MAX = 14;
const MS_PER_DAY = 86_400_000;

/** What became of earlier suggestions: what the next analysis is told (REQ-SE-102). */
export type FeedbackSummary = {
  readonly accepted: number;
  readonly rejected: number;
  /** accepted / (accepted + rejected). */
  readonly rate: number;
  readonly byType: Readonly<Record<string, { readonly accepted: number; readonly rejected: number }>>;
  readonly recentRejections: readonly { readonly summary: string; readonly why: string | null }[];
  readonly recentAcceptances: readonly string[];
};

/** Null as long as the user has not decided on anything. A verdict that was taken back does not count. */
export function feedbackSummary(db: Db): FeedbackSummary | null {
  const verdicts = db.sqlite.all(
    `SELECT f.action, f.suggestion_type AS type, COALESCE(s.summary, f.summary, f.suggestion_id) AS summary, s.why
     FROM feedback AS f LEFT JOIN suggestions AS s ON s.id = f.suggestion_id
     WHERE f.id IN (SELECT MAX(id) FROM feedback GROUP BY suggestion_id) AND f.action <> 'undone'
     ORDER BY f.id DESC`,
  );
  if (verdicts.length === 0) return null;
  const accepted = verdicts.filter((verdict) => verdict.action === 'accepted');
  const rejected = verdicts.filter((verdict) => verdict.action !== 'accepted');
  const types = [...new Set(verdicts.map((verdict) => String(verdict.type ?? 'unknown')))].sort();
  const countOf = (rows: typeof verdicts, type: string) =>
    rows.filter((row) => String(row.type ?? 'unknown') === type).length;
  return {
    accepted: accepted.length,
    rejected: rejected.length,
    rate: accepted.length / verdicts.length,
    byType: Object.fromEntries(
      types.map((type) => [type, { accepted: countOf(accepted, type), rejected: countOf(rejected, type) }]),
    ),
    recentRejections: rejected.slice(0, RECENT_MAX).map((row) => ({
      summary: String(row.summary),
      why: typeof row.why === 'string' && row.why !== '' ? row.why : null,
    })),
    recentAcceptances: accepted.slice(0, RECENT_MAX).map((row) => String(row.summary)),
  };
}

/** How often the errors that an applied rule is about happened, in equal times before and after it. */
export type RuleEffect = {
  readonly id: string;
  readonly rule: string;
  readonly appliedTs: string;
  readonly windowDays: number;
  readonly before: number;
  readonly after: number;
};

/** The effect of each applied rule that names errors; a rule of today has none yet. */
export function ruleEffects(now: Date, db: Db): RuleEffect[] {
  const rules = db.sqlite.all(
    `SELECT id, text, details, decided_ts, project_path FROM suggestions
     WHERE type = 'claude_md' AND status = 'applied' ORDER BY decided_ts DESC LIMIT ?`,
    RULES_MAX,
  );
  return rules.flatMap((row) => {
    const { errors = [] } = readDetails((parseJson(String(row.details)) ?? {}) as Record<string, unknown>);
    const appliedMs = Date.parse(String(row.decided_ts));
    const windowMs = Math.min(now.getTime() - appliedMs, WINDOW_DAYS_MAX * MS_PER_DAY);
    if (errors.length === 0 || !(windowMs >= MS_PER_DAY)) return [];
    const count = (fromMs: number) => countErrors(errors, String(row.project_path), fromMs, windowMs, db);
    return [
      {
        id: String(row.id),
        rule: String(row.text),
        appliedTs: String(row.decided_ts),
        windowDays: Math.round((windowMs / MS_PER_DAY) * 10) / 10,
        before: count(appliedMs - windowMs),
        after: count(appliedMs),
      },
    ];
  });
}

function countErrors(
  errors: readonly string[],
  projectPath: string,
  fromMs: number,
  windowMs: number,
  db: Db,
): number {
  const row = db.sqlite.get(
    `SELECT COUNT(*) AS n FROM events
     WHERE type = 'tool_error' AND ts >= ? AND ts < ? AND (? = '' OR project_path = ?) AND json_valid(data)
       AND json_extract(data, '$.error') IN (${errors.map(() => '?').join(', ')})`,
    new Date(fromMs).toISOString(),
    new Date(fromMs + windowMs).toISOString(),
    projectPath,
    projectPath,
    ...errors,
  );
  return Number(row?.n ?? 0);
}

/** When each skill was last used, by its name. */
export function skillUses(
  since: string,
  db: Db,
): Map<string, { readonly uses: number; readonly lastTs: string }> {
  const rows = db.sqlite.all(
    `SELECT json_extract(data, '$.skillName') AS name, COUNT(*) AS uses, MAX(ts) AS lastTs FROM events
     WHERE type = 'skill_used' AND ts >= ? AND json_valid(data) GROUP BY 1`,
    since,
  );
  return new Map(
    rows.map((row) => [String(row.name), { uses: Number(row.uses), lastTs: String(row.lastTs) }]),
  );
}
