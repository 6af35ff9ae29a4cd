import type { Command } from 'commander';
import pc from 'picocolors';
import { describeDeclaration } from '../core/hook-declaration.ts';
import type { Suggestion } from '../core/suggestion.ts';
import { CONTAINS_CODE } from '../learn/apply/apply.ts';
import { projectOfDirectory } from '../subagents/workplace/run-project.ts';
import { type CliContext, type CliState, newCommand, withState } from './context.ts';
import { findScope, projectHere } from './project.ts';
import { isWaiting, numbered } from './suggestion-list.ts';
import { shownJson, shownLine } from './visible.ts';

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
