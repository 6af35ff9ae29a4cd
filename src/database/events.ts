import { fileStamp, readTextPart } from '#runtime';
import { isRecord, type Json, parseJson, readRecords } from '../core/guards.ts';
import type { Db, Shape } from './connection.ts';
import { type Row, recordIn, textIn, type Value } from './sqlite.ts';

export type EventType =
  | 'prompt'
  | 'skill_used'
  | 'tool_use'
  | 'tool_error'
  | 'subagent_stop'
  | 'session_summary'
  | 'skill_created'
  | 'suggestion_applied';

type Columns = {
  readonly ts: string;
  readonly sessionId: string;
  readonly project: string | null;
  readonly projectPath: string | null;
};

export type NewEvent = Columns & { readonly type: EventType; readonly data: Json };

/** A stored event: its columns beside the keys of its `data`, as RA-402 reads them. */
export type StoredEvent = Json & Columns & { readonly id: number; readonly type: string };

/** Appends an event and returns its id (REQ-DC-001). */
export function insertEvent(event: NewEvent, db: Db): number {
  const { type, ts, sessionId, project, projectPath, data } = event;
  const sql =
    'INSERT INTO events(v, type, ts, session_id, project, project_path, data) VALUES (1, ?, ?, ?, ?, ?, ?)';
  const values = [type, ts, sessionId, project, projectPath, JSON.stringify(data)];
  return db.sqlite.run(sql, ...values).lastInsertRowid;
}

export type EventFilter = {
  readonly type?: string;
  readonly sessionId?: string;
  readonly projectPath?: string;
  readonly project?: string;
  /** ISO time; events at or after it. */
  readonly since?: string;
  /** Words of a person: all must occur, each as the beginning of a word. Any characters are allowed. */
  readonly search?: string;
  readonly limit?: number;
};

/** The events that match, newest first (REQ-DC-002). Works on databases that lack columns or indexes. */
export function queryEvents(filter: EventFilter, db: Db): StoredEvent[] {
  const column = eventColumns(db.shape);
  if (column.data === 'NULL') return [];
  const conditions: string[] = [];
  const values: Value[] = [];
  const where = (expression: string, operator: string, value: Value | undefined) => {
    if (value === undefined) return;
    conditions.push(`${expression} ${operator} ?`);
    values.push(value);
  };
  for (const key of ['type', 'sessionId', 'projectPath', 'project'] as const)
    where(column[key], '=', filter[key]);
  if (column.ts !== 'NULL') where(column.ts, '>=', filter.since);
  if (filter.search !== undefined) {
    const search = searchCondition(filter.search, db.shape);
    conditions.push(search.sql);
    values.push(...search.values);
  }
  const newestFirst = column.ts === 'NULL' ? column.id : `${column.ts} DESC, ${column.id}`;
  const rows = db.sqlite.all(
    `SELECT ${column.id} AS id, ${column.type} AS type, ${column.ts} AS ts, ${column.sessionId} AS sessionId,
       ${column.project} AS project, ${column.projectPath} AS projectPath, data
     FROM events ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
     ORDER BY ${newestFirst} DESC LIMIT ?`,
    ...values,
    filter.limit ?? -1,
  );
  // Plain: a sub-agent's start waits for it.
  const events: StoredEvent[] = [];
  for (const row of rows) {
    const event = storedEvent(row);
    if (event !== undefined) events.push(event);
  }
  return events;
}

function eventColumns(shape: Shape) {
  const column = (name: string, otherwise = 'NULL') => (shape.has('events', name) ? name : otherwise);
  return {
    id: column('id', 'rowid'),
    type: column('type'),
    ts: column('ts'),
    sessionId: column('session_id'),
    project: column('project'),
    projectPath: column('project_path'),
    data: column('data'),
  };
}

/** A row whose data is no JSON object is not an event: somebody else's, or damaged. */
function storedEvent(row: Row): StoredEvent | undefined {
  const event = typeof row.data === 'string' ? parseJson(row.data) : undefined;
  if (!isRecord(event)) return undefined;
  for (const column in row) if (column !== 'data') event[column] = row[column];
  return event as StoredEvent;
}

function searchCondition(search: string, shape: Shape): { sql: string; values: string[] } {
  const words = search.match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return { sql: '0', values: [] };
  if (!shape.has('event_text', 'text')) {
    return { sql: words.map(() => 'instr(lower(data), lower(?)) > 0').join(' AND '), values: words };
  }
  return {
    sql: 'id IN (SELECT rowid FROM event_text WHERE event_text MATCH ?)',
    values: [words.map((word) => `"${word}"*`).join(' ')],
  };
}

/** A file that has grown by more is left to the catch-up, which looks and reads in one. */
const GROWTH_LOOKED_AT_BYTES_MAX = 64 * 1024;

/**
 * Whether a session's transcript tells of calls that have ended and are not recorded: whole lines with a result, behind
 * the place up to which it has been looked at. The line of the call that starts a sub-agent is none. Costs one row, one
 * look at the file and, when that has grown, what it has grown by. Never throws for a file.
 */
export function hasUnreadResults(path: string, db: Db): boolean {
  const { bytes } = fileStamp(path);
  if (!(bytes > 0)) return false; // Of what is no file this may be endless.
  const row = db.sqlite.get(
    'SELECT COALESCE(bytes_seen, bytes_done) AS seen FROM imports WHERE path = ?',
    path,
  );
  const seen = Number(row?.seen ?? 0);
  if (bytes <= seen) return bytes < seen; // A shorter one was written anew.
  if (bytes - seen > GROWTH_LOOKED_AT_BYTES_MAX) return true;
  const text = readTextPart(path, seen, bytes);
  return text === undefined || text.lastIndexOf('"tool_result"', text.lastIndexOf('\n')) >= 0;
}

type Analysis = {
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
  const { suggestions } = recordIn(analysis);
  if (!Array.isArray(suggestions)) return undefined;
  return { ts: String(ts), projectPath: textIn(path) ?? '', suggestions: readRecords(suggestions) };
}
