-- The ledger: what was told or held out, and what came of it. Rows are written once; outcomes are filled in when the session's
-- transcript has been read. It holds no text but what was told, which `errors forget` empties.

-- The coin's key, and the SHA-256 of it, noted when it was made.
CREATE TABLE IF NOT EXISTS coin (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL,
  commitment TEXT NOT NULL,
  since TEXT NOT NULL
);

-- For which kinds of lessons and channels the question is answered: less is held out from then on.
CREATE TABLE IF NOT EXISTS answered (
  kind TEXT NOT NULL,
  channel INTEGER NOT NULL,
  ts TEXT NOT NULL,
  PRIMARY KEY (kind, channel)
) WITHOUT ROWID;

-- A failure of a repository: what is told of it shares one coin. `fingerprint`: of both others, which stays when `key` is
-- forgotten.
CREATE TABLE IF NOT EXISTS failure_groups (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  place TEXT NOT NULL,
  key TEXT
);

CREATE TABLE IF NOT EXISTS lesson_versions (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  grp INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  since TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS lesson_versions_no_update BEFORE UPDATE ON lesson_versions
WHEN NEW.text <> '' OR (NEW.id, NEW.hash, NEW.grp, NEW.kind, NEW.since) IS NOT (OLD.id, OLD.hash, OLD.grp, OLD.kind, OLD.since)
BEGIN
  SELECT RAISE(ABORT, 'lesson_versions can only be emptied');
END;

-- A session with its sub-agents, and all that were resumed or forked from it. `root`: the id of the first session.
CREATE TABLE IF NOT EXISTS trees (
  id INTEGER PRIMARY KEY,
  root TEXT NOT NULL,
  client TEXT,
  model TEXT,
  build TEXT
);
-- By the end of the id, which is enough to find it, and takes a fifth of the room.
CREATE INDEX IF NOT EXISTS idx_trees_root ON trees(substr(root, -8));
-- Sessions that are not the first of their tree. `root`: that session's id.
CREATE TABLE IF NOT EXISTS forks (
  session TEXT PRIMARY KEY,
  root TEXT NOT NULL
) WITHOUT ROWID;

-- One row for each failure group, tree and channel (0: at a start, 1: at a failing call): told (`held` 0) or held out (1) with
-- the probability of `hold_percent`; 0: never held out. `ts` in ms. `chain` authenticates what was assigned and the row before,
-- `seal` the outcome. Of the first failure after `ts`: `failed_at` in ms, `failed_call`, which of a telling behind it is known at once, and until the same check passed
-- `calls`, `ms`, `chars`, and how it `ended`: 'passed', 'cap', 'left', NULL while it goes on.
CREATE TABLE IF NOT EXISTS exposures (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tree INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  channel INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  agent TEXT,
  version INTEGER NOT NULL,
  hold_percent INTEGER NOT NULL,
  held INTEGER NOT NULL,
  chain INTEGER NOT NULL,
  failed_at INTEGER,
  failed_call TEXT,
  calls INTEGER,
  ms INTEGER,
  chars INTEGER,
  ended TEXT,
  advice_failed INTEGER,
  form_worked INTEGER,
  leaked INTEGER,
  settled_at INTEGER,
  seal INTEGER
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_exposures_once ON exposures(tree, grp, channel);

-- Lessons that are told no more: why, and what they were, so that they can be restored. `reason`: 'contradiction', 'gone',
-- 'statistics', 'user', 'model'. `detail`: the evidence in words, English.
CREATE TABLE IF NOT EXISTS withdrawals (
  id INTEGER PRIMARY KEY,
  ts TEXT NOT NULL,
  error_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  resolution TEXT NOT NULL,
  resolved_by TEXT NOT NULL,
  restored_ts TEXT
);
CREATE INDEX IF NOT EXISTS idx_withdrawals_error ON withdrawals(error_id);

-- Up to which event outcomes have been settled.
CREATE TABLE IF NOT EXISTS settled (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  event_id INTEGER NOT NULL
);

-- What a model answered to a replayed moment before a failing call, without the lesson and with it: 'repeats', 'advised', 'other', NULL
-- where its answer could not be used. `lesson`: fingerprint of what was told; `model`: empty where the client chose.
CREATE TABLE IF NOT EXISTS replay_pairs (
  lesson TEXT NOT NULL,
  client TEXT NOT NULL,
  model TEXT NOT NULL,
  call TEXT NOT NULL,
  ts TEXT NOT NULL,
  without TEXT,
  told TEXT,
  PRIMARY KEY (lesson, client, model, call)
) WITHOUT ROWID;
