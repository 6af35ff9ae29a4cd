import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import pc from 'picocolors';
import type { StatePaths } from '../core/state-paths.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { CONTAINS_CODE } from '../suggestions/apply.ts';
import { findSuggestions, listSuggestions, registerCached } from '../suggestions/store.ts';
import type { Suggestion } from '../suggestions/suggestion.ts';
import { describeDeclaration } from '../suggestions/suggestion.ts';
import {
  type CliContext,
  type CliState,
  EXIT_NOT_FOUND,
  EXIT_USAGE,
  fail,
  newCommand,
  withState,
} from './context.ts';
import { shownJson, shownLine } from './output.ts';
import { type CliProject, findScope, projectHere } from './project.ts';

/** How old an analysis of another implementation may be to be taken in. */
const CACHED_HOURS = 168;
const MS_PER_HOUR = 3_600_000;
const PREFIX_LENGTH_MIN = 4;
const IDS_NAMED_MAX = 5;

/** `number`: by which a person may name it; it stays the same when others are decided on. */
type Numbered = Suggestion & { readonly number: number };

/** Every suggestion of a project and of none, after taking in what other implementations left; undefined: of all. */
function numbered(project: CliProject | undefined, paths: StatePaths, now: Date): Numbered[] {
  if (!existsSync(paths.database) && !existsSync(paths.spool)) return [];
  return writeDatabase(paths, (db) => {
    const since = new Date(now.getTime() - CACHED_HOURS * MS_PER_HOUR).toISOString();
    db.sqlite.transaction(() => registerCached(since, db));
    const all = listSuggestions(project === undefined ? {} : { project }, db);
    return all.map((suggestion, index) => ({ number: index + 1, ...suggestion }));
  });
}

/** Whether it waits for the user's decision. */
function isWaiting({ status }: Suggestion): boolean {
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

type Flags = { readonly all?: true; readonly project?: string; readonly json?: true };

/** `number`: by which `apply` and `dismiss` know it here; null in a list of another project. */
type Row = Suggestion & { readonly number: number | null };

const EXAMPLES = `
A suggestion keeps its number when you decide on another one.

Examples:
  $ self-generation suggestions             what waits for your decision in this project
  $ self-generation suggestions --all       also what was applied, dismissed or has expired
  $ self-generation suggestions --project ~/work/app
  $ self-generation suggestions --json

Exit codes: 0 shown, 1 failed, 2 wrong usage, 3 no such project.`;

/** `suggestions`: what an analysis proposed for this project and for all. */
export function suggestionsCommand(context: CliContext): Command {
  return newCommand('suggestions', context)
    .description('list what the analysis of the log proposes')
    .option('--all', 'also those that are decided on or have expired')
    .option('--project <PATH>', 'another project, by its path or name, or "all"')
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'list suggestions', (state) => list(flags, state, context)));
}

function list(flags: Flags, { paths }: CliState, context: CliContext): void {
  const scope = findScope(flags.project, paths, context);
  if (scope === undefined) return;
  const project = scope.kind === 'all' ? undefined : projectOfDirectory(scope.path);
  const isHere = project?.path === projectHere(paths, context).path;
  const all = numbered(project, paths, context.now());
  const rows = (flags.all ? all : all.filter(isWaiting)).map((row) =>
    isHere ? row : { ...row, number: null },
  );
  if (flags.json) context.stdout(shownJson({ suggestions: rows }));
  else print(rows, flags, context);
}

function print(rows: readonly Row[], { all }: Flags, context: CliContext): void {
  const { dim } = pc.createColors(context.colour);
  if (rows.length === 0) {
    context.stdout(
      all
        ? 'No suggestions.\n'
        : 'No suggestion waits for a decision. "self-generation analyze" looks for some.\n',
    );
    return;
  }
  for (const row of rows) context.stdout(describe(row, context));
  context.stdout(dim('Apply one with "self-generation apply N", which shows a diff and asks first.\n'));
}

function describe(
  { number, id, type, status, summary, evidence, text, details, project, why }: Row,
  { colour }: CliContext,
): string {
  const { bold, dim, green, yellow } = pc.createColors(colour);
  const paint = status === 'applied' ? green : status === 'new' ? yellow : dim;
  const place = project === 'all' ? 'all projects' : project;
  const lines = [
    `${bold(number === null ? '-' : `${number}.`)} [${type}] ${shownLine(summary)}`,
    `   ${id}  ${paint(status)}  ${dim(shownLine(place))}`,
    ...(type === 'lesson' ? [`   ${shownLine(text)}`] : []),
    ...(type === 'hook'
      ? [`   ${details.hook ? shownLine(describeDeclaration(details.hook)) : CONTAINS_CODE}`]
      : []),
    ...(evidence === '' ? [] : [`   ${dim(shownLine(evidence))}`]),
    ...(why === null ? [] : [`   why: ${shownLine(why)}`]),
  ];
  return `${lines.join('\n')}\n\n`;
}
