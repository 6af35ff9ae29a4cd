import type { Command } from 'commander';
import { projectOfDirectory } from '../../runs/workspace/first-prompt.ts';
import { CONTAINS_CODE } from '../../suggestions/apply.ts';
import { describeDeclaration } from '../../suggestions/model/suggestion.ts';
import {
  type CliContext,
  type CliState,
  commandGroup,
  findScope,
  type Given,
  PROJECT_OPTION,
  projectHere,
  subcommand,
  withState,
} from '../context.ts';
import { printJson, shortened, shownLine } from '../output.ts';
import { showSuggestion } from './show.ts';
import { type NumberedSuggestion, numbered } from './suggestions-here.ts';

type Flags = Given<'all' | 'json'> & Given<'project', string>;

const TEXT_LENGTH_MAX = 160;

const EXAMPLES = `
A suggestion keeps its number when you decide on another one.

Examples:
  $ self-generation suggestions             what waits for your decision in this project
  $ self-generation suggestions show 1      all of one: its text, what would be written where, and why
  $ self-generation suggestions --all       also what was applied, dismissed or has expired
  $ self-generation suggestions --project ~/code/app
  $ self-generation suggestions --json

Exit codes: 0 shown, 1 failed, 2 wrong usage, 3 no such project or suggestion.`;

/** `suggestions`: what an analysis proposed for this project and for all. */
export function suggestionsCommand(context: CliContext): Command {
  const described = { description: 'list what the analysis of the log proposes', after: EXAMPLES };
  const listAll = (flags: Flags) =>
    withState(context, 'list suggestions', (state) => list(flags, state, context));
  const group = commandGroup('suggestions', described, context, listAll);
  const listing = { description: 'list them', calls: ['', '--all', '--project all'] };
  const listed = subcommand('suggestions list', listing, context, listAll);
  for (const command of [group, listed])
    command.option('--all', 'also those that are decided on or have expired').option(...PROJECT_OPTION);
  const showing = {
    description: 'show all of one: its text, what applying it would write where, and the evidence',
    calls: ['1', 's1a2b --json'],
    after: '\n\nExit codes: 0 shown, 1 failed, 2 wrong usage, 3 no such suggestion.',
  };
  const shown = subcommand('suggestions show', showing, context, (flags: Flags, word: string) =>
    withState(context, 'show a suggestion', (state) => showSuggestion(word, flags, state, context)),
  ).argument('<ID|N>', 'the beginning of its id, or its number in the list');
  group.addCommand(listed).addCommand(shown);
  return group;
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
    'All of one: "self-generation suggestions show N". Apply it with "apply N", which shows a diff and asks first.\n',
  );
  if (flags.json) printJson({ suggestions: rows }, context);
  else if (rows.length === 0) context.stdout(none);
  else context.stdout(`${rows.map((row) => describe(row, context)).join('')}${next}`);
}

function describe(
  { number, id, type, status, summary, evidence, text, details, project, why }: NumberedSuggestion,
  { colours: { bold, dim, green, yellow } }: CliContext,
): string {
  const paint = status === 'applied' ? green : status === 'new' ? yellow : dim;
  const place = project === 'all' ? 'all projects' : project;
  const hook = details.hook ? describeDeclaration(details.hook) : CONTAINS_CODE;
  const shown = type === 'hook' ? hook : text;
  const lines = [
    `${bold(number === null ? '-' : `${number}.`)} [${type}] ${shownLine(summary)}`,
    `   ${id}  ${paint(status)}  ${dim(shownLine(place))}`,
    ...(shown === summary ? [] : [`   ${shortened(shown, TEXT_LENGTH_MAX)}`]),
    ...(evidence === '' ? [] : [`   ${dim(shownLine(evidence))}`]),
    ...(why === null ? [] : [`   why: ${shownLine(why)}`]),
  ];
  return `${lines.join('\n')}\n\n`;
}
