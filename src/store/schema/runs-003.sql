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

PRAGMA user_version = 3;
