-- Lessons instead of log lines. Runs once, on a database of version 2.

-- A call is known by its id, in whatever session or copy of a session it stands.
CREATE INDEX IF NOT EXISTS idx_events_call
  ON events(CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END)
  WHERE type IN ('tool_use', 'tool_error');

-- What the rules before these learnt is not told any more; what a person wrote is.
UPDATE error_kb SET resolution = NULL, resolved_by = NULL, tool_sequence = NULL, use_count = 0
  WHERE resolution IS NOT NULL AND resolved_by IS NOT 'user';
DROP TABLE IF EXISTS open_errors;
DROP TRIGGER IF EXISTS error_files_text_insert;
DROP TRIGGER IF EXISTS error_kb_delete;
DROP TABLE IF EXISTS error_files;
CREATE TRIGGER error_kb_delete AFTER DELETE ON error_kb BEGIN
  DELETE FROM error_kb_text WHERE rowid = OLD.id;
END;

-- A lesson is found by the words of what helped.
DROP TRIGGER IF EXISTS error_kb_text_insert;
CREATE TRIGGER error_kb_text_insert AFTER INSERT ON error_kb BEGIN
  INSERT INTO error_kb_text(rowid, error, raw, fix, files)
  VALUES (NEW.id, NEW.error_normalized, NEW.error_raw,
    CASE WHEN json_valid(NEW.resolution) THEN (
      SELECT group_concat(value, ' ') FROM json_each(NEW.resolution)
      WHERE key IN ('summary', 'use', 'failing', 'leaveOut', 'directory', 'rule', 'message') AND type = 'text')
      ELSE NEW.resolution END, '');
END;
DROP TRIGGER IF EXISTS error_kb_text_update;
CREATE TRIGGER error_kb_text_update AFTER UPDATE OF error_raw, resolution ON error_kb BEGIN
  UPDATE error_kb_text SET raw = NEW.error_raw,
    fix = CASE WHEN json_valid(NEW.resolution) THEN (
      SELECT group_concat(value, ' ') FROM json_each(NEW.resolution)
      WHERE key IN ('summary', 'use', 'failing', 'leaveOut', 'directory', 'rule', 'message') AND type = 'text')
      ELSE NEW.resolution END
  WHERE rowid = NEW.id;
END;

-- `said`: the telling line as it was printed. `state`: 'open', 'solved' (it works by now, and there is nothing to tell),
-- 'contradicted' (the log speaks against what was told), 'doubted' and 'withdrawn' (see store/lessons-by-model.ts), NULL when
-- nobody has looked. `sessions`: in how many it happened.
-- `evidence`: JSON, see src/lessons/lesson.ts.
ALTER TABLE error_kb ADD COLUMN said TEXT;
ALTER TABLE error_kb ADD COLUMN state TEXT;
ALTER TABLE error_kb ADD COLUMN sessions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE error_kb ADD COLUMN evidence JSON;
-- What a project has to tell: SubagentStart reads nothing else of the table.
CREATE INDEX idx_error_kb_told ON error_kb(project_path, resolved_by = 'user' DESC, sessions DESC, last_used DESC)
  WHERE typeof(resolution) = 'text' AND resolved_by IN ('user', 'lesson', 'model');

-- Calls as earlier versions kept them teach nothing. Where their transcripts are still there, they are read again.
DELETE FROM events WHERE type IN ('tool_use', 'tool_error')
  AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') IS NOT NULL
    AND json_extract(data, '$.line') IS NULL AND json_extract(data, '$.said') IS NULL END;
-- `bytes_done` is where the next reading begins, which may be the line of a call without a result; `bytes_seen` is up to
-- where the file has been looked at.
DROP TABLE IF EXISTS imports;
CREATE TABLE imports (
  path TEXT PRIMARY KEY,
  ts TEXT NOT NULL,
  bytes_done INTEGER NOT NULL,
  bytes_seen INTEGER,
  head TEXT NOT NULL
) WITHOUT ROWID;
