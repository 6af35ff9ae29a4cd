-- Background runs, data/runs.db. Times are milliseconds since 1970. Rows of runs and turns are never removed.

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  requester TEXT NOT NULL,
  requester_session TEXT,
  requester_client TEXT,
  requester_cwd TEXT NOT NULL,
  child_key TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  client TEXT NOT NULL,
  label TEXT,
  task TEXT NOT NULL,
  -- The same call again, within a short time, is the same run.
  spawn_key TEXT NOT NULL,
  model_requested TEXT,
  model_resolved TEXT,
  model_observed TEXT,
  thinking TEXT,
  cleanup TEXT NOT NULL CHECK (cleanup IN ('delete', 'keep')),
  run_timeout_ms INTEGER NOT NULL,
  cwd TEXT NOT NULL,
  worktree_mode TEXT NOT NULL,
  worktree TEXT,            -- JSON
  policy TEXT NOT NULL,     -- JSON
  gaps TEXT NOT NULL,       -- JSON
  agent_dir TEXT,
  session_id TEXT,
  warning TEXT,
  archive_after_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- Set while nothing of the run is active or undelivered.
  archive_at INTEGER,
  archived_at INTEGER
) STRICT;

CREATE UNIQUE INDEX run_numbers ON runs (requester, number);
CREATE INDEX run_spawns ON runs (requester, spawn_key, created_at);
CREATE INDEX run_sessions ON runs (requester, requester_session, number);
CREATE INDEX run_times ON runs (created_at);
CREATE INDEX runs_kept ON runs (requester, number) WHERE archived_at IS NULL;
CREATE INDEX runs_kept_of_session ON runs (requester, requester_session, number) WHERE archived_at IS NULL;
CREATE INDEX runs_kept_times ON runs (created_at) WHERE archived_at IS NULL;
CREATE INDEX run_archives ON runs (archive_at) WHERE archived_at IS NULL AND archive_at IS NOT NULL;

CREATE TABLE turns (
  -- The order of the queue: a clock may go backwards.
  position INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (id),
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('task', 'send', 'announce')),
  announces INTEGER,
  state TEXT NOT NULL CHECK (state IN
    ('queued', 'starting', 'running', 'stopping', 'success', 'error', 'timeout', 'stopped', 'lost')),
  message TEXT NOT NULL,
  queued_at INTEGER NOT NULL,
  claimed_at INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  deadline_at INTEGER,
  stop_reason TEXT,
  stop_by TEXT,
  stop_at INTEGER,
  owner_pid INTEGER,
  owner_start TEXT,
  owner_boot TEXT,
  launched_at INTEGER,
  pid INTEGER,
  pid_start TEXT,
  pid_boot TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  tokens_cache_read INTEGER,
  tokens_cache_write INTEGER,
  cost_usd REAL,
  cost_source TEXT,
  model TEXT,
  result TEXT,
  error TEXT,
  notes TEXT NOT NULL DEFAULT '[]',
  exit_code INTEGER,
  exit_signal TEXT,
  version INTEGER NOT NULL DEFAULT 1,
  UNIQUE (run_id, number)
) STRICT;

CREATE INDEX turns_active ON turns (position) WHERE state IN ('queued', 'starting', 'running', 'stopping');
CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at IS NOT NULL;

-- The queue goes round: who was served longest ago is next.
CREATE TABLE lane (
  requester TEXT PRIMARY KEY,
  -- The number of the last claim that was theirs, counted over all.
  claims INTEGER NOT NULL DEFAULT 0,
  -- When they last stopped everything: what was asked for before does not start any more.
  stopped_at INTEGER
) STRICT;

-- One row per turn that has something to tell, written with the turn's end.
CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  -- The order in which they came to be; what a requester is told, it is told in this order.
  position INTEGER NOT NULL UNIQUE,
  run_id TEXT NOT NULL REFERENCES runs (id),
  turn INTEGER NOT NULL,
  requester TEXT NOT NULL,
  requester_session TEXT,
  status TEXT NOT NULL CHECK (status IN ('success', 'error', 'timeout', 'unknown')),
  result TEXT NOT NULL,
  notes TEXT NOT NULL,
  stats TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'leased', 'acked', 'skipped', 'dismissed')),
  created_at INTEGER NOT NULL,
  -- Not before: an announce step may still put it into better words.
  ready_at INTEGER NOT NULL,
  lease_owner TEXT,
  lease_until INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  settled_at INTEGER,
  UNIQUE (run_id, turn)
) STRICT;

CREATE INDEX outbox_waiting ON outbox (requester, position) WHERE state IN ('pending', 'leased');
CREATE INDEX outbox_leases ON outbox (lease_owner) WHERE state = 'leased';

-- What happened, for `info` and for whoever has to find out why.
CREATE TABLE run_events (
  id INTEGER PRIMARY KEY,
  run_id TEXT,
  turn INTEGER,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  type TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX run_events_of ON run_events (run_id, id);

PRAGMA user_version = 1;
