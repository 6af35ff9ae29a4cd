import { existsSync } from 'node:fs';
import type { StatePaths } from '../core/state-paths.ts';
import type { Suggestion } from '../core/suggestion.ts';
import { findSuggestions, listSuggestions, registerCached } from '../store/suggestions.ts';
import { writeDatabase } from '../store/use-database.ts';
import { type CliContext, EXIT_NOT_FOUND, EXIT_USAGE, fail } from './context.ts';
import { type CliProject, projectHere } from './project.ts';

/** How old an analysis of another implementation may be to be taken in. */
const CACHED_HOURS = 168;
const MS_PER_HOUR = 3_600_000;
const PREFIX_LENGTH_MIN = 4;
const IDS_NAMED_MAX = 5;

/** `number`: by which a person may name it; it stays the same when others are decided on. */
export type Numbered = Suggestion & { readonly number: number };

/** Every suggestion of a project and of none, after taking in what other implementations left; undefined: of all. */
export function numbered(project: CliProject | undefined, paths: StatePaths, now: Date): Numbered[] {
  if (!existsSync(paths.database) && !existsSync(paths.spool)) return [];
  return writeDatabase(paths, (db) => {
    const since = new Date(now.getTime() - CACHED_HOURS * MS_PER_HOUR).toISOString();
    db.sqlite.transaction(() => registerCached(since, db));
    const all = listSuggestions(project === undefined ? {} : { project }, db);
    return all.map((suggestion, index) => ({ number: index + 1, ...suggestion }));
  });
}

/** Whether it waits for the user's decision. */
export function isWaiting({ status }: Suggestion): boolean {
  return status === 'new' || status === 'shown';
}

/**
 * The suggestion that a person means: by the beginning of its id, or by the number that `suggestions` prints here.
 * Undefined after saying why it is none.
 */
export function pickSuggestion(word: string, paths: StatePaths, context: CliContext): Suggestion | undefined {
  const here = numbered(projectHere(paths, context), paths, context.now());
  if (/^\d{1,9}$/.test(word)) {
    const found = here[Number(word) - 1];
    if (found !== undefined) return found;
    const count = here.length === 0 ? 'there is none in this project' : `there are ${here.length} here`;
    return notFound(`the suggestion number ${word}: ${count}`, context);
  }
  if (word.length < PREFIX_LENGTH_MIN) {
    const what = `use "${word}": give a number, or at least ${PREFIX_LENGTH_MIN} characters of an id`;
    fail(context, EXIT_USAGE, what);
    return undefined;
  }
  const found = existsSync(paths.database) ? writeDatabase(paths, (db) => findSuggestions(word, db)) : [];
  const [only, ...others] = found;
  if (only === undefined)
    return notFound(`the suggestion "${word}". See "self-generation suggestions"`, context);
  if (others.length === 0 || only.id === word) return only;
  const ids = found.slice(0, IDS_NAMED_MAX).map(({ id }) => id);
  return notFound(`one suggestion "${word}": ${found.length} begin so (${ids.join(', ')})`, context);
}

function notFound(what: string, context: CliContext): undefined {
  fail(context, EXIT_NOT_FOUND, `find ${what}`);
  return undefined;
}
