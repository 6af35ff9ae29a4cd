import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { StatePaths } from '../core/state-paths.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { CONTAINS_CODE } from '../suggestions/apply.ts';
import { findSuggestions, listSuggestions, registerCached } from '../suggestions/model/store.ts';
import { describeDeclaration, type Suggestion } from '../suggestions/model/suggestion.ts';
import {
  type CliContext,
  type CliProject,
  type CliState,
  EXIT,
  fail,
  findScope,
  newCommand,
  projectHere,
  withState,
} from './context.ts';
import { printJson, shownLine } from './output.ts';

/** The age up to which the analysis of another implementation is taken in. */
const CACHED_HOURS = 168;
const MS_PER_HOUR = 3_600_000;
const PREFIX_LENGTH_MIN = 4;
const IDS_NAMED_MAX = 5;

/** `number`: by which a person may name it here, also when others are decided on; null in a list of another project. */
type Row = Suggestion & { readonly number: number | null };

/** Every suggestion of a project and of none, after taking in what other implementations left; undefined: of all. */
function numbered(project: CliProject | undefined, paths: StatePaths, now: Date): Row[] {
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
  const notFound = (what: string) => fail(context, EXIT.notFound, `find ${what}`);
  const here = numbered(projectHere(paths, context), paths, context.now());
  if (/^\d{1,9}$/.test(word)) {
    const found = here[Number(word) - 1];
    if (found !== undefined) return found;
    const count = here.length === 0 ? 'there is none in this project' : `there are ${here.length} here`;
    return notFound(`the suggestion number ${word}: ${count}`);
  }
  if (word.length < PREFIX_LENGTH_MIN) {
    const what = `use "${word}": give a number, or at least ${PREFIX_LENGTH_MIN} characters of an id`;
    fail(context, EXIT.usage, what);
  }
  const found = existsSync(paths.database) ? writeDatabase(paths, (db) => findSuggestions(word, db)) : [];
  const [only, ...others] = found;
  if (only === undefined) return notFound(`the suggestion "${word}". See "self-generation suggestions"`);
  if (others.length === 0 || only.id === word) return only;
  const ids = found.slice(0, IDS_NAMED_MAX).map(({ id }) => id);
  return notFound(`one suggestion "${word}": ${found.length} begin so (${ids.join(', ')})`);
}

type Flags = { readonly all?: true; readonly project?: string; readonly json?: true };

const EXAMPLES = `
A suggestion keeps its number when you decide on another one.

Examples:
  $ self-generation suggestions             what waits for your decision in this project
  $ self-generation suggestions --all       also what was applied, dismissed or has expired
  $ self-generation suggestions --project ~/code/app
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
  const project = scope.kind === 'all' ? undefined : projectOfDirectory(scope.path);
  const isHere = project?.path === projectHere(paths, context).path;
  const rows = numbered(project, paths, context.now())
    .filter(({ status }) => flags.all || status === 'new' || status === 'shown')
    .map((row) => (isHere ? row : { ...row, number: null }));
  const none = flags.all
    ? 'No suggestions.\n'
    : 'No suggestion waits for a decision. "self-generation analyze" looks for some.\n';
  const next = context.colours.dim(
    'Apply one with "self-generation apply N", which shows a diff and asks first.\n',
  );
  if (flags.json) printJson({ suggestions: rows }, context);
  else if (rows.length === 0) context.stdout(none);
  else context.stdout(`${rows.map((row) => describe(row, context)).join('')}${next}`);
}

function describe(
  { number, id, type, status, summary, evidence, text, details, project, why }: Row,
  { colours: { bold, dim, green, yellow } }: CliContext,
): string {
  const paint = status === 'applied' ? green : status === 'new' ? yellow : dim;
  const place = project === 'all' ? 'all projects' : project;
  const hook = details.hook ? describeDeclaration(details.hook) : CONTAINS_CODE;
  const lines = [
    `${bold(number === null ? '-' : `${number}.`)} [${type}] ${shownLine(summary)}`,
    `   ${id}  ${paint(status)}  ${dim(shownLine(place))}`,
    ...(type === 'lesson' ? [`   ${shownLine(text)}`] : []),
    ...(type === 'hook' ? [`   ${shownLine(hook)}`] : []),
    ...(evidence === '' ? [] : [`   ${dim(shownLine(evidence))}`]),
    ...(why === null ? [] : [`   why: ${shownLine(why)}`]),
  ];
  return `${lines.join('\n')}\n\n`;
}
