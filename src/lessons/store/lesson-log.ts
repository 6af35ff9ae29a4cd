import { isRecord, type Json, parseJson, readString } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { isForgotten } from '../../database/forgotten-errors.ts';
import { type Row, recordIn } from '../../database/sqlite.ts';
import { isInformative } from '../errors/normalize-error.ts';
import type { Noise } from '../failure.ts';
import type { ErrorGroup, Lesson, LogEntry, Outcome } from '../lesson.ts';
import { noteWithdrawal, restoredAt } from './withdrawals.ts';

/** Where lessons come from, and which of them are shared: hooks read it in told-lessons.ts. */

/** Notes of which repository a path is a clone; null: of none that could have another. */
export function noteRepository(projectPath: string, repository: string | null, db: Db): void {
  const sql = `INSERT INTO repositories(project_path, repository) VALUES (?, ?)
    ON CONFLICT(project_path) DO UPDATE SET repository = excluded.repository WHERE repository IS NOT excluded.repository`;
  db.sqlite.run(sql, projectPath, repository);
}

/** Shares a lesson with every project, or takes that back. False: there is nothing to tell of this error. */
export function setShared(id: number, isShared: boolean, db: Db): boolean {
  const sql = isShared
    ? "UPDATE error_kb SET shared = resolution WHERE id = ? AND typeof(resolution) = 'text'"
    : 'UPDATE error_kb SET shared = NULL WHERE id = ?';
  return db.sqlite.run(sql, id).changes > 0;
}

/** The rows of the same error in all clones of its repository, itself among them. */
export function sameInClones(id: number, db: Db): number[] {
  const sql = `SELECT other.id FROM error_kb AS own JOIN repositories AS a ON a.project_path = own.project_path
      JOIN repositories AS b ON b.repository = a.repository
      JOIN error_kb AS other ON other.error_normalized = own.error_normalized AND other.project_path = b.project_path
    WHERE own.id = ?`;
  return [...new Set([id, ...db.sqlite.all(sql, id).map((row) => Number(row.id))])];
}

/** The log as lessons are learnt from it, and the lessons in the knowledge base. */

/** Of so many calls and prompts the newest are looked at. */
const LOG_ROWS_MAX = 20_000;

type LogPart = { readonly projectPath: string; readonly sessionId?: string; readonly rowsMax?: number };

/** A project's calls and prompts in order of time; only those of a session, if one is given. */
export function readLog({ projectPath, sessionId, rowsMax = LOG_ROWS_MAX }: LogPart, db: Db): LogEntry[] {
  const ofSession = sessionId === undefined ? '' : 'AND session_id = ?';
  const rows = db.sqlite.all(
    `SELECT id, type, ts, session_id, data FROM events
     WHERE project_path = ? ${ofSession} AND type IN ('tool_use', 'tool_error', 'prompt') ORDER BY ts DESC, id DESC LIMIT ?`,
    ...[projectPath, ...(sessionId === undefined ? [] : [sessionId]), rowsMax],
  );
  return rows.reverse().flatMap((row) => readEntry(row) ?? []);
}

/** An event as it is learnt from; undefined for what is damaged. */
export function readEntry({ id, type, ts, session_id, data }: Row): LogEntry | undefined {
  const common = { session: String(session_id), ts: String(ts) };
  if (type === 'prompt') return { kind: 'prompt', ...common };
  const call = parseJson(String(data));
  if (!isRecord(call)) return undefined;
  const ended = { kind: call.isUnfinished === true ? 'unclear' : 'worked' } as const;
  return {
    kind: 'call',
    ...common,
    id: readString(call, 'toolUseId') ?? String(id),
    agent: readString(call, 'agentId') ?? null,
    tool: readString(call, 'tool') ?? '',
    line: readString(call, 'command') === undefined ? null : (readString(call, 'line') ?? null),
    directory: readString(call, 'directory') ?? '',
    outcome: type === 'tool_error' ? failedOutcome(call) : ended,
  };
}

function failedOutcome(call: Json): Outcome {
  return {
    kind: 'failed',
    key: readString(call, 'error') ?? '',
    said: readString(call, 'said') ?? readString(call, 'error') ?? '',
    noise: (readString(call, 'noise') as Noise | undefined) ?? null,
    text: readString(call, 'errorRaw') ?? '',
  };
}

export type LearntOptions = {
  readonly projectPath: string;
  /** What was looked at: a part of the log takes nothing back that the whole has shown. */
  readonly scope: 'session' | 'project';
};

/** The projects with calls that have not been learnt from yet, or not to the end because the process was killed. */
export function unlearntProjects(db: Db): string[] {
  const sql = `SELECT project_path FROM events LEFT JOIN learnt USING (project_path)
    WHERE project_path IS NOT NULL AND type IN ('tool_use', 'tool_error')
    GROUP BY project_path HAVING MAX(id) > COALESCE(event_id, 0)`;
  return db.sqlite.all(sql).map((row) => String(row.project_path));
}

/** Notes that what is learnt of a project rests on all of its calls up to this event. */
export function noteLearnt(projectPath: string, eventId: number, db: Db): void {
  const sql = `INSERT INTO learnt(project_path, event_id) VALUES (?, ?)
    ON CONFLICT(project_path) DO UPDATE SET event_id = excluded.event_id`;
  db.sqlite.run(sql, projectPath, eventId);
}

/**
 * Stores what was learnt of each kind of error. What a person wrote, or a model, stays, and so does what was withdrawn or
 * is doubted (see model-lessons.ts); a lesson that the log speaks against by now is `contradicted`, and not told.
 */
export function saveLearnt(
  groups: readonly ErrorGroup[],
  { projectPath, scope }: LearntOptions,
  db: Db,
): void {
  for (const group of groups) {
    if (!isInformative(group.key) || isForgotten(group.key, db)) continue;
    const sql = `SELECT id, resolved_by, state, evidence FROM error_kb WHERE error_normalized = ? AND project_path = ?`;
    const known = db.sqlite.get(sql, group.key, projectPath);
    const isGone = known?.state === 'withdrawn' || known?.state === 'doubted';
    if (isGone && !(group.lesson !== null && isAnother(group.lesson, known, db))) continue;
    if (scope === 'project' && known !== undefined) saveState(group, known, projectPath, db);
    const isOthers = known?.resolved_by === 'user' || known?.resolved_by === 'model';
    const isKept =
      scope === 'session' && (known?.resolved_by === 'lesson' || known?.state === 'contradicted');
    if (group.lesson !== null && !isOthers && !isKept) saveLesson(group.lesson, projectPath, db);
  }
}

/** What a team has withdrawn makes room for what helps instead, and does not come back itself. */
function isAnother({ remedy }: Lesson, known: Row, db: Db): boolean {
  if (recordIn(known.evidence).teamWithdrawn === undefined) return false;
  const sql = 'SELECT resolution FROM withdrawals WHERE error_id = ? ORDER BY id DESC LIMIT 1';
  return db.sqlite.get(sql, Number(known.id))?.resolution !== JSON.stringify(remedy);
}

const SPEAK_AGAINST =
  'by all calls of the project, what it says fails as often as it works, or works no better';

function saveState(group: ErrorGroup, known: Row, projectPath: string, db: Db): void {
  const { key, sessions, isOpen, lesson } = group;
  // What a team taught, this log need not show: its own lesson takes that one's place, once there is one.
  const isTold = known.resolved_by === 'lesson' && recordIn(known.evidence).team === undefined;
  const isContradicted = lesson === null && (isTold || known.state === 'contradicted');
  const state = isContradicted ? 'contradicted' : isOpen ? 'open' : 'solved';
  if (isContradicted && isTold) {
    // What was restored is judged by what happens since, and not here.
    if (restoredAt(Number(known.id), db) !== null) return;
    noteWithdrawal(Number(known.id), { reason: 'contradiction', detail: SPEAK_AGAINST }, db);
  }
  const withdrawn = lesson === null && isTold ? ', resolution = NULL, resolved_by = NULL' : '';
  db.sqlite.run(
    `UPDATE error_kb SET sessions = ?, state = ?${withdrawn} WHERE error_normalized = ? AND project_path = ?`,
    ...[sessions, state, key, projectPath],
  );
}

function saveLesson({ key, said, remedy, evidence }: Lesson, projectPath: string, db: Db): void {
  const { sessions, failed, helped, last } = evidence;
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, said, error_raw, project_path, seen_count, resolution, resolved_by, use_count,
       last_used, sessions, evidence)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'lesson', ?, ?, ?, ?)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET said = excluded.said, resolution = excluded.resolution,
       resolved_by = 'lesson', use_count = excluded.use_count, last_used = excluded.last_used,
       state = CASE WHEN state = 'withdrawn' THEN 'open' ELSE state END, sessions = MAX(sessions, excluded.sessions), evidence = excluded.evidence`,
    ...[last, key, said, said, projectPath, failed, JSON.stringify(remedy)],
    ...[helped, last, sessions, JSON.stringify(evidence)],
  );
}

/** The id of the newest event; 0 where there is none. */
export function newestEvent(db: Db): number {
  return Number(db.sqlite.get('SELECT MAX(id) AS id FROM events')?.id ?? 0);
}
