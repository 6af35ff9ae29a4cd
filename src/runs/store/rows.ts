import { definedOnly, parseJson } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText, oneLine } from '../../core/text.ts';
import { openToRead, schemaVersion } from '../../database/connection.ts';
import { closing, DOCTOR, openForWriting, saying, switchToWal } from '../../database/db.ts';
import { type Row, type Sqlite, textIn, type Value } from '../../database/sqlite.ts';
import type { Exit, ProcessIdentity } from '../../system/process-identity.ts';
import { type Part, partKey, partOf } from '../model/part.ts';
import { readPermissions } from '../model/permissions.ts';
import type { Requester, Run } from '../model/run.ts';
import type { Stop, Turn, Usage } from '../model/turn.ts';
import first from './schema/runs-001.sql' with { type: 'text' };
import second from './schema/runs-002.sql' with { type: 'text' };
import third from './schema/runs-003.sql' with { type: 'text' };
import fourth from './schema/runs-004.sql' with { type: 'text' };
import fifth from './schema/runs-005.sql' with { type: 'text' };
import sixth from './schema/runs-006.sql' with { type: 'text' };

/** Rows as values, and values as rows. Nothing is checked again: only this program writes this database. */

/** Word for word as in the partial index on turns. */
export const IS_ACTIVE = "state IN ('queued', 'starting', 'running', 'stopping')";

/**
 * The turns that have not ended, with their runs, always by that index: the planner sometimes prefers to scan all runs of a
 * requester. For `FROM`; a condition may follow.
 */
export const ACTIVE_TURNS = `turns INDEXED BY turns_active CROSS JOIN runs ON runs.id = turns.run_id
  WHERE turns.${IS_ACTIVE}`;

/** The turn has a slot. */
export const IS_STARTED = "state IN ('starting', 'running', 'stopping')";

/** The column of each property. */
export type ColumnsOf<T> = { readonly [K in keyof T & string]-?: string };

const REQUESTER: ColumnsOf<Requester> = {
  ...{ key: 'requester', session: 'requester_session', client: 'requester_client', cwd: 'requester_cwd' },
};
const MODEL: ColumnsOf<Run['model']> = {
  ...{ requested: 'model_requested', resolved: 'model_resolved', observed: 'model_observed' },
};
const RUN_JSON = {
  ...{ worktree: 'worktree', policy: 'policy', gaps: 'gaps', terminal: 'terminal' },
  ...{ profile: 'profile', handover: 'handover', pool: 'pool' },
} as const;
const RUN: ColumnsOf<Omit<Run, keyof typeof RUN_JSON | 'requester' | 'model' | 'permissions' | 'part'>> = {
  ...{ id: 'id', number: 'number', childKey: 'child_key', agentId: 'agent_id', client: 'client' },
  ...{ label: 'label', task: 'task', thinking: 'thinking', cleanup: 'cleanup', cwd: 'cwd' },
  ...{ runTimeoutMs: 'run_timeout_ms', worktreeMode: 'worktree_mode', agentDir: 'agent_dir' },
  ...{ sessionId: 'session_id', warning: 'warning', archiveAfterMs: 'archive_after_ms' },
  ...{ createdAtMs: 'created_at', archiveAtMs: 'archive_at', archivedAtMs: 'archived_at' },
  instructions: 'instructions',
};

/** What says whether a turn has a living supervisor, without its texts. */
export type TurnLiveness = Pick<Turn, keyof typeof LIVENESS | 'owner' | 'process'>;

const LIVENESS = {
  ...{ runId: 'run_id', number: 'number', state: 'state', version: 'version' },
  ...{ queuedAtMs: 'queued_at', claimedAtMs: 'claimed_at' },
} as const;
export const OWNER: ColumnsOf<ProcessIdentity> = {
  pid: 'owner_pid',
  start: 'owner_start',
  boot: 'owner_boot',
};
export const PROCESS: ColumnsOf<ProcessIdentity> = { pid: 'pid', start: 'pid_start', boot: 'pid_boot' };
const STOP: ColumnsOf<Stop> = {
  ...{ reason: 'stop_reason', by: 'stop_by', atMs: 'stop_at', session: 'stop_session' },
};
const EXIT: ColumnsOf<Exit> = { code: 'exit_code', signal: 'exit_signal' };
const USAGE: ColumnsOf<Usage> = {
  ...{ inputTokens: 'tokens_in', outputTokens: 'tokens_out', costUsd: 'cost_usd', costSource: 'cost_source' },
  ...{ cacheReadTokens: 'tokens_cache_read', cacheWriteTokens: 'tokens_cache_write', model: 'model' },
};
const TURN: ColumnsOf<
  Omit<Turn, keyof TurnLiveness | 'stop' | 'exit' | 'usage' | 'permissions' | 'notes' | 'ahead'>
> = {
  ...{ kind: 'kind', announces: 'announces', message: 'message', session: 'session', result: 'result' },
  ...{ startedAtMs: 'started_at', endedAtMs: 'ended_at', deadlineAtMs: 'deadline_at' },
  ...{ launchedAtMs: 'launched_at', error: 'error', name: 'name' },
};

/** The columns by which a TurnLiveness is read. */
export const LIVENESS_COLUMNS = [LIVENESS, OWNER, PROCESS].flatMap(Object.values).join(', ');

/** The value in these columns of a row; null where one has nothing, or is not there yet. */
export function read<T>(row: Row, columns: ColumnsOf<T>, parse = (stored: unknown) => stored): T {
  const names: Readonly<Record<string, string>> = columns;
  const value: Row = {};
  // Not by Object.entries(): that would take most of the time of a long list.
  for (const property in names) value[property] = parse(row[names[property] ?? ''] ?? null);
  return value as T;
}

/** The run of a row of `runs`. */
export function readRun(row: Row): Run {
  return {
    ...read(row, RUN),
    ...read<Pick<Run, keyof typeof RUN_JSON>>(row, RUN_JSON, json),
    requester: read(row, REQUESTER),
    model: read(row, MODEL),
    permissions: readPermissions(json(row.permissions)),
    part: partIn(row),
  };
}

/** The part in a row with that column of `runs`; null: its run is a sub-agent. */
export function partIn(row: Row): Part | null {
  return partOf(textIn(row.part) ?? '') ?? null;
}

/** The liveness of a row of `turns`. */
export function readLiveness(row: Row): TurnLiveness {
  const watch = read<Omit<TurnLiveness, 'owner' | 'process'>>(row, LIVENESS);
  return { ...watch, owner: readIf('pid', row, OWNER), process: readIf('pid', row, PROCESS) };
}

/** The turn of a row of `turns`. */
export function readTurn(row: Row): Turn {
  const { session, ...stop } = readIf('reason', row, STOP) ?? { reason: null };
  const exit = read(row, EXIT);
  return {
    ...readLiveness(row),
    ...read(row, TURN),
    permissions: typeof row.permissions === 'string' ? readPermissions(json(row.permissions)) : null,
    stop: stop.reason === null ? null : { ...stop, ...(session != null && { session }) },
    usage: readUsage(row),
    notes: json(row.notes) as readonly string[],
    exit: exit.code === null && exit.signal === null ? null : exit,
    ahead: row.ahead === 1,
  };
}

/** The usage in a row with the columns of `turns`. */
export function readUsage(row: Row): Usage {
  return read(row, USAGE);
}

/** Columns and their new values. The names are constants of this program. */
export type Columns = Record<string, Value>;

/** The columns of those properties of a run that are given. */
export function runColumns(
  run: Partial<Omit<Run, 'model'> & { readonly model: Partial<Run['model']> }>,
): Columns {
  const { requester = {}, model = {}, part } = run;
  const stored = { ...run, part: part && partKey(part) };
  const own = written(stored, { ...RUN, ...RUN_JSON, permissions: 'permissions', part: 'part' });
  return { ...own, ...written(requester, REQUESTER), ...written(model, MODEL) };
}

/** The columns of those properties of a turn that are given. */
export function turnColumns({ owner, process, stop, exit, usage, ...turn }: Partial<Turn>): Columns {
  return {
    ...written(turn, { ...LIVENESS, ...TURN, permissions: 'permissions', notes: 'notes' }),
    ...whole(owner, OWNER),
    ...whole(process, PROCESS),
    ...whole(stop, STOP),
    ...whole(exit, EXIT),
    ...whole(usage, USAGE),
  };
}

/** The assignments of these columns, and their values. */
export function assigned(columns: Columns): readonly [string[], Value[]] {
  return [Object.keys(columns).map((name) => `${name} = ?`), Object.values(columns)];
}

function readIf<T>(property: keyof T & string, row: Row, columns: ColumnsOf<T>): T | null {
  return row[columns[property]] == null ? null : read(row, columns);
}

function written(value: object, columns: Readonly<Record<string, string>>): Columns {
  const stored = Object.entries(columns).map(([property, column]) => {
    const one: unknown = (value as Row)[property];
    return [column, typeof one === 'object' && one !== null ? JSON.stringify(one) : one] as const;
  });
  return definedOnly(Object.fromEntries(stored) as Record<string, Value | undefined>);
}

/** All of its columns: null clears them. */
function whole(value: object | null | undefined, columns: Readonly<Record<string, string>>): Columns {
  if (value === undefined) return {};
  const none = Object.fromEntries(Object.values(columns).map((column) => [column, null]));
  return { ...none, ...(value && written(value, columns)) };
}

function json(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : null;
}

/** An entry of a run's event log, which `info` shows. */
export type RunEvent = {
  /** Null: of no run. */
  readonly runId: string | null;
  readonly turn: number | null;
  readonly atMs: number;
  /** Who did it: a command, the supervisor, the server. */
  readonly actor: string;
  readonly type: string;
  readonly detail: string;
};

const EVENT: ColumnsOf<RunEvent> = {
  ...{ runId: 'run_id', turn: 'turn', atMs: 'at', actor: 'actor', type: 'type', detail: 'detail' },
};
const EVENTS_PER_RUN_MAX = 200;
const WORD_LENGTH_MAX = 100;
const DETAIL_LENGTH_MAX = 1000;

/**
 * Adds an event; of each run the newest 200 are kept. The detail has to be without secrets; it is cut to one line. `once`:
 * for each turn, since a supervisor that takes over reads the same output again.
 */
export function addRunEvent(event: RunEvent, db: Sqlite, { once } = { once: false }): void {
  const { runId, turn, atMs } = event;
  const actor = cutText(oneLine(event.actor), WORD_LENGTH_MAX);
  const type = cutText(oneLine(event.type), WORD_LENGTH_MAX);
  const detail = cutText(oneLine(event.detail), DETAIL_LENGTH_MAX);
  const same = 'SELECT 1 FROM run_events WHERE run_id IS ? AND turn IS ? AND type = ? AND detail = ?';
  db.transaction(() => {
    if (once && db.get(same, runId, turn, type, detail) !== undefined) return;
    db.run(
      'INSERT INTO run_events(run_id, turn, at, actor, type, detail) VALUES (?, ?, ?, ?, ?, ?)',
      ...[runId, turn, atMs, actor, type, detail],
    );
    db.run(
      `DELETE FROM run_events WHERE run_id IS ?
         AND id <= (SELECT id FROM run_events WHERE run_id IS ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
      ...[runId, runId, EVENTS_PER_RUN_MAX],
    );
  });
}

/** The newest events of a run, the oldest of them first. */
export function runEvents(runId: string | null, limit: number, db: Sqlite): RunEvent[] {
  return db
    .all('SELECT * FROM run_events WHERE run_id IS ? ORDER BY id DESC LIMIT ?', runId, limit)
    .reverse()
    .map((row) => read(row, EVENT));
}

/**
 * The database of background runs. It stands beside the knowledge database and not in it: hooks write that one all the
 * time and may lose a row, while an accepted run and a finished result must survive a power failure.
 */

const BUSY_TIMEOUT_MS = 5000;
/** Each brings the schema from the version that is its place here to the next. */
const MIGRATIONS = [first, second, third, fourth, fifth, sixth];
const RUNS_SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Opens the database for writing, made or brought up to date. A transaction() inside another one is part of it, so that
 * what each function of the store does at once can be done at once with other things; what throws inside has to leave
 * the outermost one too. Throws what SQLite throws.
 */
export function openRunsDb(paths: StatePaths): Sqlite {
  const sqlite = openForWriting(paths.runsDatabase, BUSY_TIMEOUT_MS);
  try {
    migrateRuns(sqlite, paths);
    sqlite.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    return joiningTransactions(sqlite);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Writes. @throws Error that names the file and what to do when the database cannot be written. */
export function withRuns<T>(paths: StatePaths, work: (db: Sqlite) => T): T {
  const open = () => {
    const db = openRunsDb(paths);
    return closing(db, () => work(db));
  };
  return saying('write', paths.runsDatabase, open, advice);
}

/** Writes all or nothing, with the lock from the beginning. @throws Error as withRuns() */
export function runsTransaction<T>(paths: StatePaths, work: (db: Sqlite) => T): T {
  return withRuns(paths, (db) => db.transaction(() => work(db)));
}

/** Reads, after bringing the database up to date; undefined when there is none. @throws Error that names the file and what to do. */
export function readRuns<T>(paths: StatePaths, work: (db: Sqlite) => T): T | undefined {
  const open = () => {
    const db = openForReading(paths);
    return db && closing(db, () => work(db));
  };
  return saying('read', paths.runsDatabase, open, advice);
}

/** How often who waits checks the database for changes, which is cheap. */
export const LOOK_MS = 200;

/** A number that is another one when another connection has written. */
export function dataVersion(db: Sqlite): number {
  return Number(db.get('PRAGMA data_version')?.data_version);
}

function openForReading(paths: StatePaths): Sqlite | undefined {
  const look = (sqlite: Sqlite) => {
    const version = schemaVersion(sqlite);
    refuseNewer(version, paths);
    return { sqlite, version };
  };
  const found = openToRead(paths.runsDatabase, BUSY_TIMEOUT_MS, look);
  if (found?.version === RUNS_SCHEMA_VERSION) return found.sqlite;
  found?.sqlite.close();
  if (found === undefined || found.version === 0) return undefined;
  // What is read names columns that an earlier version has not.
  openRunsDb(paths).close();
  return openToRead(paths.runsDatabase, BUSY_TIMEOUT_MS, (sqlite) => sqlite);
}

function migrateRuns(sqlite: Sqlite, paths: StatePaths): void {
  const found = schemaVersion(sqlite);
  refuseNewer(found, paths);
  if (found === RUNS_SCHEMA_VERSION) return;
  switchToWal(sqlite);
  sqlite.transaction(() => {
    // Another process may have been faster between the look above and the lock.
    for (const migration of MIGRATIONS.slice(schemaVersion(sqlite))) sqlite.exec(migration);
  });
}

function refuseNewer(found: number, paths: StatePaths): void {
  if (found <= RUNS_SCHEMA_VERSION) return;
  throw new Error(
    `Cannot use "${paths.runsDatabase}": its schema version is ${found}, this program knows ${RUNS_SCHEMA_VERSION}. Update self-generation`,
  );
}

function joiningTransactions(sqlite: Sqlite): Sqlite {
  let isInside = false;
  const transaction = <T>(work: () => T): T => {
    if (isInside) return work();
    isInside = true;
    try {
      return sqlite.transaction(work);
    } finally {
      isInside = false;
    }
  };
  return { ...sqlite, transaction };
}

function advice(code: string): string {
  if (code.startsWith('SQLITE_BUSY')) return 'Another process holds it: try again';
  if (code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_IOERR'))
    return 'Free some space on that disk and try again';
  return DOCTOR;
}

const IS_IDLE = `NOT EXISTS (SELECT 1 FROM turns WHERE run_id = runs.id AND turns.${IS_ACTIVE})
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE run_id = runs.id AND outbox.state IN ('pending', 'leased'))`;

/** Computes the time of archiving: none unless the run is idle; then as long after its last change as it says, at once for `delete`. */
export function scheduleArchive(runId: string, db: Sqlite): void {
  db.run(
    `UPDATE runs SET archive_at = CASE
       WHEN NOT (${IS_IDLE}) THEN NULL
       WHEN cleanup = 'delete' THEN ${LAST_CHANGE}
       WHEN archive_after_ms > 0 THEN ${LAST_CHANGE} + archive_after_ms
     END WHERE id = ? AND archived_at IS NULL`,
    runId,
  );
}

const LAST_CHANGE = `MAX(created_at,
  COALESCE((SELECT MAX(ended_at) FROM turns WHERE run_id = runs.id), 0),
  COALESCE((SELECT MAX(settled_at) FROM outbox WHERE run_id = runs.id), 0))`;

/** The runs that are due, the longest first, and still idle. */
export function dueArchives(nowMs: number, limit: number, db: Sqlite): Run[] {
  const isDue = `archived_at IS NULL AND archive_at IS NOT NULL AND archive_at <= ? AND ${IS_IDLE}`;
  const sql = `SELECT * FROM runs WHERE ${isDue} ORDER BY archive_at LIMIT ?`;
  return db.all(sql, nowMs, limit).map(readRun);
}

/** Postpones a run that could not be archived, so that it does not block the others. */
export function postponeArchive(runId: string, untilMs: number, db: Sqlite): void {
  db.run(
    'UPDATE runs SET archive_at = ? WHERE id = ? AND archived_at IS NULL AND archive_at < ?',
    ...[untilMs, runId, untilMs],
  );
}

/** Marks a run as archived and drops what it was handed; false if it is no longer idle. Can be repeated. */
export function setArchived(runId: string, nowMs: number, db: Sqlite): boolean {
  db.run(`UPDATE runs SET archived_at = ? WHERE id = ? AND archived_at IS NULL AND ${IS_IDLE}`, nowMs, runId);
  const isArchived =
    typeof db.get('SELECT archived_at FROM runs WHERE id = ?', runId)?.archived_at === 'number';
  if (isArchived) db.run('DELETE FROM handovers WHERE run_id = ?', runId);
  return isArchived;
}
