-- Processes through which a session of a client hears of its runs: the server of its tools, and the hook that waits.
CREATE TABLE listeners (
  kind TEXT NOT NULL CHECK (kind IN ('server', 'waiter')),
  session TEXT NOT NULL,
  requester TEXT NOT NULL,
  client TEXT,
  pid INTEGER NOT NULL,
  pid_start TEXT NOT NULL,
  pid_boot TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- How often the session was woken since its user typed something.
  wakes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, session)
) STRICT, WITHOUT ROWID;

-- The terminal in which the run was asked for, to be told of what nobody took. JSON.
ALTER TABLE runs ADD COLUMN terminal TEXT;

PRAGMA user_version = 4;
