import { type Command, InvalidArgumentError, Option } from 'commander';
import { projectPathSpellings, relativeFile } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cleanText } from '../core/text.ts';
import { readFailure } from '../lessons/failure.ts';
import type { Db } from '../store/connection.ts';
import { type ErrorFilter, findErrors, listErrors, tellError } from '../store/error-entries.ts';
import { searchErrors } from '../store/error-search.ts';
import { searchErrorKB } from '../store/search-error-kb.ts';
import { readInput } from '../sys/read-input.ts';
import {
  type ForgetFlags,
  forget,
  type ResolveFlags,
  resolve,
  share,
  unshare,
  withdraw,
} from './change-error.ts';
import { type CliContext, newCommand, withState } from './context.ts';
import { notFound, printJson, readErrors } from './error-access.ts';
import { printErrors, printStory, toldOf } from './error-report.ts';
import { findScope, projectHere } from './project.ts';

type ListFlags = {
  readonly open?: true;
  readonly solved?: true;
  readonly project?: string;
  readonly allProjects?: true;
  readonly limit?: number;
  readonly json?: true;
};

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 1000;

const EXAMPLES = `
Examples:
  $ self-generation errors                           the newest errors of the project you are in
  $ self-generation errors search cannot read db.ts
  $ self-generation errors show 12
  $ self-generation errors resolve 12 'set PORT in .env.local, then npm test'
  $ self-generation errors withdraw 12               what agents are told of it is wrong
  $ self-generation errors share 12                  tell it in every project; "unshare" takes that back
  $ self-generation errors forget 12

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or more than one.`;

/** `errors`: what went wrong so far and how it was solved, to be looked at, searched, corrected, shared and forgotten. */
export function errorsCommand(context: CliContext, read = readInput): Command {
  const command = newCommand('errors', context)
    .description('look at, search, correct, share and forget the errors that were recorded')
    .enablePositionalOptions()
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action((flags: ListFlags) => {
      if (command.args.length > 0) unknownWord(command);
      return list(flags, context);
    });
  withListFlags(command);
  command.addCommand(
    withListFlags(
      subcommand('list', 'list the newest errors', ['', '--open', '--all-projects --limit 50'], context),
    ).action((_flags: ListFlags, self: Command) => list(self.optsWithGlobals(), context)),
  );
  command.addCommand(
    withListFlags(subcommand('search', 'find errors by words or by a file', SEARCH_CALLS, context))
      .argument('<words...>', 'beginnings of words; any characters, and behind "--" also dashes')
      .action((words: string[], _flags: ListFlags, self: Command) =>
        search(words, self.optsWithGlobals(), context),
      ),
  );
  command.addCommand(
    withJson(subcommand('show', 'show all that is known of one error', ['12', '12 --json'], context))
      .argument('<id>', 'the number that list and search show', readId)
      .action((id: number, _flags: object, self: Command) => show(id, self.optsWithGlobals(), context)),
  );
  command.addCommand(
    withJson(subcommand('resolve', 'write down how an error is solved', RESOLVE_CALLS, context))
      .argument('<id>', 'the number that list and search show', readId)
      .argument('[text...]', 'what solves it, in one sentence; agents are told this')
      .option('--stdin', 'take the text from standard input')
      .action((id: number, words: string[], _flags: ResolveFlags, self: Command) =>
        resolve(id, { words, readInput: read }, self.optsWithGlobals(), context),
      ),
  );
  command.addCommand(
    withJson(
      subcommand('withdraw', 'tell agents no more what was learnt of an error', ['12', '12 --json'], context),
    )
      .argument('<id>', 'the number that list and search show', readId)
      .action((id: number, _flags: object, self: Command) => withdraw(id, self.optsWithGlobals(), context)),
  );
  for (const [name, description, act] of SHARING) {
    command.addCommand(
      withJson(subcommand(name, description, ['12', '12 --json'], context))
        .argument('<id>', 'the number that list and search show', readId)
        .action((id: number, _flags: object, self: Command) => act(id, self.optsWithGlobals(), context)),
    );
  }
  command.addCommand(
    withJson(
      subcommand(
        'forget',
        'delete an error everywhere and never record it again',
        ['12', '12 --yes'],
        context,
      ),
    )
      .argument('<id>', 'the number that list and search show', readId)
      .option('--yes', 'do not ask')
      .action((id: number, _flags: ForgetFlags, self: Command) =>
        forget(id, self.optsWithGlobals(), context),
      ),
  );
  return command;
}

const SHARING = [
  ['share', 'tell a lesson in every project, behind what each has learnt itself', share],
  ['unshare', 'tell a shared lesson in its own project only', unshare],
] as const;

const SEARCH_CALLS = [
  'cannot read properties',
  'src/db.ts --all-projects',
  '모듈 --open',
  '-- --legacy-peer-deps',
];
const RESOLVE_CALLS = [`12 'set PORT in .env.local, then npm test'`, '12 --stdin < fix.txt'];

function subcommand(
  name: string,
  description: string,
  calls: readonly string[],
  context: CliContext,
): Command {
  const lines = calls.map((call) => `  $ self-generation errors ${`${name} ${call}`.trim()}`);
  return newCommand(`errors ${name}`, context)
    .description(description)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

function withJson(command: Command): Command {
  return command.option('--json', 'print as JSON');
}

function withListFlags(command: Command): Command {
  return withJson(command)
    .addOption(new Option('--open', 'only errors without a fix').conflicts('solved'))
    .option('--solved', 'only errors with a fix')
    .addOption(new Option('--project <P>', 'a project by its path or name; otherwise the one you are in'))
    .addOption(new Option('--all-projects', 'errors of every project').conflicts('project'))
    .option('--limit <N>', `how many at most (${LIMIT_DEFAULT})`, readLimit);
}

function unknownWord(command: Command): never {
  command.error(
    `error: unknown command 'errors ${command.args[0]}': it is list, search, show, resolve, withdraw, share, unshare or forget`,
  );
}

function readId(text: string): number {
  const id = Number(text);
  if (/^\d{1,15}$/.test(text) && id > 0) return id;
  throw new InvalidArgumentError('It is the number that "errors list" shows.');
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,4}$/.test(text) && limit > 0 && limit <= LIMIT_MAX) return limit;
  throw new InvalidArgumentError(`It is a number from 1 to ${LIMIT_MAX}.`);
}

type Asked = {
  readonly filter: ErrorFilter;
  /** The project that is asked about, null for all of them. */
  readonly project: string | null;
  readonly ownProject: readonly string[];
};

function askedFor(flags: ListFlags, paths: StatePaths, context: CliContext): Asked | undefined {
  const state = flags.open ? 'open' : flags.solved ? 'solved' : 'any';
  const here = projectHere(paths, context);
  const everything = {
    filter: { projects: undefined, state },
    project: null,
    ownProject: here.spellings,
  } as const;
  if (flags.allProjects) return everything;
  if (flags.project === undefined)
    return { filter: { projects: here.spellings, state }, project: here.path, ownProject: here.spellings };
  const scope = findScope(flags.project, paths, context);
  if (scope === undefined || scope.kind === 'all') return scope && everything;
  const spellings = projectPathSpellings(scope.path, scope.path);
  return { filter: { projects: spellings, state }, project: scope.path, ownProject: spellings };
}

function list(flags: ListFlags, context: CliContext): Promise<void> {
  return withState(context, 'list the errors', ({ paths }) => {
    const asked = askedFor(flags, paths, context);
    if (asked === undefined) return;
    const errors =
      readErrors(paths, (db) => listErrors(asked.filter, flags.limit ?? LIMIT_DEFAULT, db)) ?? [];
    if (flags.json) printJson({ project: asked.project, errors }, context);
    else if (errors.length > 0) printErrors(errors, { withProject: asked.project === null }, context);
    else context.stdout(`${nothing('is recorded', asked)}\n`);
  });
}

function search(words: readonly string[], flags: ListFlags, context: CliContext): Promise<void> {
  return withState(context, 'search the errors', ({ paths }) => {
    const asked = askedFor(flags, paths, context);
    if (asked === undefined) return;
    const limit = flags.limit ?? LIMIT_DEFAULT;
    const found = {
      text: words.map((word) => ofProject(word, asked)).join(' '),
      ...asked,
      limit,
    };
    const errors =
      readErrors(paths, (db) => {
        const known = knownError(words.join(' '), asked, db);
        const ids = searchErrors(found, db).filter((id) => id !== known);
        return findErrors(known === undefined ? ids : [known, ...ids.slice(0, limit - 1)], db);
      }) ?? [];
    if (flags.json) printJson({ project: asked.project, errors }, context);
    else if (errors.length > 0) printErrors(errors, { withProject: true }, context);
    else context.stdout(`${nothing('matches', asked)}\n`);
  });
}

/** The very error, as a hook finds it: what was printed may have been pasted here. */
function knownError(text: string, { project, filter }: Asked, db: Db): number | undefined {
  if (project === null || filter.state === 'open') return undefined;
  const { key } = readFailure({ tool: 'Bash', line: null, text: redactSecrets(cleanText(text)) });
  return searchErrorKB(key, project, db, text)?.id;
}

/** A file of the project as errors name it: relative. */
function ofProject(word: string, { ownProject }: Asked): string {
  for (const root of ownProject) {
    const relative = relativeFile(word, root);
    if (relative.length < word.length) return relative;
  }
  return word;
}

/** `No error of "/home/dev/app" is recorded. --all-projects shows those of every project.` */
function nothing(verb: string, { filter, project }: Asked): string {
  const kind = filter.state === 'any' ? 'error' : `${filter.state} error`;
  if (project === null) return `No ${kind} ${verb}.`;
  return `No ${kind} of "${project}" ${verb}. --all-projects shows those of every project.`;
}

function show(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  return withState(context, `show error ${id}`, ({ paths }) => {
    const story = readErrors(paths, (db) => tellError(id, db));
    if (story === undefined) notFound(id, context);
    else if (json) printJson({ ...story, agents: toldOf(story) }, context);
    else printStory(story, context);
  });
}
