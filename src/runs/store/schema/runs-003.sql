-- Who asked for a turn, and who stopped it: a session; '': a person, or a client without one. Of `session` NULL is the
-- run's requester, of `stop_session` nobody, since a limit was reached.
ALTER TABLE turns ADD COLUMN session TEXT;
ALTER TABLE turns ADD COLUMN stop_session TEXT;

-- When a session, '' as above, last stopped all that it had asked for; '*': when all of the requester were stopped. What
-- was asked for before does not start any more. The lane's own column is only read by supervisors of an earlier version.
CREATE TABLE stops (
  requester TEXT NOT NULL,
  session TEXT NOT NULL,
  stopped_at INTEGER NOT NULL,
  PRIMARY KEY (requester, session)
) STRICT;

INSERT INTO stops SELECT requester, '*', stopped_at FROM lane WHERE stopped_at IS NOT NULL;

-- Nothing is looked for by the session of a run.
DROP INDEX run_sessions;
DROP INDEX runs_kept_of_session;

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

PRAGMA user_version = 3;
