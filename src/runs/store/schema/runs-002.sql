-- What a run may do without asking. NULL: of a run that was written down before, and asks first.
ALTER TABLE runs ADD COLUMN permissions TEXT;   -- JSON
-- NULL: the run's.
ALTER TABLE turns ADD COLUMN permissions TEXT;  -- JSON

PRAGMA user_version = 2;
