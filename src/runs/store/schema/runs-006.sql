-- What the run has to do with a pool of machines, as JSON; NULL: nothing.
ALTER TABLE runs ADD COLUMN pool TEXT;

PRAGMA user_version = 6;
