import { parseJson } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn, textIn } from '../../database/sqlite.ts';
import {
  type Proposal,
  readDetails,
  readProposal,
  SUGGESTION_STATUSES,
  SUGGESTION_TYPES,
  type Suggestion,
  type SuggestionStatus,
  suggestionId,
} from './suggestion.ts';

/** By which analysis, and of which project, something was proposed. */
type Proposed = Pick<Suggestion, 'project' | 'projectPath' | 'ts' | 'origin'>;

/** Stores proposals and returns their ids. What is known keeps its status and first time; an expired one is new again. */
export function saveProposals(proposals: readonly Proposal[], proposed: Proposed, db: Db): string[] {
  const { ts, project, projectPath, origin } = proposed;
  return proposals.map((proposal) => {
    const id = suggestionId(proposal, projectPath);
    db.sqlite.run(
      `INSERT INTO suggestions(id, ts, last_ts, project, project_path, origin, type, summary, evidence, text, priority, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT(id) DO UPDATE SET last_ts = MAX(last_ts, excluded.last_ts),
         (priority, summary, evidence, text, details) = (SELECT excluded.priority, excluded.summary, excluded.evidence,
           excluded.text, excluded.details WHERE status IN ('new', 'shown', 'expired') AND excluded.last_ts > last_ts
           UNION ALL SELECT priority, summary, evidence, text, details LIMIT 1),
         status = CASE WHEN status = 'expired' AND excluded.last_ts > last_ts THEN 'new' ELSE status END`,
      ...[id, ts, ts, project, projectPath, origin],
      ...[proposal.type, proposal.summary, proposal.evidence, proposal.text, proposal.priority],
      JSON.stringify(proposal.details),
    );
    return id;
  });
}

/** Takes what other implementations left in analysis_cache since a time into the list of suggestions. */
export function registerCached(since: string, db: Db): void {
  const rows = db.sqlite.all(
    'SELECT ts, project, project_path, analysis FROM analysis_cache WHERE ts >= ? ORDER BY ts',
    since,
  );
  for (const row of rows) {
    const project = typeof row.project === 'string' && row.project !== '' ? row.project : 'all';
    const projectPath = typeof row.project_path === 'string' ? row.project_path : '';
    const proposed = { ts: String(row.ts), project, projectPath, origin: 'cache' as const };
    const { suggestions } = recordIn(row.analysis);
    const proposals = Array.isArray(suggestions) ? suggestions.map(readProposal) : [];
    saveProposals(
      proposals.filter((proposal) => proposal !== undefined),
      proposed,
      db,
    );
  }
}

type SuggestionFilter = {
  /** The project's name and spellings of its path; suggestions that belong to none are always among the answers. */
  readonly project?: { readonly name: string; readonly spellings: readonly string[] };
  readonly statuses?: readonly SuggestionStatus[];
};

/** Suggestions, the most important first; the order is the same as long as nothing is added. */
export function listSuggestions(
  { project, statuses = SUGGESTION_STATUSES }: SuggestionFilter,
  db: Db,
): Suggestion[] {
  if (!db.shape.has('suggestions', 'status')) return [];
  const paths = project?.spellings ?? [];
  // A row without a path is known by its project's name, as in analysis_cache.
  const ofProject =
    project === undefined
      ? '1'
      : `(project_path IN (${paths.map(() => '?').join(', ') || 'NULL'}) OR (project_path = '' AND project IN (?, 'all')))`;
  return db.sqlite
    .all(
      `SELECT * FROM suggestions WHERE ${ofProject} AND status IN (${statuses.map(() => '?').join(', ')})
       ORDER BY priority DESC, ts, id`,
      ...(project === undefined ? [] : [...paths, project.name]),
      ...statuses,
    )
    .map(readSuggestion)
    .filter((suggestion) => suggestion !== undefined);
}

/** The suggestions whose id starts with this text. */
export function findSuggestions(idPrefix: string, db: Db): Suggestion[] {
  return db.sqlite
    .all('SELECT * FROM suggestions WHERE id >= ? AND id < ? ORDER BY id', idPrefix, `${idPrefix}\u{10ffff}`)
    .map(readSuggestion)
    .filter((suggestion) => suggestion !== undefined);
}

/** Those among these ids that nobody has seen: they are new, or in no row at all. */
export function unseenIds(ids: readonly string[], db: Db): string[] {
  if (!db.shape.has('suggestions', 'status')) return [...ids];
  return ids.filter((id) => {
    const row = db.sqlite.get('SELECT status FROM suggestions WHERE id = ?', id);
    return row === undefined || row.status === 'new';
  });
}

/** The new ones among these have been announced. */
export function markShown(ids: readonly string[], db: Db): void {
  for (const id of ids)
    db.sqlite.run("UPDATE suggestions SET status = 'shown' WHERE id = ? AND status = 'new'", id);
}

/** What the user decided. `applied` is what undo needs; `undone` makes the suggestion one that waits again. */
export type Verdict =
  | { readonly kind: 'applied'; readonly applied: unknown }
  | { readonly kind: 'dismissed'; readonly why: string | null }
  | { readonly kind: 'undone' };

/** The words of the predecessor's feedback table (REQ-SE-101). */
const FEEDBACK_ACTIONS = { applied: 'accepted', dismissed: 'rejected', undone: 'undone' } as const;

/** Stores a verdict and appends it to the feedback, which nothing ever changes. */
export function decideSuggestion(suggestion: Suggestion, verdict: Verdict, ts: string, db: Db): void {
  const status: SuggestionStatus = verdict.kind === 'undone' ? 'shown' : verdict.kind;
  db.sqlite.run(
    'UPDATE suggestions SET status = ?, decided_ts = ?, why = ?, applied = ? WHERE id = ?',
    status,
    verdict.kind === 'undone' ? null : ts,
    verdict.kind === 'dismissed' ? verdict.why : null,
    verdict.kind === 'applied' ? JSON.stringify(verdict.applied) : null,
    suggestion.id,
  );
  db.sqlite.run(
    'INSERT INTO feedback(v, ts, suggestion_id, action, suggestion_type, summary) VALUES (1, ?, ?, ?, ?, ?)',
    ts,
    suggestion.id,
    FEEDBACK_ACTIONS[verdict.kind],
    suggestion.type,
    suggestion.summary,
  );
}

/** Suggestions that nobody decided on and that no analysis has repeated since a time are no longer proposed. */
export function expireSuggestions(before: string, db: Db): void {
  db.sqlite.run(
    "UPDATE suggestions SET status = 'expired' WHERE status IN ('new', 'shown') AND last_ts < ?",
    before,
  );
}

function readSuggestion(row: Row): Suggestion | undefined {
  const type = SUGGESTION_TYPES.find((one) => one === row.type);
  const status = SUGGESTION_STATUSES.find((one) => one === row.status);
  if (type === undefined || status === undefined) return undefined; // Of a later version.
  return {
    id: String(row.id),
    ts: String(row.ts),
    lastTs: String(row.last_ts),
    project: String(row.project),
    projectPath: String(row.project_path),
    origin: row.origin === 'cache' || row.origin === 'team' ? row.origin : 'analysis',
    type,
    status,
    summary: String(row.summary),
    evidence: String(row.evidence),
    text: String(row.text),
    priority: Number(row.priority),
    details: readDetails(recordIn(row.details)),
    decidedTs: textIn(row.decided_ts),
    why: textIn(row.why),
    applied: parseJson(textIn(row.applied) ?? 'null') ?? null,
  };
}
