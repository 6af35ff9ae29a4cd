-- Tables and columns of the seeds. Every statement can be repeated: a database that an earlier implementation made
-- has some of them already (see migrate.ts).

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

-- One row for each error of each project that was solved. use_count counts solutions, seen_count occurrences,
-- shown_count the times an agent was told.
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
  shown_count INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_error_kb_error ON error_kb(error_normalized, project_path);

CREATE VIRTUAL TABLE IF NOT EXISTS error_kb_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS error_kb_text_insert AFTER INSERT ON error_kb BEGIN
  INSERT INTO error_kb_text(rowid, text) VALUES (NEW.id, NEW.error_normalized);
END;

-- Which files an error had to do with: where it was reported and what was edited to solve it.
CREATE TABLE IF NOT EXISTS error_files (
  project_path TEXT NOT NULL,
  file TEXT NOT NULL,
  kb_id INTEGER NOT NULL,
  PRIMARY KEY (project_path, file, kb_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idx_error_files_kb ON error_files(kb_id);
CREATE TRIGGER IF NOT EXISTS error_kb_delete AFTER DELETE ON error_kb BEGIN
  DELETE FROM error_kb_text WHERE rowid = OLD.id;
  DELETE FROM error_files WHERE kb_id = OLD.id;
END;

-- Errors that nothing has solved yet; a row goes when its command or file succeeds.
CREATE TABLE IF NOT EXISTS open_errors (
  event_id INTEGER PRIMARY KEY,
  ts TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent_id TEXT,
  project_path TEXT,
  tool TEXT NOT NULL,
  error_normalized TEXT NOT NULL,
  error_raw TEXT,
  command JSON,
  file TEXT,
  mentioned_files JSON
);
CREATE INDEX IF NOT EXISTS idx_open_errors_session ON open_errors(session_id);

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
