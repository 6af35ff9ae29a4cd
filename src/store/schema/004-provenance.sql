-- Where a lesson may be told. Runs once, on a database of version 3.

-- Which paths are clones of one repository: the same remote and the same first commit have the same name. NULL: it has
-- been looked at, and there is nothing by which another clone would be recognised. Hooks only read it.
CREATE TABLE IF NOT EXISTS repositories (
  project_path TEXT PRIMARY KEY,
  repository TEXT
) WITHOUT ROWID;

-- The resolution that a person shares with every project; another one in its place is not shared.
ALTER TABLE error_kb ADD COLUMN shared TEXT;
CREATE INDEX idx_error_kb_shared ON error_kb(last_used DESC) WHERE shared = resolution;
-- What a person wrote of an error without a project has been told everywhere.
UPDATE error_kb SET shared = resolution
  WHERE project_path = '' AND resolved_by = 'user' AND typeof(resolution) = 'text';
