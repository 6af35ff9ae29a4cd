import { existsSync } from 'node:fs';
import { type AnalysisRun, listAnalysisRuns } from '../analysis/analysis-store.ts';
import { callIdIn } from '../core/call-client.ts';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { readRecords, readString, reasonOf } from '../core/guards.ts';
import { isInstructionShaped } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { resolutionText } from '../core/told-texts.ts';
import { type Db, SCHEMA_VERSION, schemaVersion } from '../database/connection.ts';
import { getDb } from '../database/db.ts';
import { queryEvents } from '../database/events.ts';
import { type GivenContext, listGiven, waitingGiven } from '../database/given-contexts.ts';
import { recordIn, type Sqlite, sqliteErrorCode, textIn } from '../database/sqlite.ts';
import { readDatabase } from '../hooks/store/use-database.ts';

/** Reads the database for doctor, status and uninstall; no hook needs this. */

const BUSY_TIMEOUT_MS = 5000;

export type DatabaseState =
  | { readonly kind: 'absent' }
  /** Not a database (then it is foreign), or one that cannot be opened or read now. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly isForeign: boolean }
  | { readonly kind: 'damaged'; readonly findings: readonly string[] }
  | {
      readonly kind: 'sound';
      readonly schemaVersion: number;
      readonly isCurrent: boolean;
      readonly counts: ReturnType<typeof countRows>;
    };

/** Opens the database for reading and checks it thoroughly. Never throws, changes nothing. */
export function inspectDatabase(paths: StatePaths): DatabaseState {
  let db: Db | undefined;
  try {
    db = getDb(paths, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    if (db === undefined)
      return existsSync(paths.database)
        ? { kind: 'unreadable', reason: 'it cannot be opened', isForeign: false }
        : { kind: 'absent' };
    const findings = db.sqlite.all('PRAGMA integrity_check(5)').map((row) => String(row.integrity_check));
    if (findings.join() !== 'ok') return { kind: 'damaged', findings };
    const version = schemaVersion(db.sqlite);
    const isCurrent = version === SCHEMA_VERSION;
    return { kind: 'sound', schemaVersion: version, isCurrent, counts: countRows(db) };
  } catch (error) {
    const isForeign = /NOTADB|CORRUPT/.test(sqliteErrorCode(error) ?? '');
    return { kind: 'unreadable', reason: reasonOf(error), isForeign };
  } finally {
    db?.sqlite.close();
  }
}

/** Counts what is recorded, also in a database of another schema, whose missing columns count as empty. */
function countRows({ sqlite, shape: { has } }: Db) {
  const first = (table: 'events' | 'error_kb', column: string, selection: string) =>
    has(table, column) ? Object.values(sqlite.get(`SELECT ${selection}`) ?? {})[0] : undefined;
  const byType = has('events', 'type')
    ? sqlite.all('SELECT type, COUNT(*) AS n FROM events GROUP BY type')
    : [];
  const fixes = 'COUNT(*) FROM error_kb WHERE resolution IS';
  return {
    events: Object.fromEntries(byType.map((row) => [String(row.type), Number(row.n)])),
    calls: has('events', 'data') ? countCalls(sqlite) : {},
    projects: Number(first('events', 'project_path', 'COUNT(DISTINCT project_path) FROM events') ?? 0),
    knownFixes: Number(first('error_kb', 'resolution', `${fixes} NOT NULL`) ?? 0),
    openErrors: Number(first('error_kb', 'state', `${fixes} NULL AND COALESCE(state, 'open') = 'open'`) ?? 0),
    firstEvent: textIn(first('events', 'ts', 'MIN(ts) FROM events')),
    lastEvent: textIn(first('events', 'ts', 'MAX(ts) FROM events')),
  };
}

/** How many calls of each client other than Claude Code are recorded. */
function countCalls(sqlite: Sqlite): Readonly<Record<string, number>> {
  const id = "CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END"; // As in the index.
  const sql = `SELECT COUNT(*) AS n FROM events WHERE type IN ('tool_use', 'tool_error') AND ${id} BETWEEN ? AND ?`;
  const count = (name: string) => Number(sqlite.get(sql, callIdIn(name, ''), callIdIn(name, '~'))?.n ?? 0);
  const counts = CLIENT_NAMES.filter((name) => name !== 'claude').map((name) => [name, count(name)] as const);
  return Object.fromEntries(counts.filter(([, calls]) => calls > 0));
}

const LOOKED_AT_MAX = 500;

/** Stored texts that agents are not given because they are shaped like instructions. */
export function listWithheld(paths: StatePaths) {
  const withheld = readDatabase(paths, (db) => {
    const errors = queryEvents({ type: 'tool_error', limit: LOOKED_AT_MAX }, db).map((event) =>
      String(event.said ?? event.error),
    );
    const newest = 'WHERE resolution IS NOT NULL ORDER BY rowid DESC LIMIT ?';
    const fixes = db.shape.has('error_kb', 'resolution')
      ? db.sqlite
          .all(`SELECT resolution FROM error_kb ${newest}`, LOOKED_AT_MAX)
          .map((row) => resolutionText(String(row.resolution)))
      : [];
    const shaped = (source: 'error' | 'fix', texts: string[]) =>
      [...new Set(texts)].filter(isInstructionShaped).map((text) => ({ source, text }));
    return [...shaped('error', errors), ...shaped('fix', fixes)];
  });
  return withheld ?? [];
}

/** What apply wrote for a suggestion, as far as setup needs to know. */
export type AppliedFile = {
  readonly id: string;
  readonly type: string;
  readonly path: string;
  /** Of a file that is ours as a whole; of a hook: it is code, which an earlier version wrote. */
  readonly sha256: string | undefined;
};

/** The files that applied suggestions have changed. @throws what SQLite throws. */
export function listAppliedFiles(paths: StatePaths): AppliedFile[] {
  const rows = readDatabase(paths, (db) =>
    db.shape.has('suggestions', 'status')
      ? db.sqlite.all(
          `SELECT id, type, applied FROM suggestions
           WHERE status = 'applied' AND type IN ('skill', 'claude_md', 'hook') ORDER BY priority DESC, ts, id`,
        )
      : [],
  );
  return (rows ?? []).flatMap(({ id, type, applied }) => {
    const record = recordIn(applied);
    const sha256 = readString(record, 'sha256');
    return [record, ...readRecords(record.others)].flatMap((file) => {
      const path = readString(file, 'path');
      return path === undefined ? [] : [{ id: String(id), type: String(type), path, sha256 }];
    });
  });
}

/** What the learning loop has done lately: the newest analyses, how many suggestions have each status, what agents were given. */
export type LearningState = {
  readonly runs: readonly AnalysisRun[];
  readonly suggestions: Readonly<Record<string, number>>;
  readonly given: readonly GivenContext[];
};

/** The newest of each, including what sub-agents were given and no writer has stored yet. */
export function inspectLearning(paths: StatePaths, limit: number): LearningState {
  const waiting = waitingGiven(paths);
  const stored = readDatabase(paths, (db) => {
    if (!db.isOwn) return undefined;
    const counts = db.sqlite.all(
      'SELECT status, COUNT(*) AS n FROM suggestions GROUP BY status ORDER BY status',
    );
    const suggestions = Object.fromEntries(counts.map((row) => [String(row.status), Number(row.n)]));
    return { runs: listAnalysisRuns(limit, db), suggestions, given: listGiven(limit, db) };
  });
  const { runs = [], suggestions = {}, given = [] } = stored ?? {};
  const known = new Set(given.map(({ agentId }) => agentId));
  const all = [...waiting.filter(({ agentId }) => !known.has(agentId)), ...given];
  all.sort((left, right) => (left.ts < right.ts ? 1 : -1));
  return { runs, suggestions, given: all.slice(0, limit) };
}

/** The lessons that most sessions have shown. */
export function listNewestFixes(paths: StatePaths, limit: number) {
  const fixes = readDatabase(paths, (db) => {
    const sql =
      'SELECT * FROM error_kb WHERE resolution IS NOT NULL ORDER BY sessions DESC, last_used DESC, id DESC LIMIT ?';
    return (db.isOwn ? db.sqlite.all(sql, limit) : []).map((row) => ({
      error: String(row.said ?? row.error_normalized),
      fix: resolutionText(String(row.resolution)),
      project: String(row.project_path),
      solved: Number(row.use_count),
      seen: Number(row.seen_count),
      shown: Number(row.shown_count),
    }));
  });
  return fixes ?? [];
}

export type KnownProject = { readonly name: string; readonly path: string; readonly events: number };

/** The projects of which something is recorded or known, the largest first: lessons outlive the events that taught them. */
export function listProjects(db: Db): KnownProject[] {
  if (!db.shape.has('events', 'project_path')) return [];
  const learned = db.shape.has('error_kb', 'project_path')
    ? `UNION ALL SELECT project_path, NULL, 0 FROM error_kb WHERE project_path <> ''`
    : '';
  return db.sqlite
    .all(
      `SELECT path, MAX(name) AS name, SUM(events) AS events FROM (
         SELECT project_path AS path, MAX(project) AS name, COUNT(*) AS events FROM events
         WHERE project_path IS NOT NULL GROUP BY project_path ${learned})
       GROUP BY path ORDER BY events DESC`,
    )
    .map(({ path, name, events }) => ({
      name: String(name ?? getProjectName(String(path))),
      path: String(path),
      events: Number(events),
    }));
}

/** Whether anything is recorded or known of this path. */
export function isRecorded(projectPath: string, db: Db): boolean {
  const tables = ['events', 'error_kb'].filter((table) => db.shape.has(table, 'project_path'));
  return tables.some(
    (table) =>
      db.sqlite.get(`SELECT 1 FROM ${table} WHERE project_path = ? LIMIT 1`, projectPath) !== undefined,
  );
}
