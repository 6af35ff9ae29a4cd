import { readString } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { fingerprint } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn, textIn, type Value } from '../../database/sqlite.ts';
import { isInformative, resolutionText } from '../errors/normalize-error.ts';
import type { Evidence } from '../lesson.ts';

/** Errors as a person sees them: never on a hook's path. */
export type ErrorEntry = Readonly<ReturnType<typeof readEntry>>;

export type FixEvidence = Pick<Evidence, 'sessions' | 'agents' | 'helped' | 'first' | 'last'>;

export type ErrorFilter = {
  /** Spellings of the project's path; undefined: every project. */
  readonly projects: readonly string[] | undefined;
  readonly state: 'any' | 'open' | 'solved';
};

/** The newest errors. */
export function listErrors(filter: ErrorFilter, limit: number, db: Db): ErrorEntry[] {
  const { sql, values } = filterCondition(filter);
  const newest = `SELECT * FROM error_kb WHERE ${sql} ORDER BY ts DESC, id DESC LIMIT ?`;
  return db.sqlite.all(newest, ...values, limit).map(readEntry);
}

/** The errors of these ids, in their order. */
export function findErrors(ids: readonly number[], db: Db): ErrorEntry[] {
  const sql = 'SELECT error_kb.* FROM json_each(?) JOIN error_kb ON error_kb.id = value ORDER BY key';
  return db.sqlite.all(sql, JSON.stringify([...new Set(ids)])).map(readEntry);
}

/** The SQL condition of a filter on rows of error_kb, with its values. */
export function filterCondition({ projects, state }: ErrorFilter): { sql: string; values: Value[] } {
  const conditions = ['1'];
  if (projects !== undefined)
    conditions.push(`project_path IN (${projects.map(() => '?').join(', ') || 'NULL'})`);
  if (state === 'open') conditions.push("typeof(resolution) <> 'text'");
  if (state === 'solved') conditions.push("typeof(resolution) = 'text'");
  return { sql: conditions.join(' AND '), values: [...(projects ?? [])] };
}

function readEntry(row: Row) {
  const text = (value: unknown) => textIn(value) || null;
  return {
    id: Number(row.id),
    /** The form under which it is recognised. */
    error: String(row.error_normalized),
    /** What happened, as it was printed. */
    said: text(row.said) ?? String(row.error_normalized),
    raw: text(row.error_raw),
    /** Empty when the client named no directory. */
    project: String(row.project_path),
    /** The tool that failed, when it is known. */
    tool: readString(recordIn(row.resolution), 'tool') ?? null,
    seen: Number(row.seen_count),
    solved: Number(row.use_count ?? 0),
    told: Number(row.shown_count),
    fix: typeof row.resolution === 'string' ? resolutionText(row.resolution) : null,
    resolvedBy: text(row.resolved_by),
    /** Told in every project, because a person wants it so. */
    isShared: typeof row.resolution === 'string' && row.shared === row.resolution,
    /** `withdrawn`: what was told turned out wrong. Null when nobody has looked. */
    state: text(row.state),
    /** What the fix rests on; null where nothing was counted. */
    evidence: readEvidence(row.evidence),
    /** When it was solved last; of an open error, when it happened last. */
    ts: String(row.ts),
  };
}

function readEvidence(value: unknown): FixEvidence | null {
  const { sessions, agents = 0, helped, first = '', last = '' } = recordIn(value);
  if (typeof sessions !== 'number' || typeof helped !== 'number') return null;
  return { sessions, agents: Number(agents), helped, first: String(first), last: String(last) };
}

/** Everything that is known of one error. */
export type ErrorStory = Readonly<NonNullable<ReturnType<typeof tellError>>>;

/** One error with its whole story; undefined when there is none of this id. */
export function tellError(id: number, db: Db) {
  const row = db.sqlite.get('SELECT * FROM error_kb WHERE id = ?', id);
  if (row === undefined) return undefined;
  const entry = readEntry(row);
  const tellings = tellingsOf(entry, db);
  // The failure that was answered with it first is none that came back.
  const seen = occurrences(entry, tellings[0]?.ts ?? NEVER, db);
  return {
    ...entry,
    tool: entry.tool ?? textIn(seen?.tool),
    /** Null when the events of that time are gone. */
    firstSeen: textIn(seen?.first),
    lastSeen: textIn(seen?.last) ?? (entry.fix === null ? entry.ts : null),
    /** When it was solved or told last. */
    lastUsed: textIn(row.last_used),
    /** To whom it was told, oldest first, and how often it happened again after the first time. */
    tellings,
    cameBack: Number(seen?.after ?? 0),
  };
}

/** Behind every time. */
const NEVER = '~';
const TELLINGS_MAX = 50;

/** As far back as events and notes are kept; `where`: a sub-agent's type, or that the agent had just met the error. */
function tellingsOf({ id, project, said }: ErrorEntry, db: Db) {
  const rows = db.sqlite.all(
    `SELECT ts, 'after the error' AS place FROM events
       WHERE project_path IS ?1 AND type = 'tool_error' AND CASE WHEN json_valid(data) THEN json_extract(data, '$.told') END = ?2
     UNION ALL
     SELECT ts, COALESCE(agent_type, 'sub-agent') FROM given_contexts WHERE project_path = ?3 AND instr(text, ?4) > 0
     ORDER BY ts LIMIT ?5`,
    ...[project || null, id, project, `- ${inertText(said, SAID_TOLD_MAX)} (`, TELLINGS_MAX],
  );
  return rows.map(({ ts, place }) => ({ ts: String(ts), where: String(place) }));
}

/** So much of what happened is told. */
const SAID_TOLD_MAX = 200;

/** When it happened, and how often after a time, as far back as events are kept. */
function occurrences({ error, project }: ErrorEntry, after: string, db: Db): Row | undefined {
  return db.sqlite.get(
    `SELECT MIN(ts) AS first, MAX(ts) AS last, SUM(ts > ?) AS after, json_extract(data, '$.tool') AS tool FROM events
     WHERE project_path IS ? AND type = 'tool_error'
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.error') END = ?`,
    ...[after, project || null, error],
  );
}

/** Stores how a person says, in words, an error is solved. Nothing that is learnt replaces it. */
export function recordPersonsFix(
  key: string,
  { ts, projectPath, summary }: { ts: string; projectPath: string | null; summary: string },
  db: Db,
): void {
  const resolution = JSON.stringify({ summary, resolvedBy: 'user' });
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, use_count, last_used, project_path, resolution, resolved_by)
     VALUES (?, ?, 1, ?, ?, ?, 'user')
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET ts = excluded.ts, last_used = excluded.last_used,
       use_count = MAX(use_count, 1), resolution = excluded.resolution, resolved_by = 'user', state = NULL`,
    ...[ts, key, ts, projectPath ?? '', resolution],
  );
}

/**
 * Stores a person's own words for how a known error is solved. They stay until a person writes again, and the error is no
 * longer forgotten. False when there is none of this id.
 */
export function resolveError(id: number, { summary, ts }: { summary: string; ts: string }, db: Db): boolean {
  return db.sqlite.transaction(() => {
    const sql = 'SELECT error_normalized, project_path, last_used FROM error_kb WHERE id = ?';
    const known = db.sqlite.get(sql, id);
    if (known === undefined) return false;
    const error = String(known.error_normalized);
    const lastUsed = textIn(known.last_used) ?? '';
    db.sqlite.run('DELETE FROM forgotten_errors WHERE fingerprint = ?', fingerprint(error));
    // What comes in late does not replace what is newer; but a person means now, whatever the clock was before.
    const when = lastUsed > ts ? lastUsed : ts;
    recordPersonsFix(error, { ts: when, projectPath: String(known.project_path), summary }, db);
    return true;
  });
}

type Seen = {
  readonly ts: string;
  readonly projectPath: string | null;
  /** The telling line. */
  readonly said: string;
  readonly errorRaw: string;
};

/**
 * Counts that an error happened: from its first time on it has a row, with or without a fix. One that is solved keeps the
 * text for which it was: another with the same key may be of another file, and the fix is not known to be its own.
 */
export function recordSeen(key: string, { ts, projectPath, said, errorRaw }: Seen, db: Db): void {
  if (!isInformative(key)) return;
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, said, error_raw, project_path, seen_count) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET
       seen_count = seen_count + 1, ts = MAX(ts, excluded.ts),
       said = CASE WHEN resolution IS NULL OR error_raw IS NULL THEN excluded.said ELSE said END,
       error_raw = CASE WHEN resolution IS NULL THEN excluded.error_raw ELSE COALESCE(error_raw, excluded.error_raw) END`,
    ...[ts, key, said, errorRaw, projectPath ?? ''],
  );
}

/** Returns true if a person wanted this error forgotten: then it is neither recorded nor told. */
export function isForgotten(normalizedError: string, db: Db): boolean {
  const sql = 'SELECT 1 FROM forgotten_errors WHERE fingerprint = ?';
  return db.sqlite.get(sql, fingerprint(normalizedError)) !== undefined;
}

/** Counts that an agent was told the resolution. */
export function countShown(kbId: number, ts: string, db: Db): void {
  db.sqlite.run('UPDATE error_kb SET shown_count = shown_count + 1, last_used = ? WHERE id = ?', ts, kbId);
}

/** Returns true if this session has been told it: by the events of its failures, `told` of which is the row. */
export function wasShown(kbId: number, sessionId: string, db: Db): boolean {
  if (!db.shape.has('error_kb', 'state')) return false;
  const sql = `SELECT 1 FROM events WHERE session_id = ? AND type = 'tool_error'
    AND CASE WHEN json_valid(data) THEN json_extract(data, '$.told') END = ? LIMIT 1`;
  return db.sqlite.get(sql, sessionId, kbId) !== undefined;
}
