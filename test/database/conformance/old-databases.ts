import { openSqlite } from '#sqlite';
import type { StatePaths } from '../../../src/core/state-paths.ts';
import { makeDataFolder, time } from './context.ts';

/** Databases as earlier implementations left them. */

const EVENTS = `CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER DEFAULT 1, type TEXT NOT NULL, ts TEXT NOT NULL,
  session_id TEXT NOT NULL, project TEXT, project_path TEXT, data JSON NOT NULL);
  CREATE INDEX idx_events_session ON events(session_id, ts);
  CREATE INDEX idx_events_project_type ON events(project_path, type, ts);
  CREATE INDEX idx_events_type_ts ON events(type, ts);
  CREATE INDEX idx_events_session_type ON events(session_id, type);`;

const ERROR_KB = `CREATE TABLE error_kb (
  id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, error_normalized TEXT NOT NULL, error_raw TEXT,
  resolution TEXT, resolved_by TEXT, tool_sequence TEXT, use_count INTEGER DEFAULT 0, last_used TEXT);`;
const ERROR_KB_UNIQUE = 'CREATE UNIQUE INDEX idx_error_kb_error ON error_kb(error_normalized);';

const OTHERS = `CREATE TABLE feedback (
  id INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER DEFAULT 1, ts TEXT NOT NULL, suggestion_id TEXT NOT NULL,
  action TEXT NOT NULL, suggestion_type TEXT, summary TEXT);
  CREATE TABLE analysis_cache (
  id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, project TEXT, days INTEGER, analysis JSON NOT NULL);
  CREATE TABLE skill_embeddings (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, source_path TEXT NOT NULL, description TEXT,
  keywords TEXT, updated_at TEXT NOT NULL);`;

/** The search of the predecessor: its content table lacks the column \`text\`, and its delete trigger damages it. */
const SEARCH = `CREATE VIRTUAL TABLE events_fts USING fts5(type, text, content='events', content_rowid='id');
  CREATE TRIGGER events_fts_insert AFTER INSERT ON events BEGIN
    INSERT INTO events_fts(rowid, type, text)
    VALUES (NEW.id, NEW.type, COALESCE(json_extract(NEW.data, '$.text'), json_extract(NEW.data, '$.error')));
  END;
  CREATE TRIGGER events_fts_delete AFTER DELETE ON events BEGIN
    INSERT INTO events_fts(events_fts, rowid, type, text)
    VALUES ('delete', OLD.id, OLD.type, COALESCE(json_extract(OLD.data, '$.text'), json_extract(OLD.data, '$.error')));
  END;
  CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events table is INSERT-only. UPDATE is prohibited to maintain FTS5 consistency.');
  END;`;

const EVENT_ROWS = `INSERT INTO events(type, ts, session_id, project, project_path, data) VALUES
  ('prompt', '${time(-30)}', 'old', 'shop', '/home/dev/shop', '{"text":"remember the old words","charCount":22}'),
  ('tool_error', '${time(-20)}', 'old', 'shop', '/home/dev/shop', '{"tool":"Bash","error":"Error: old trouble","errorRaw":"x"}'),
  ('tool_use', '${time(-10)}', 'old', 'shop', '/home/dev/shop', '{"tool":"Bash","meta":{"command":"npm"},"success":true}');`;
const ERROR_ROWS = `INSERT INTO error_kb(ts, error_normalized, resolution, resolved_by, tool_sequence, use_count) VALUES
  ('${time(-20)}', 'Error: old trouble', '{"resolvedBy":"success_after_error","toolSequence":["Bash"]}',
   'success_after_error', '["Bash"]', 3);`;
const OTHER_ROWS = `INSERT INTO feedback(ts, suggestion_id, action) VALUES ('${time(-5)}', 'suggest-0', 'accepted');
  INSERT INTO analysis_cache(ts, project, days, analysis) VALUES
  ('${time(-5)}', 'shop', 7, '{"suggestions":[{"type":"claude_md","rule":"old rule"}]}');
  INSERT INTO skill_embeddings(name, source_path, updated_at) VALUES ('deploy', '/x', '${time(-5)}');`;

/** Everything the predecessor made, with WAL and its two rows of each kind. */
export const PREDECESSOR = `PRAGMA journal_mode = WAL; ${EVENTS} ${ERROR_KB} ${ERROR_KB_UNIQUE} ${OTHERS} ${SEARCH}
  ${EVENT_ROWS} ${ERROR_ROWS} ${OTHER_ROWS}`;

export type Partial = {
  readonly what: string;
  readonly sql: string;
  /** How many there are of each: an event and no error where nothing is said. */
  readonly events?: number;
  readonly errors?: number;
  /** Whether the old error's project path is known, so that queries by path find it. */
  readonly hasPath?: false;
};

const row = (columns: string, values: string) => `INSERT INTO events(${columns}) VALUES (${values});`;
const VALUES: Readonly<Record<string, string>> = {
  ...{ id: '7', type: "'tool_error'", ts: `'${time(-1)}'`, session_id: "'old'", host: "'h'" },
  ...{ project: "'shop'", project_path: "'/home/dev/shop'" },
  data: `'{"tool":"Bash","error":"Error: old trouble"}'`,
};
/** An old error, with these columns. */
function failed(columns = 'type, ts, session_id, project_path, data'): string {
  const values = columns.split(', ').map((name) => VALUES[name]);
  return row(columns, values.join(', '));
}

/** Databases that have only some of it. */
export const PARTIALS: readonly Partial[] = [
  {
    what: 'events without ts',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, type TEXT NOT NULL, session_id TEXT NOT NULL, project_path TEXT,
      data JSON NOT NULL); ${failed('type, session_id, project_path, data')}`,
  },
  {
    what: 'events without id',
    sql: `CREATE TABLE events(type TEXT NOT NULL, ts TEXT NOT NULL, session_id TEXT NOT NULL, project_path TEXT,
      data JSON NOT NULL); ${failed()}`,
  },
  {
    what: 'events without project_path and error_kb without indexes',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, type TEXT NOT NULL, ts TEXT NOT NULL, session_id TEXT NOT NULL,
      project TEXT, data JSON NOT NULL); ${ERROR_KB} ${ERROR_ROWS} ${failed('type, ts, session_id, project, data')}`,
    errors: 1,
    hasPath: false,
  },
  {
    what: 'columns in another order',
    sql: `CREATE TABLE events(data JSON NOT NULL, project_path TEXT, session_id TEXT NOT NULL, ts TEXT NOT NULL,
      type TEXT NOT NULL, id INTEGER PRIMARY KEY, project TEXT); CREATE VIEW broken AS SELECT * FROM gone;
      ${failed()}`,
  },
  {
    what: 'another NOT NULL column',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, type TEXT NOT NULL, ts TEXT NOT NULL, session_id TEXT NOT NULL,
      project_path TEXT, data JSON NOT NULL, host TEXT NOT NULL);
      ${failed('type, ts, session_id, project_path, data, host')}`,
  },
  {
    what: 'NULL in columns that must have a value, and a text id',
    sql: `CREATE TABLE events(id TEXT, type TEXT, ts TEXT, session_id TEXT, project TEXT, project_path TEXT, data JSON); ${failed()}
      INSERT INTO events(data) VALUES (NULL), ('{"text":"no columns"}');
      CREATE TABLE error_kb(id INTEGER PRIMARY KEY, ts TEXT, error_normalized TEXT, resolution TEXT, project_path TEXT);
      INSERT INTO error_kb(error_normalized, resolution) VALUES ('Error: old trouble', '{}'), (NULL, NULL), (NULL, '{}')`,
    events: 3,
    errors: 2,
  },
  {
    what: 'NULL in nullable columns of an otherwise complete table',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, v INTEGER, type TEXT, ts TEXT, session_id TEXT, project TEXT,
      project_path TEXT, data JSON); INSERT INTO events(type, data) VALUES (NULL, NULL); ${failed()}`,
    events: 2,
  },
  {
    what: 'an unfitting UNIQUE and a CHECK in the table itself',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, v INTEGER, type TEXT NOT NULL CHECK(type IN ('tool_error')),
      ts TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, project TEXT, project_path TEXT, data JSON NOT NULL); ${failed()}
      CREATE TABLE error_kb(id INTEGER PRIMARY KEY, ts TEXT NOT NULL, error_normalized TEXT NOT NULL UNIQUE,
      resolution TEXT); INSERT INTO error_kb VALUES (4, '${time(-9)}', 'Error: old trouble', '{}')`,
    errors: 1,
  },
  {
    what: 'tables without rowid',
    sql: `CREATE TABLE events(id INTEGER PRIMARY KEY, type TEXT NOT NULL, ts TEXT NOT NULL, session_id TEXT NOT NULL,
      project_path TEXT, data JSON NOT NULL) WITHOUT ROWID;
      ${failed('id, type, ts, session_id, project_path, data')}`,
  },
  { what: 'error_kb only', sql: `${ERROR_KB} ${ERROR_KB_UNIQUE} ${ERROR_ROWS}`, events: 0, errors: 1 },
  {
    what: 'duplicates in error_kb',
    sql: `${ERROR_KB} ${ERROR_ROWS} ${ERROR_ROWS} INSERT INTO error_kb(ts, error_normalized, use_count)
      VALUES ('${time(0)}', 'Error: old trouble', 99)`,
    events: 0,
    errors: 1,
  },
  {
    what: 'foreign views and triggers that look at ours',
    sql: `CREATE TABLE events(type TEXT NOT NULL, ts TEXT NOT NULL, session_id TEXT NOT NULL, project_path TEXT,
      data JSON NOT NULL); CREATE VIEW recent AS SELECT type, ts FROM events; CREATE TABLE mine(x);
      CREATE VIEW broken AS SELECT * FROM gone; CREATE VIEW mirrored AS SELECT * FROM recent;
      CREATE TRIGGER copy AFTER INSERT ON mine BEGIN
        INSERT INTO events(type, ts, session_id, data) VALUES ('prompt', '${time(0)}', 's', '{}'); END;
      ${failed()}`,
  },
  {
    what: 'data that is no JSON',
    sql: `${EVENTS} ${row('type, ts, session_id, data', `'prompt', '${time(-3)}', 'old', '{broken'`)}
      ${row('type, ts, session_id, data', `'prompt', '${time(-3)}', 'old', x'00ff'`)} ${EVENT_ROWS}`,
    events: 5,
  },
  {
    what: 'our own tables restored without the version',
    sql: `${EVENTS} ${EVENT_ROWS} CREATE VIRTUAL TABLE event_text USING fts5(text);
      INSERT INTO event_text(rowid, text) VALUES (1, 'stale'), (2, 'stale');`,
    events: 3,
  },
  {
    what: 'nothing but foreign tables',
    sql: 'CREATE TABLE mine(x); INSERT INTO mine VALUES (1)',
    events: 0,
  },
];

/** Writes an old database and closes it, so that nothing stands in its log. */
export function writeOldDatabase(paths: StatePaths, sql: string): void {
  makeDataFolder(paths);
  const sqlite = openSqlite(paths.database, { mode: 'write', busyTimeoutMs: 1000 });
  sqlite.exec(sql);
  sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  sqlite.close();
}
