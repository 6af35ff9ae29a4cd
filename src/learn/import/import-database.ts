import { fingerprint } from '../../core/fingerprint.ts';
import { type StatePaths, statePaths } from '../../core/state-paths.ts';
import type { Db } from '../../store/connection.ts';
import { getDb } from '../../store/db.ts';
import { loadProgress, saveProgress } from '../../store/imports.ts';
import {
  copyDatabase,
  type InTurn,
  type MergeResult,
  mergeDatabase,
  NoDatabaseOfOurs,
} from '../../store/merge-database.ts';
import { sqliteErrorCode } from '../../store/sqlite.ts';
import { ensurePrivateDirectory, realPath } from '../../sys/atomic-file.ts';
import { fileStamp } from '../../sys/runtime-bun.ts';
import { withTemporaryDirectory } from '../../sys/temporary-directory.ts';

export type DatabaseImport = {
  readonly file: string;
  readonly retentionDays: number;
  readonly paths: StatePaths;
  readonly now: () => Date;
  readonly inTurn: InTurn;
};

/** What came of one database. `unchanged`: nobody has written to it since it was taken in. */
export type DatabaseReport =
  | ({ readonly kind: 'merged'; readonly file: string } & MergeResult)
  | { readonly kind: 'unchanged'; readonly file: string };

const BUSY_TIMEOUT_MS = 5000;
const MS_PER_DAY = 86_400_000;

/**
 * Takes in a database that an earlier implementation made, complete or partial, or another one of ours. The file itself
 * is only read: a private copy is brought up to date, which takes the secrets out of it. @throws Error saying why not.
 */
export function importDatabase(options: DatabaseImport, db: Db): DatabaseReport {
  const file = realPath(options.file);
  if (file === realPath(options.paths.database)) throw new Error('it is the database to import into');
  const head = stampOf(file);
  if (loadProgress(db).get(file)?.head === head) return { kind: 'unchanged', file };
  const result = withTemporaryDirectory(options.paths.home, 'import-', (directory) =>
    mergeCopy(file, directory, options, db),
  );
  saveProgress({ path: file, head, bytesDone: fileStamp(file).bytes }, options.now(), db);
  return { kind: 'merged', file, ...result };
}

/** Changes whenever somebody writes to the database, also where that is only in its log yet. */
function stampOf(file: string): string {
  const stamps = [file, `${file}-wal`]
    .map(fileStamp)
    .map(({ bytes, modifiedMs }) => `${bytes} ${modifiedMs}`);
  return fingerprint(stamps.join(' '));
}

function mergeCopy(
  file: string,
  directory: string,
  { retentionDays, now, inTurn }: DatabaseImport,
  db: Db,
): MergeResult {
  const copy = temporaryState(directory);
  try {
    copyDatabase(file, copy.database, copy);
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
  const from = new Date().toISOString();
  const source = getDb(copy, { mode: 'write', busyTimeoutMs: BUSY_TIMEOUT_MS });
  const adopted = { from, until: new Date().toISOString() };
  try {
    const notBefore = new Date(now().getTime() - retentionDays * MS_PER_DAY).toISOString();
    return mergeDatabase(source, { notBefore, adopted, inTurn }, db);
  } finally {
    source.sqlite.close();
  }
}

/** A state directory below a temporary one, ready for a database to be put there. */
export function temporaryState(directory: string): StatePaths {
  const paths = statePaths({ SELF_GENERATION_HOME: directory }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${directory}": it is not absolute`);
  ensurePrivateDirectory(paths.data);
  return paths;
}

function reasonOf(error: unknown): string {
  const code = sqliteErrorCode(error) ?? '';
  if (code.startsWith('SQLITE_NOTADB')) return 'it is no SQLite database';
  if (code.startsWith('SQLITE_CORRUPT')) return 'it is damaged';
  if (error instanceof NoDatabaseOfOurs) return error.message;
  return error instanceof Error ? error.message : String(error);
}
