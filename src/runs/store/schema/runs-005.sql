-- What a run is a part of, partKey(); NULL: a sub-agent of its requester. And its role in place of that of a sub-agent.
ALTER TABLE runs ADD COLUMN part TEXT;
ALTER TABLE runs ADD COLUMN instructions TEXT;
CREATE UNIQUE INDEX run_parts ON runs (part) WHERE part IS NOT NULL;

-- As who asked for it calls it: of a run, the same name is the same turn.
ALTER TABLE turns ADD COLUMN name TEXT;
CREATE UNIQUE INDEX turn_names ON turns (run_id, name) WHERE name IS NOT NULL;
-- 1: before the others that wait.
ALTER TABLE turns ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0;

CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  requester TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- The one that was used last is the current one.
  used_at INTEGER NOT NULL,
  -- The position of the last turn that is in memory, and how often turns were written there.
  flushed_position INTEGER NOT NULL DEFAULT 0,
  flush_cycles INTEGER NOT NULL DEFAULT 0,
  UNIQUE (requester, number)
) STRICT;

CREATE TABLE orchestrations (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  requester TEXT NOT NULL,
  session TEXT,
  client TEXT,
  cwd TEXT NOT NULL,
  prompt TEXT NOT NULL,
  options TEXT NOT NULL,  -- JSON
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'partial', 'failed', 'stopped', 'answered')),
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  -- The process that carries it on; while it lives, the requester's conversations wait.
  owner_pid INTEGER,
  owner_start TEXT,
  owner_boot TEXT,
  UNIQUE (requester, number)
) STRICT;

CREATE INDEX orchestrations_owned ON orchestrations (requester) WHERE owner_pid IS NOT NULL;

-- What became known of an orchestration beside its runs. Written once.
CREATE TABLE orchestration_facts (
  orchestration TEXT NOT NULL REFERENCES orchestrations (id),
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  value TEXT NOT NULL,  -- JSON
  PRIMARY KEY (orchestration, name)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 5;
