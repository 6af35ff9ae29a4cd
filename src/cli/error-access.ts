import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../store/connection.ts';
import { readDatabase, writeDatabase } from '../store/use-database.ts';
import { type CliContext, EXIT_NOT_FOUND, fail } from './context.ts';

/** Reads; a database that an earlier version made is brought up to date first. Undefined when there is none. */
export function readErrors<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: work(db) } : 'older'));
  return found === 'older' ? writeDatabase(paths, work) : found?.value;
}

/** The failure of whoever asks for an error that there is not. */
export function notFound(id: number, context: CliContext): void {
  fail(
    context,
    EXIT_NOT_FOUND,
    `find error ${id}: there is none of this number. "self-generation errors --all-projects" lists them`,
  );
}
