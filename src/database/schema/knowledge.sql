-- The knowledge database: tables and columns of the seeds, and the learning loop's. Tables of an earlier implementation may
-- be there already, without their indexes and triggers (see adopt.ts).

CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  v INTEGER DEFAULT 1,
  type TEXT NOT NULL,
  ts TEXT NOT NULL,
  session_id TEXT NOT NULL,
  project TEXT,
  project_path TEXT,
  data JSON NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_events_session ON events(session_id, ts);
CREATE INDEX IF NOT EXISTS idx_events_project_type ON events(project_path, type, ts);
CREATE INDEX IF NOT EXISTS idx_events_ts ON events(ts);
-- A call is known by its id, in whatever session or copy of a session it stands.
CREATE INDEX IF NOT EXISTS idx_events_call
  ON events(CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END)
  WHERE type IN ('tool_use', 'tool_error');

CREATE TRIGGER IF NOT EXISTS events_no_update BEFORE UPDATE ON events BEGIN
  SELECT RAISE(ABORT, 'events table is INSERT-only');
END;

-- The search index keeps its own copy of the text: it neither depends on the columns of events nor breaks when
-- rows are deleted that were never indexed.
CREATE VIRTUAL TABLE IF NOT EXISTS event_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS events_text_insert AFTER INSERT ON events
WHEN json_valid(NEW.data) AND COALESCE(json_extract(NEW.data, '$.text'), json_extract(NEW.data, '$.error')) IS NOT NULL
BEGIN
  INSERT INTO event_text(rowid, text)
  VALUES (NEW.id, COALESCE(json_extract(NEW.data, '$.text'), json_extract(NEW.data, '$.error')));
END;
CREATE TRIGGER IF NOT EXISTS events_text_delete AFTER DELETE ON events BEGIN
  DELETE FROM event_text WHERE rowid = OLD.id;
END;

-- One row for each error of each project. use_count counts solutions, seen_count occurrences, shown_count the times an agent
-- was told. `said`: the telling line as it was printed. `state`: 'open', 'solved' (it works by now, and there is nothing to
-- tell), 'contradicted' (the log speaks against what was told), 'doubted' and 'withdrawn' (see lessons/store/model-lessons.ts),
-- NULL when nobody has looked. `sessions`: in how many it happened. `evidence`: JSON, see src/lessons/lesson.ts. `shared`: the
-- resolution that a person shares with every project; another one in its place is not shared. `quiet`: not told at starts, since it
-- did not happen again; `pinned`: never held out nor quiet, by a person's word.
CREATE TABLE IF NOT EXISTS error_kb (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ts TEXT NOT NULL,
  error_normalized TEXT NOT NULL,
  error_raw TEXT,
  resolution TEXT,
  resolved_by TEXT,
  tool_sequence TEXT,
  use_count INTEGER DEFAULT 0,
  last_used TEXT,
  project_path TEXT NOT NULL DEFAULT '',
  seen_count INTEGER NOT NULL DEFAULT 0,
  shown_count INTEGER NOT NULL DEFAULT 0,
  said TEXT,
  state TEXT,
  sessions INTEGER NOT NULL DEFAULT 0,
  evidence JSON,
  shared TEXT,
  quiet INTEGER NOT NULL DEFAULT 0,
  pinned INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_error_kb_error ON error_kb(error_normalized, project_path);
-- A project's errors for a person, newest first.
CREATE INDEX IF NOT EXISTS idx_error_kb_project ON error_kb(project_path, ts);
-- And by the time after which it is forgotten: every session's end looks for those.
CREATE INDEX IF NOT EXISTS idx_error_kb_age ON error_kb(COALESCE(last_used, ts));
-- What a project has to tell: SubagentStart reads nothing else of the table.
CREATE INDEX IF NOT EXISTS idx_error_kb_told
  ON error_kb(project_path, resolved_by = 'user' DESC, sessions DESC, last_used DESC)
  WHERE typeof(resolution) = 'text' AND resolved_by IN ('user', 'lesson', 'model');
CREATE INDEX IF NOT EXISTS idx_error_kb_shared ON error_kb(last_used DESC) WHERE shared = resolution;

-- The search index of errors, over everything that a person may remember of one, the words of what helped among it. Nothing
-- fills `files` any more.
CREATE VIRTUAL TABLE IF NOT EXISTS error_kb_text
  USING fts5(error, raw, fix, files, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS error_kb_text_insert AFTER INSERT ON error_kb BEGIN
  INSERT INTO error_kb_text(rowid, error, raw, fix, files)
  VALUES (NEW.id, NEW.error_normalized, NEW.error_raw,
    CASE WHEN json_valid(NEW.resolution) THEN (
      SELECT group_concat(value, ' ') FROM json_each(NEW.resolution)
      WHERE key IN ('summary', 'use', 'failing', 'leaveOut', 'directory', 'rule', 'message') AND type = 'text')
      ELSE NEW.resolution END, '');
END;
CREATE TRIGGER IF NOT EXISTS error_kb_text_update AFTER UPDATE OF error_raw, resolution ON error_kb BEGIN
  UPDATE error_kb_text SET raw = NEW.error_raw,
    fix = CASE WHEN json_valid(NEW.resolution) THEN (
      SELECT group_concat(value, ' ') FROM json_each(NEW.resolution)
      WHERE key IN ('summary', 'use', 'failing', 'leaveOut', 'directory', 'rule', 'message') AND type = 'text')
      ELSE NEW.resolution END
  WHERE rowid = NEW.id;
END;
CREATE TRIGGER IF NOT EXISTS error_kb_delete AFTER DELETE ON error_kb BEGIN
  DELETE FROM error_kb_text WHERE rowid = OLD.id;
END;

CREATE TABLE IF NOT EXISTS analysis_cache (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ts TEXT NOT NULL,
  project TEXT,
  days INTEGER,
  input_hash TEXT,
  analysis JSON NOT NULL,
  project_path TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_analysis_cache_hash ON analysis_cache(project, days, input_hash);
CREATE INDEX IF NOT EXISTS idx_analysis_cache_project ON analysis_cache(project, ts);

CREATE TABLE IF NOT EXISTS feedback (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  v INTEGER DEFAULT 1,
  ts TEXT NOT NULL,
  suggestion_id TEXT NOT NULL,
  action TEXT NOT NULL,
  suggestion_type TEXT,
  summary TEXT
);

-- Names of spool files whose content is in this database: a crash between commit and unlink must not count twice.
CREATE TABLE IF NOT EXISTS spool_taken (
  name TEXT PRIMARY KEY,
  ts TEXT NOT NULL
) WITHOUT ROWID;

-- What the analysis proposed and what became of it. `text` is what would be applied: a rule, a skill's instructions, a
-- hook's code. `origin` is 'analysis' for our own, 'cache' for what another implementation left in analysis_cache, 'team' for what a
-- member of the user's team shares.
CREATE TABLE IF NOT EXISTS suggestions (
  id TEXT PRIMARY KEY,
  ts TEXT NOT NULL,
  last_ts TEXT NOT NULL,
  project TEXT NOT NULL DEFAULT 'all',
  project_path TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'new',
  summary TEXT NOT NULL,
  evidence TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL,
  priority REAL NOT NULL DEFAULT 0,
  details JSON NOT NULL DEFAULT '{}',
  decided_ts TEXT,
  why TEXT,
  applied JSON
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_suggestions_project ON suggestions(project_path, status);

-- One row for each attempt to analyse: what it cost, or why it failed. `running` is the lock. `budget_usd` is what it was
-- granted, which an unknown cost counts as. `pid` and `client_started` are text, id, boot and start: of the process that holds the
-- lock, and of its client.
CREATE TABLE IF NOT EXISTS analysis_runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ts TEXT NOT NULL,
  ended_ts TEXT,
  pid INTEGER,
  trigger TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  project TEXT NOT NULL,
  project_path TEXT NOT NULL DEFAULT '',
  days INTEGER NOT NULL,
  cli TEXT NOT NULL,
  model TEXT,
  prompt_bytes INTEGER,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cost_usd REAL,
  suggestion_count INTEGER,
  budget_usd REAL,
  client_pid INTEGER,
  client_started TEXT
);
CREATE INDEX IF NOT EXISTS idx_analysis_runs_ts ON analysis_runs(ts);

-- Which sub-agent was given what when it started.
CREATE TABLE IF NOT EXISTS given_contexts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ts TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  agent_type TEXT,
  project TEXT,
  project_path TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL,
  UNIQUE (session_id, agent_id)
);
CREATE INDEX IF NOT EXISTS idx_given_contexts_ts ON given_contexts(ts);

-- Errors that a person wanted forgotten: a fingerprint, not the text.
CREATE TABLE IF NOT EXISTS forgotten_errors (
  fingerprint TEXT PRIMARY KEY,
  ts TEXT NOT NULL
) WITHOUT ROWID;

-- How far each transcript has been taken in. `bytes_done` is where the next reading begins, which may be the line of a call
-- without a result; `bytes_seen` is up to where the file has been looked at. Of a session of another client, `codex#ID`, both
-- are times in ms: of the newest that was taken in, and of the last change that was seen.
CREATE TABLE IF NOT EXISTS imports (
  path TEXT PRIMARY KEY,
  ts TEXT NOT NULL,
  bytes_done INTEGER NOT NULL,
  bytes_seen INTEGER,
  head TEXT NOT NULL
) WITHOUT ROWID;

-- Up to which event lessons have been learnt from all calls of a project. Later calls are still to be learnt from.
CREATE TABLE IF NOT EXISTS learnt (
  project_path TEXT PRIMARY KEY,
  event_id INTEGER NOT NULL
) WITHOUT ROWID;

-- Which paths are clones of one repository: the same remote and the same first commit have the same name. NULL: it has
-- been looked at, and there is nothing by which another clone would be recognised. Hooks only read it.
CREATE TABLE IF NOT EXISTS repositories (
  project_path TEXT PRIMARY KEY,
  repository TEXT
) WITHOUT ROWID;
