import { existsSync, mkdirSync, renameSync } from 'node:fs';
import type { StatePaths } from '../../core/state-paths.ts';
import { openForWriting, switchToWal } from '../../database/db.ts';
import { type Sqlite, sqliteErrorCode } from '../../database/sqlite.ts';
import { teamPaths } from '../membership.ts';

/** The file of the copy: opened, and set aside when it is damaged. All of it is on the server. */

const VERSION = 1;
const BUSY_TIMEOUT_MS = 5_000;

const SCHEMA = `
  CREATE TABLE facts (
    seq INTEGER PRIMARY KEY,
    author TEXT NOT NULL,
    role TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository TEXT NOT NULL,
    about TEXT NOT NULL,
    body TEXT NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX facts_about ON facts (about, seq);
  CREATE UNIQUE INDEX facts_once ON facts (author, id);
  CREATE INDEX facts_part ON facts (repository, seq) WHERE kind = 'part';
  -- One row for each lesson and rule. author: who shared it first. unoffered: why this user is not asked about it. handled: what it
  -- comes to has been done here.
  CREATE TABLE standings (
    about TEXT PRIMARY KEY,
    repository TEXT NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    authors INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    is_mine INTEGER NOT NULL,
    own_opinion INTEGER,
    is_accepted INTEGER NOT NULL,
    withdrawn TEXT,
    is_contradicted INTEGER NOT NULL,
    unoffered TEXT,
    handled INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX standings_waiting ON standings (repository, author, authors DESC, sessions DESC)
    WHERE is_mine = 0 AND own_opinion IS NULL AND (is_accepted = 0 OR kind = 'rule') AND withdrawn IS NULL AND unoffered IS NULL;
  CREATE INDEX standings_unhandled ON standings (repository) WHERE handled = 0;
  CREATE TABLE cursors (repository TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE members (login TEXT PRIMARY KEY, role TEXT NOT NULL) STRICT, WITHOUT ROWID;
  -- Under which conditions the standings were worked out.
  CREATE TABLE known (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export type Copy = { readonly sqlite: Sqlite };

/** Works with the copy, which is made where it is not there. @throws Error that says so when it is damaged. */
export async function withCopy<T>(paths: StatePaths, work: (copy: Copy) => T | Promise<T>): Promise<T> {
  const sqlite = opened(teamPaths(paths).copy);
  try {
    return await work({ sqlite });
  } finally {
    sqlite.close();
  }
}

function opened(file: string): Sqlite {
  const sqlite = guarded(file, () => openForWriting(file, BUSY_TIMEOUT_MS));
  const guard =
    <Args extends unknown[], T>(act: (...args: Args) => T) =>
    (...args: Args) =>
      guarded(file, () => act(...args));
  const { exec, run, get, all, transaction, close } = sqlite;
  const sound = { exec: guard(exec), run: guard(run), get: guard(get), all: guard(all), transaction, close };
  try {
    if (Number(sound.get('PRAGMA user_version')?.user_version) !== VERSION) {
      guarded(file, () => switchToWal(sqlite));
      transaction(() => {
        if (sound.get("SELECT 1 FROM sqlite_schema WHERE name = 'facts'") !== undefined) return;
        sound.exec(SCHEMA);
        sound.exec(`PRAGMA user_version = ${VERSION}`);
      });
    }
    sound.exec('PRAGMA synchronous = NORMAL');
    // Ids have no order: a large copy's indexes are written all over.
    sound.exec('PRAGMA cache_size = -65536');
    return sound;
  } catch (error) {
    close();
    throw error;
  }
}

/** Says of the copy itself that it is damaged: it is used beside the knowledge base, which may be damaged as well. */
function guarded<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const isLacking = cause instanceof Error && /no such (?:table|column|index)/.test(cause.message);
    if (!isLacking && !/^SQLITE_(?:CORRUPT|NOTADB)/.test(sqliteErrorCode(cause) ?? '')) throw cause;
    const advice = '"self-generation team sync" fetches it anew';
    throw new DamagedCopy(`The copy of what the team shares, "${file}", is damaged; ${advice}`, { cause });
  }
}

/** The copy's file is damaged. */
export class DamagedCopy extends Error {}

/** Sets a damaged copy aside: all of it is on the server. Returns where it is now. */
export function setCopyAside(paths: StatePaths, now: Date): string {
  const { copy } = teamPaths(paths);
  mkdirSync(paths.backups, { recursive: true, mode: 0o700 });
  const aside = `${paths.backups}/team-${now.getTime().toString(36)}.db`;
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(copy + suffix)) renameSync(copy + suffix, aside + suffix);
  return aside;
}
