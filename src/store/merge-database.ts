import { isRecord, type Json, parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { type Db, openForReading } from './connection.ts';
import { isForgotten } from './error-kb.ts';
import { EVENT_TYPES } from './events.ts';
import { type CallLook, likeness, mostLike, NAMELESS_LATER_MS_MAX, nameCall } from './imports.ts';
import { readShape, SCHEMA_VERSION, schemaVersion } from './shape.ts';
import type { Row, Value } from './sqlite.ts';

const BUSY_TIMEOUT_MS = 5000;

/** Why a file cannot be taken in, to be told to a person. */
export class NoDatabaseOfOurs extends Error {}

/**
 * Makes a consistent copy of a database, whoever writes to it meanwhile. Throws what SQLite throws, and NoDatabaseOfOurs
 * for one that neither we nor an earlier implementation made.
 */
export function copyDatabase(file: string, target: string, paths: StatePaths): void {
  const db = openForReading({ ...paths, database: file }, BUSY_TIMEOUT_MS);
  if (db === undefined) throw new NoDatabaseOfOurs('it cannot be opened');
  try {
    const version = schemaVersion(db.sqlite);
    if (version > SCHEMA_VERSION) {
      throw new NoDatabaseOfOurs(
        `its schema version is ${version}, this program knows ${SCHEMA_VERSION}. Update self-generation`,
      );
    }
    const { has } = readShape(db.sqlite);
    const isOurs =
      (has('events', 'type') && has('events', 'data')) ||
      has('error_kb', 'error_normalized') ||
      has('analysis_cache', 'analysis');
    if (!isOurs) throw new NoDatabaseOfOurs('it has none of the tables of self-generation');
    db.sqlite.run('VACUUM INTO ?', target);
  } finally {
    db.sqlite.close();
  }
}

export type MergeResult = {
  /** New rows of `events`, by type. */
  readonly added: Readonly<Record<string, number>>;
  /** Events that were there already. */
  readonly known: number;
  /** Rows that hold no event, or one that is older than events are kept. */
  readonly leftOut: number;
  readonly feedback: number;
  readonly analyses: number;
};

/** Holds the database for one piece of work, and leaves it to others before the next. */
export type InTurn = <T>(work: () => T) => T;

/** Two ISO times, both within. */
export type Span = { readonly from: string; readonly until: string };

export type MergeOptions = {
  /** When the copy was brought up to date: rows that had no time before got one then. */
  readonly adopted: Span;
  /** ISO time: events before it are not taken. */
  readonly notBefore: string;
  /** Runs one transaction of many, each of which takes few rows. */
  readonly inTurn: InTurn;
};

const BATCH_ROWS = 200;

/**
 * Takes what another database of this version holds into ours. Can be repeated and stopped anywhere: what is there
 * already stays as it is, but for calls without an id that get theirs, and a fix of ours is never replaced. Throws what
 * SQLite throws.
 */
export function mergeDatabase(source: Db, options: MergeOptions, db: Db): MergeResult {
  const { notBefore, adopted, inTurn } = options;
  const matched = new Set<number>();
  const result = { added: {} as Record<string, number>, known: 0, leftOut: 0, feedback: 0, analyses: 0 };
  const each = (table: string, take: (row: Row) => void) => {
    for (let rows = batchOf(table, -1, source); rows.length > 0; ) {
      const batch = rows;
      inTurn(() => db.sqlite.transaction(() => batch.forEach(take)));
      rows = batchOf(table, Number(batch.at(-1)?.id), source);
    }
  };
  each('events', (row) => {
    const outcome = String(row.ts) < notBefore ? 'left-out' : mergeEvent(row, { adopted, matched }, db);
    if (outcome === 'known') result.known++;
    else if (outcome === 'left-out') result.leftOut++;
    else result.added[String(row.type)] = (result.added[String(row.type)] ?? 0) + 1;
  });
  each('error_kb', (row) => mergeError(row, source, db));
  each('feedback', (row) => {
    if (mergeFeedback(row, adopted, db)) result.feedback++;
  });
  // Before the analyses that they came from: without them those would look like somebody else's.
  inTurn(() => db.sqlite.transaction(() => mergeSuggestions(source, db)));
  each('analysis_cache', (row) => {
    if (mergeAnalysis(row, db)) result.analyses++;
  });
  return result;
}

function batchOf(table: string, after: number, { sqlite }: Db): Row[] {
  return sqlite.all(`SELECT * FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`, after, BATCH_ROWS);
}

const CLOCK_MS_MAX = 2000;

type EventMerge = {
  readonly adopted: Span;
  /** Our rows that are known to be one of theirs: none is two of them. */
  readonly matched: Set<number>;
};

/** A hook and an import of the same event differ a little in time; rows without an id of their own must not. */
function mergeEvent(row: Row, merge: EventMerge, db: Db): 'added' | 'known' | 'left-out' {
  const data = parseJson(String(row.data));
  if (!isRecord(data) || !EVENT_TYPES.some((type) => type === row.type)) return 'left-out';
  if (row.type === 'tool_error' && typeof data.error === 'string' && isForgotten(data.error, db))
    return 'left-out';
  if (row.type === 'session_summary') return putEvent(withoutForgotten(row, data, db), merge, db);
  return putEvent({ row, data }, merge, db);
}

type Event = { readonly row: Row; readonly data: Json };

/** A summary names the errors of its session, those among them that are to be forgotten. */
function withoutForgotten(row: Row, data: Json, db: Db): Event {
  const { uniqueErrors } = data;
  if (!Array.isArray(uniqueErrors)) return { row, data };
  const kept = uniqueErrors.filter((error) => typeof error !== 'string' || !isForgotten(error, db));
  if (kept.length === uniqueErrors.length) return { row, data };
  const rest = { ...data, uniqueErrors: kept };
  return { row: { ...row, data: JSON.stringify(rest) }, data: rest };
}

function putEvent({ row, data }: Event, { adopted, matched }: EventMerge, db: Db): 'added' | 'known' {
  const hasTime = hasOwnTime(row, adopted);
  const isCall = row.type === 'tool_use' || row.type === 'tool_error';
  const [from, until] = hasTime
    ? around(String(row.ts), isCall ? NAMELESS_LATER_MS_MAX : CLOCK_MS_MAX)
    : ['', '~'];
  const others = db.sqlite.all(
    'SELECT id, type, ts, data FROM events WHERE session_id = ? AND ts BETWEEN ? AND ? AND type = ? ORDER BY id',
    value(row.session_id),
    from,
    until,
    value(row.type),
  );
  const same =
    others.find((other) => isSameEvent(other, { row, data, hasTime })) ??
    (isCall && hasTime ? findCall({ row, data }, { others, matched }, db) : undefined);
  if (same !== undefined) {
    matched.add(Number(same.id));
    return 'known';
  }
  const columns = ['v', 'type', 'ts', 'session_id', 'project', 'project_path', 'data'];
  matched.add(insert('events', columns, row, db));
  return 'added';
}

function hasOwnTime({ ts }: Row, { from, until }: Span): boolean {
  return String(ts) < from || String(ts) > until;
}

type Sought = Event & { readonly hasTime: boolean };

function isSameEvent(other: Row, { row, data, hasTime }: Sought): boolean {
  if (other.data === row.data && (!hasTime || other.ts === row.ts || row.type === 'prompt')) return true;
  const otherData = parseJson(String(other.data));
  return isRecord(otherData) && data.toolUseId !== undefined && otherData.toolUseId === data.toolUseId;
}

type Others = { readonly others: readonly Row[]; readonly matched: ReadonlySet<number> };

/** The same call where only one of the two knows its id. Ours gets it from theirs. */
function findCall({ row, data }: Event, { others, matched }: Others, db: Db): Row | undefined {
  const { toolUseId } = data;
  const look = lookOf({ row, data });
  const found = mostLike(others, (other) => {
    const otherData = parseJson(String(other.data));
    if (matched.has(Number(other.id)) || !isRecord(otherData)) return 0;
    const otherLook = lookOf({ row: other, data: otherData });
    if (isNameless(data) === isNameless(otherData)) return 0;
    return isNameless(data) ? likeness(look, otherLook) : likeness(otherLook, look);
  });
  if (found !== undefined && typeof toolUseId === 'string') nameCall(Number(found.id), toolUseId, db);
  return found;
}

function lookOf({ row, data }: Event): CallLook {
  return { type: row.type, ts: String(row.ts), tool: data.tool, error: data.error };
}

function isNameless({ toolUseId }: Json): boolean {
  return toolUseId === undefined || toolUseId === null;
}

function around(ts: string, byMs: number): [string, string] {
  const atMs = Date.parse(ts);
  if (Number.isNaN(atMs)) return [ts, ts];
  const iso = (ms: number) => new Date(ms).toISOString();
  return [iso(atMs - byMs), iso(atMs + byMs)];
}

const ERROR_COLUMNS = [
  'ts',
  'error_normalized',
  'error_raw',
  'resolution',
  'resolved_by',
  'tool_sequence',
  'use_count',
  'last_used',
  'project_path',
  'seen_count',
  'shown_count',
];

function mergeError(row: Row, source: Db, db: Db): void {
  if (isForgotten(String(row.error_normalized), db)) return;
  const merged = db.sqlite.get(
    `INSERT INTO error_kb(${ERROR_COLUMNS.join(', ')}) VALUES (${ERROR_COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET
       ts = MAX(ts, excluded.ts),
       error_raw = COALESCE(error_raw, excluded.error_raw),
       resolved_by = CASE WHEN resolution IS NULL THEN excluded.resolved_by ELSE resolved_by END,
       tool_sequence = CASE WHEN resolution IS NULL THEN excluded.tool_sequence ELSE tool_sequence END,
       resolution = COALESCE(resolution, excluded.resolution),
       use_count = MAX(COALESCE(use_count, 0), COALESCE(excluded.use_count, 0)),
       last_used = MAX(COALESCE(last_used, excluded.last_used), COALESCE(excluded.last_used, last_used)),
       seen_count = MAX(seen_count, excluded.seen_count),
       shown_count = MAX(shown_count, excluded.shown_count)
     RETURNING id`,
    ...ERROR_COLUMNS.map((column) => value(row[column])),
  );
  const files = source.sqlite.all(
    'SELECT project_path, file FROM error_files WHERE kb_id = ?',
    Number(row.id),
  );
  for (const { project_path, file } of files) {
    db.sqlite.run(
      'INSERT OR IGNORE INTO error_files(project_path, file, kb_id) VALUES (?, ?, ?)',
      value(project_path),
      value(file),
      Number(merged?.id),
    );
  }
}

function mergeFeedback(row: Row, adopted: Span, db: Db): boolean {
  const hasTime = hasOwnTime(row, adopted);
  const same = db.sqlite.get(
    'SELECT 1 FROM feedback WHERE suggestion_id = ? AND action = ? AND (ts = ? OR ? = 0)',
    value(row.suggestion_id),
    value(row.action),
    value(row.ts),
    Number(hasTime),
  );
  if (same === undefined)
    insert('feedback', ['v', 'ts', 'suggestion_id', 'action', 'suggestion_type', 'summary'], row, db);
  return same === undefined;
}

const SUGGESTION_COLUMNS = [
  ...[
    'id',
    'ts',
    'last_ts',
    'project',
    'project_path',
    'origin',
    'type',
    'status',
    'summary',
    'evidence',
    'text',
  ],
  ...['priority', 'details', 'decided_ts', 'why'],
];

/**
 * What the user refused there stays refused here. What was applied there is in files that may not be here, so it waits
 * for a decision.
 */
function mergeSuggestions(source: Db, db: Db): void {
  for (const row of source.sqlite.all('SELECT * FROM suggestions')) {
    const there = row.status === 'applied' ? { ...row, status: 'shown', decided_ts: null } : row;
    db.sqlite.run(
      `INSERT INTO suggestions(${SUGGESTION_COLUMNS.join(', ')})
       VALUES (${SUGGESTION_COLUMNS.map(() => '?').join(', ')})
       ON CONFLICT(id) DO UPDATE SET status = excluded.status, decided_ts = excluded.decided_ts, why = excluded.why
       WHERE excluded.status = 'dismissed' AND status IN ('new', 'shown', 'expired')`,
      ...SUGGESTION_COLUMNS.map((column) => value(there[column as keyof typeof there])),
    );
  }
}

function mergeAnalysis(row: Row, db: Db): boolean {
  const same = db.sqlite.get(
    `SELECT 1 FROM analysis_cache
     WHERE project IS ? AND (analysis = ? OR (days IS ? AND input_hash = ?))`,
    value(row.project),
    value(row.analysis),
    value(row.days),
    value(row.input_hash),
  );
  if (same === undefined)
    insert('analysis_cache', ['ts', 'project', 'days', 'input_hash', 'analysis', 'project_path'], row, db);
  return same === undefined;
}

function insert(table: string, columns: readonly string[], row: Row, db: Db): number {
  return db.sqlite.run(
    `INSERT INTO ${table}(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...columns.map((column) => value(row[column])),
  ).lastInsertRowid;
}

/** A column's value; what SQLite holds beside text and numbers has no meaning to us. */
function value(found: unknown): Value {
  return typeof found === 'string' || typeof found === 'number' ? found : null;
}
