-- The learning loop. Every statement can be repeated, as in 001.

-- What the analysis proposed and what became of it. `text` is what would be applied: a rule, a skill's instructions, a
-- hook's code. `origin` is 'analysis' for our own, 'cache' for what another implementation left in analysis_cache.
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

-- How far each source has been taken in.
CREATE TABLE IF NOT EXISTS imports (
  path TEXT PRIMARY KEY,
  ts TEXT NOT NULL,
  bytes_done INTEGER NOT NULL,
  head TEXT NOT NULL
) WITHOUT ROWID;

-- A project's errors for a person, newest first.
CREATE INDEX IF NOT EXISTS idx_error_kb_project ON error_kb(project_path, ts);
-- And by the time after which it is forgotten: every session's end looks for those.
CREATE INDEX IF NOT EXISTS idx_error_kb_age ON error_kb(COALESCE(last_used, ts));

-- The search index of errors, now over everything that a person may remember of one.
DROP TRIGGER IF EXISTS error_kb_text_insert;
DROP TABLE IF EXISTS error_kb_text;
CREATE VIRTUAL TABLE error_kb_text USING fts5(error, raw, fix, files, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER error_kb_text_insert AFTER INSERT ON error_kb BEGIN
  INSERT INTO error_kb_text(rowid, error, raw, fix, files)
  VALUES (NEW.id, NEW.error_normalized, NEW.error_raw,
    CASE WHEN json_valid(NEW.resolution) THEN COALESCE(json_extract(NEW.resolution, '$.summary'), '')
      ELSE NEW.resolution END, '');
END;
DROP TRIGGER IF EXISTS error_kb_text_update;
CREATE TRIGGER error_kb_text_update AFTER UPDATE OF error_raw, resolution ON error_kb BEGIN
  UPDATE error_kb_text SET raw = NEW.error_raw,
    fix = CASE WHEN json_valid(NEW.resolution) THEN COALESCE(json_extract(NEW.resolution, '$.summary'), '')
      ELSE NEW.resolution END
  WHERE rowid = NEW.id;
END;
DROP TRIGGER IF EXISTS error_files_text_insert;
CREATE TRIGGER error_files_text_insert AFTER INSERT ON error_files BEGIN
  UPDATE error_kb_text
  SET files = (SELECT group_concat(file, ' ') FROM error_files WHERE kb_id = NEW.kb_id)
  WHERE rowid = NEW.kb_id;
END;
INSERT INTO error_kb_text(rowid, error, raw, fix, files)
  SELECT id, error_normalized, error_raw,
    CASE WHEN json_valid(resolution) THEN COALESCE(json_extract(resolution, '$.summary'), '') ELSE resolution END,
    COALESCE((SELECT group_concat(file, ' ') FROM error_files WHERE kb_id = error_kb.id), '')
  FROM error_kb;
