-- What a run is for, with its limits; NULL: any task. And what it was handed of its requester's conversation; NULL: nothing.
ALTER TABLE runs ADD COLUMN profile TEXT;   -- JSON
ALTER TABLE runs ADD COLUMN handover TEXT;  -- JSON

-- The text of that, beside the runs so that a list need not read it.
CREATE TABLE handovers (
  run_id TEXT PRIMARY KEY REFERENCES runs (id),
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
