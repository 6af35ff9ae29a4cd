import { existsSync } from 'node:fs';
import type { ClientName } from '../../core/client-name.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { writeDatabase } from '../../hooks/store/use-database.ts';
import type { Place } from '../../setup/manifest.ts';
import { type ApplyPlan, planApply } from '../../suggestions/apply.ts';
import { listEarlier } from '../../suggestions/decide.ts';
import { findSuggestions, listSuggestions, registerCached } from '../../suggestions/model/store.ts';
import type { Suggestion } from '../../suggestions/model/suggestion.ts';
import { type CliContext, type CliProject, type CliState, EXIT, fail, projectHere } from '../context.ts';
import { shownLine } from '../output.ts';

/** The suggestions as the commands about them see them: numbered, picked, and planned to be applied. */

/** The age up to which the analysis of another implementation is taken in. */
const CACHED_HOURS = 168;
const MS_PER_HOUR = 3_600_000;
const PREFIX_LENGTH_MIN = 4;
const IDS_NAMED_MAX = 5;

/** `number`: by which a person may name it here, also when others are decided on; null in a list of another project. */
export type NumberedSuggestion = Suggestion & { readonly number: number | null };

/** Every suggestion of a project and of none, after taking in what other implementations left; undefined: of all. */
export function numbered(
  project: CliProject | undefined,
  paths: StatePaths,
  now: Date,
): NumberedSuggestion[] {
  if (!existsSync(paths.database) && !existsSync(paths.spool)) return [];
  return writeDatabase(paths, (db) => {
    const since = new Date(now.getTime() - CACHED_HOURS * MS_PER_HOUR).toISOString();
    db.sqlite.transaction(() => registerCached(since, db));
    const all = listSuggestions(project === undefined ? {} : { project }, db);
    return all.map((suggestion, index) => ({ number: index + 1, ...suggestion }));
  });
}

/** The suggestion that is meant, by the beginning of its id or by the number that `suggestions` prints here; else fails. */
export function pickSuggestion(word: string, paths: StatePaths, context: CliContext): Suggestion {
  const see = '"self-generation suggestions --all" lists them';
  const notFound = (what: string) => fail(context, EXIT.notFound, `find ${what}`, see);
  const here = numbered(projectHere(paths, context), paths, context.now());
  if (/^\d{1,9}$/.test(word)) {
    const found = here[Number(word) - 1];
    if (found !== undefined) return found;
    const count = here.length === 0 ? 'there is none in this project' : `there are ${here.length} here`;
    return notFound(`the suggestion number ${word}: ${count}`);
  }
  if (word.length < PREFIX_LENGTH_MIN) {
    const advice = `Give a number, or at least ${PREFIX_LENGTH_MIN} characters of an id`;
    fail(context, EXIT.usage, `use "${shownLine(word)}": it is too short for an id`, advice);
  }
  const found = existsSync(paths.database) ? writeDatabase(paths, (db) => findSuggestions(word, db)) : [];
  const [only, ...others] = found;
  if (only === undefined)
    return notFound(`the suggestion "${shownLine(word)}": there is none whose id begins so`);
  if (others.length === 0 || only.id === word) return only;
  const ids = found.slice(0, IDS_NAMED_MAX).map(({ id }) => id);
  return notFound(`one suggestion "${word}": ${found.length} begin so (${ids.join(', ')})`);
}

/** Where a suggestion goes: into its own project or, with `global`, everywhere; of this client alone. */
export type Destination = { readonly global?: true; readonly client?: ClientName };

/** What applying it from here comes to; changes nothing. */
export function planHere(
  suggestion: Suggestion,
  { global, client, place }: Destination & { readonly place: Place },
  { paths, config }: CliState,
  context: CliContext,
): ApplyPlan {
  return planApply(suggestion, {
    ...{ project: projectHere(paths, context), place, language: config.language, now: context.now, client },
    ...{ earlier: listEarlier(paths), scope: global ? 'global' : 'own' },
  });
}
