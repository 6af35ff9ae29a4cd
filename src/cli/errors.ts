import { type Command, InvalidArgumentError, Option } from 'commander';
import { projectPathSpellings, relativeFile } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cleanText } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { readFailure } from '../lessons/failure.ts';
import { type ErrorFilter, findErrors, listErrors, tellError } from '../lessons/store/error-entries.ts';
import { searchErrorKB, searchErrors } from '../lessons/store/error-search.ts';
import { readInput } from '../system/files.ts';
import {
  forget,
  notFound,
  type ResolveFlags,
  readErrors,
  resolve,
  share,
  unshare,
  withdraw,
} from './change-error.ts';
import { type CliContext, commandGroup, limitUpTo, subcommand, withState } from './context.ts';
import { printErrors, printStory, toldOf } from './error-report.ts';
import { printJson } from './output.ts';
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
  const description = 'look at, search, correct, share and forget the errors that were recorded';
  const group = commandGroup('errors', { description, after: EXAMPLES }, context, (flags: ListFlags) =>
    list(flags, context),
  );
  const add = <Flags, Given extends unknown[]>(
    name: string,
    described: { readonly description: string; readonly calls: readonly string[] },
    act: (flags: Flags, ...given: Given) => Promise<void>,
  ) => {
    const command = subcommand(`errors ${name}`, described, context, act);
    group.addCommand(command);
    return command;
  };
  const addOfOne = <Flags>(
    name: string,
    description: string,
    act: (id: number, flags: Flags, context: CliContext, words: string[]) => Promise<void>,
    calls: readonly string[] = ['12', '12 --json'],
  ) =>
    add(name, { description, calls }, (flags: Flags, id: number, words: string[]) =>
      act(id, flags, context, words),
    ).argument('<id>', 'the number that list and search show', readId);
  withListFlags(group);
  const listing = {
    description: 'list the newest errors',
    calls: ['', '--open', '--all-projects --limit 50'],
  };
  withListFlags(add('list', listing, (flags: ListFlags) => list(flags, context)));
  const searching = { description: 'find errors by words or by a file', calls: SEARCH_CALLS };
  withListFlags(
    add('search', searching, (flags: ListFlags, words: string[]) => search(words, flags, context)),
  ).argument('<words...>', 'beginnings of words; any characters, and behind "--" also dashes');
  addOfOne('show', 'show all that is known of one error', show);
  addOfOne(
    'resolve',
    'write down how an error is solved',
    (id, flags: ResolveFlags, _context, words) => resolve(id, { words, readInput: read }, flags, context),
    RESOLVE_CALLS,
  )
    .argument('[text...]', 'what solves it, in one sentence; agents are told this')
    .option('--stdin', 'take the text from standard input');
  addOfOne('withdraw', 'tell agents no more what was learnt of an error', withdraw);
  addOfOne('share', 'tell a lesson in every project, behind what each has learnt itself', share);
  addOfOne('unshare', 'tell a shared lesson in its own project only', unshare);
  addOfOne('forget', 'delete an error everywhere and never record it again', forget, [
    '12',
    '12 --yes',
  ]).option('--yes', 'do not ask');
  return group;
}

const SEARCH_CALLS = [
  'cannot read properties',
  'src/db.ts --all-projects',
  '모듈 --open',
  '-- --legacy-peer-deps',
];
const RESOLVE_CALLS = [`12 'set PORT in .env.local, then npm test'`, '12 --stdin < fix.txt'];

function withListFlags(command: Command): Command {
  return command
    .addOption(new Option('--open', 'only errors without a fix').conflicts('solved'))
    .option('--solved', 'only errors with a fix')
    .addOption(new Option('--project <P>', 'a project by its path or name; otherwise the one you are in'))
    .addOption(new Option('--all-projects', 'errors of every project').conflicts('project'))
    .option('--limit <N>', `how many at most (${LIMIT_DEFAULT})`, limitUpTo(LIMIT_MAX));
}

function readId(text: string): number {
  const id = Number(text);
  if (/^\d{1,15}$/.test(text) && id > 0) return id;
  throw new InvalidArgumentError('It is the number that "errors list" shows.');
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
  const known = searchErrorKB(key, project, db, text);
  return known?.differing === undefined ? known?.id : undefined;
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
