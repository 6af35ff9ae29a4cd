import { existsSync, readdirSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isInstructionShaped } from '../../core/inert-text.ts';
import { getProjectName, projectPathSpellings, relativeFile } from '../../core/project.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cleanText, counted, cutText, oneLine } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { readDatabase, writeDatabase } from '../../hooks/store/use-database.ts';
import { isInformative } from '../../lessons/errors/normalize-error.ts';
import { readFailure } from '../../lessons/failure.ts';
import {
  type ErrorEntry,
  type ErrorFilter,
  findErrors,
  listErrors,
  resolveError,
  searchErrors,
  tellError,
} from '../../lessons/store/error-entries.ts';
import { searchErrorKB } from '../../lessons/store/error-search.ts';
import { eraseTraces, forgetError } from '../../lessons/store/forget-error.ts';
import { sameInClones, setShared } from '../../lessons/store/lesson-log.ts';
import { withdrawLesson } from '../../lessons/store/model-lessons.ts';
import { readInput } from '../../system/files.ts';
import {
  agree,
  type CliContext,
  commandGroup,
  EXIT,
  fail,
  findScope,
  type Given,
  keepFromAgent,
  limitUpTo,
  PROJECT_OPTION,
  projectHere,
  subcommand,
  withState,
} from '../context.ts';
import { printJson, shownLine } from '../output.ts';
import { printErrors, printStory, toldOf } from './error-report.ts';

type ListFlags = Given<'open' | 'solved' | 'allProjects' | 'json'> &
  Given<'project', string> &
  Given<'limit', number>;

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 1000;
const FIX_LENGTH_MAX = 300;
const FIX_SCANNED_MAX = 8192;

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
export function errorsCommand(context: CliContext, readText = readInput): Command {
  const description = 'look at, search, correct, share and forget the errors that were recorded';
  const listNewest = (flags: ListFlags) => list(undefined, flags, context);
  const group = commandGroup('errors', { description, after: EXAMPLES }, context, listNewest);
  const listing = {
    description: 'list the newest errors',
    calls: ['', '--open', '--all-projects --limit 50'],
    codes: [0, 1, 2, 3],
  };
  const listed = subcommand('errors list', listing, context, listNewest);
  const searching = {
    description: 'find errors by words or by a file',
    codes: [0, 1, 2, 3],
    calls: ['cannot read properties', 'src/db.ts --all-projects', '모듈 --open', '-- --legacy-peer-deps'],
  };
  const found = subcommand('errors search', searching, context, (flags: ListFlags, words: string[]) =>
    list(words, flags, context),
  ).argument('<words...>', 'beginnings of words; any characters, and behind "--" also dashes');
  for (const command of [group, listed, found]) withListFlags(command);
  group.addCommand(listed).addCommand(found);
  for (const row of COMMANDS_OF_ONE) {
    const described = { calls: ['12', '12 --json'], codes: [0, 1, 2, 3], ...row };
    const act = (flags: OneFlags, id: number, words: string[]) =>
      actOnOne(row, { id, words, flags, context, readText });
    const command = subcommand(`errors ${row.name}`, described, context, act);
    command.argument('<id>', 'the number that list and search show', readId);
    group.addCommand(row.define?.(command) ?? command);
  }
  return group;
}

function withListFlags(command: Command): Command {
  return command
    .addOption(new Option('--open', 'only errors without a fix').conflicts('solved'))
    .option('--solved', 'only errors with a fix')
    .option(...PROJECT_OPTION)
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

function askedFor(flags: ListFlags, paths: StatePaths, context: CliContext): Asked {
  const state = flags.open ? 'open' : flags.solved ? 'solved' : 'any';
  const here = projectHere(paths, context);
  const all = { filter: { projects: undefined, state }, project: null, ownProject: here.spellings } as const;
  const scope = flags.allProjects ? { kind: 'all' as const } : findScope(flags.project, paths, context);
  if (scope.kind === 'all') return all;
  const spellings =
    flags.project === undefined ? here.spellings : projectPathSpellings(scope.path, scope.path);
  return { filter: { projects: spellings, state }, project: scope.path, ownProject: spellings };
}

/** Lists the newest errors, or with `words` those that match. */
function list(words: readonly string[] | undefined, flags: ListFlags, context: CliContext): Promise<void> {
  const isSearch = words !== undefined;
  return withState(context, isSearch ? 'search the errors' : 'list the errors', ({ paths }) => {
    const asked = askedFor(flags, paths, context);
    const limit = flags.limit ?? LIMIT_DEFAULT;
    const find = (db: Db) =>
      isSearch ? search(words, asked, limit, db) : listErrors(asked.filter, limit, db);
    const errors = readErrors(paths, find) ?? [];
    const withProject = isSearch || asked.project === null;
    if (flags.json) printJson({ project: asked.project, errors }, context);
    else if (errors.length > 0) printErrors(errors, { withProject }, context);
    else context.stdout(`${nothing(isSearch ? 'matches' : 'is recorded', asked)}\n`);
  });
}

function search(words: readonly string[], asked: Asked, limit: number, db: Db): ErrorEntry[] {
  const known = knownError(words.join(' '), asked, db);
  const text = words.map((word) => ofProject(word, asked)).join(' ');
  const ids = searchErrors({ text, ...asked, limit }, db).filter((id) => id !== known);
  return findErrors(known === undefined ? ids : [known, ...ids.slice(0, limit - 1)], db);
}

/** Finds the error as a hook does, for a pasted error message. */
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

type OneFlags = { readonly stdin?: true; readonly yes?: true; readonly json?: true };
type CallOfOne = {
  readonly id: number;
  readonly words: readonly string[];
  readonly flags: OneFlags;
  readonly context: CliContext;
  readonly readText: (bytesMax: number) => Promise<string>;
};
type OneError = CallOfOne & { readonly entry: ErrorEntry; readonly paths: StatePaths };

/** A command about one error. `#` stands for its number. */
type CommandOfOne = {
  readonly name: string;
  readonly description: string;
  /** What a message says could not be done, where it is not the name. */
  readonly does?: string;
  readonly calls?: readonly string[];
  readonly define?: (command: Command) => Command;
} & (
  | { readonly show: (call: CallOfOne, paths: StatePaths) => void }
  /** What only a person does. */
  | { readonly change: (error: OneError) => void | Promise<void> }
);

const COMMANDS_OF_ONE: readonly CommandOfOne[] = [
  { name: 'show', description: 'show all that is known of one error', show },
  {
    name: 'resolve',
    description: 'write down how an error is solved',
    calls: [`12 'set PORT in .env.local, then npm test'`, '12 --stdin < fix.txt'],
    define: (command) =>
      command
        .argument('[text...]', 'what solves it, in one sentence; agents are told this')
        .option('--stdin', 'take the text from standard input'),
    change: resolve,
  },
  {
    name: 'withdraw',
    description: 'stop telling agents what was learned of an error',
    does: 'withdraw what is told of error #',
    change: withdraw,
  },
  {
    name: 'share',
    description: 'tell a lesson in every project, behind what each has learned itself',
    change: share,
  },
  {
    name: 'unshare',
    description: 'tell a shared lesson in its own project only',
    does: 'take back that error # is shared',
    change: unshare,
  },
  {
    name: 'forget',
    description: 'delete an error everywhere and never record it again',
    calls: ['12', '12 --yes'],
    define: (command) => command.option('--yes', 'do not ask'),
    change: forget,
  },
];

function actOnOne(row: CommandOfOne, call: CallOfOne): Promise<void> {
  const { id, context } = call;
  const action = row.does?.replace('#', String(id)) ?? `${row.name} error ${id}`;
  return withState(context, action, ({ paths }) => {
    if ('show' in row) return row.show(call, paths);
    const words = `errors ${row.name} ${id}${row.name === 'resolve' ? ' …' : ''}`;
    keepFromAgent(action, words, context);
    const entry = readErrors(paths, (db) => findErrors([id], db))?.[0];
    return row.change({ ...call, entry: entry ?? notFound(id, context), paths });
  });
}

function show({ id, flags, context }: CallOfOne, paths: StatePaths): void {
  const story = readErrors(paths, (db) => tellError(id, db)) ?? notFound(id, context);
  if (flags.json) printJson({ ...story, agents: toldOf(story) }, context);
  else printStory(story, context);
}

function notFound(id: number, context: CliContext): never {
  const advice = '"self-generation errors --all-projects" lists them';
  return fail(context, EXIT.notFound, `find error ${id}: there is none of this number`, advice);
}

/** Reads; a database that an earlier version made is brought up to date first. Undefined when there is none. */
function readErrors<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: work(db) } : 'older'));
  return found === 'older' ? writeDatabase(paths, work) : found?.value;
}

/** A person's own words for what solves an error. */
async function resolve({ id, words, flags, context, readText, entry, paths }: OneError): Promise<void> {
  const refuse = (code: number, why: string) => fail(context, code, `resolve error ${id}: ${why}`);
  if (flags.stdin && words.length > 0)
    return refuse(EXIT.usage, 'give the text as words or with --stdin, not both');
  const text = flags.stdin ? await readText(FIX_SCANNED_MAX) : words.join(' ');
  const whole = oneLine(redactSecrets(cleanText(cutText(text, FIX_SCANNED_MAX))));
  if (whole === '') return refuse(EXIT.usage, 'say what solves it, or use --stdin');
  const summary = cutText(whole, FIX_LENGTH_MAX);
  if (!isInformative(entry.error)) return refuse(EXIT.failed, 'it says too little to be recognised again');
  const order = 'the text is shaped like an instruction to its reader, so agents would never be told';
  if (isInstructionShaped(summary)) return refuse(EXIT.failed, `${order}. Say what was done`);
  const ts = context.now().toISOString();
  if (!writeDatabase(paths, (db) => resolveError(id, { summary, ts }, db))) return notFound(id, context);
  const agents = toldOf({ error: entry.error, said: entry.error, fix: summary });
  if (flags.json) return printJson({ id, fix: summary, agents }, context);
  context.stdout(`Error ${id} is solved by: ${summary}\n`);
  if (whole.length > summary.length)
    context.stderr(`warning: the text was cut to ${FIX_LENGTH_MAX} characters\n`);
  if (agents.reason !== null) context.stderr(`warning: agents are told ${agents.told}: ${agents.reason}\n`);
}

/** What is told of an error was wrong; it is not told any more, nor proposed again. */
function withdraw({ id, flags, context, entry: { fix }, paths }: OneError): void {
  writeDatabase(paths, (db) => {
    for (const one of sameInClones(id, db)) withdrawLesson(one, 'user', db);
  });
  const what = fix === null ? 'nothing was told of it yet' : shownLine(fix);
  const said = `Withdrawn: ${what}. Agents are told nothing of error ${id}, and no lesson of it is proposed.\n`;
  if (flags.json) printJson({ kind: 'withdrawn', id, fix }, context);
  else context.stdout(said);
}

/** What one project has learned is told in every other one. */
function share({ id, flags, context, entry, paths }: OneError): void {
  const { told, reason } = toldOf(entry);
  const isOrder = isInstructionShaped(getProjectName(entry.project));
  const why = isOrder
    ? 'the name of its project is shaped like an instruction to its reader'
    : told !== 'error and fix' && reason;
  if (why) fail(context, EXIT.failed, `share error ${id}: ${why}`);
  writeDatabase(paths, (db) => setShared(id, true, db));
  const { fix } = entry;
  const said = 'Agents in every project are told it, with where it comes from, as long as it stays as it is';
  if (flags.json) printJson({ kind: 'shared', id, fix }, context);
  else context.stdout(`Shared: ${shownLine(fix ?? '')}. ${said}.\n`);
}

/** It is told in its own project again, and in no other. */
function unshare({ id, flags, context, paths }: OneError): void {
  writeDatabase(paths, (db) => setShared(id, false, db));
  if (flags.json) printJson({ kind: 'unshared', id }, context);
  else context.stdout(`Error ${id} is told in its own project only.\n`);
}

/** Deletes an error in every project, never to be recorded again. */
async function forget({ id, flags, context, entry, paths }: OneError): Promise<void> {
  const { yes, json } = flags;
  if (!yes && !json && context.isInteractive) context.stdout(`${shownLine(entry.error)}\n`);
  const question = 'Delete this error in every project, and never record it again?';
  await agree(question, 'forget this', { yes, report: { id } }, context);
  if (!json) context.progress('deleting …');
  const { deleted, erased } = writeDatabase(paths, (db) => ({
    deleted: forgetError(entry.error, context.now().toISOString(), db),
    erased: eraseTraces(db),
  }));
  context.progress('');
  const copies = backupsIn(paths);
  if (json) return printJson({ kind: 'forgotten', id, deleted, erased, copies }, context);
  const parts = [
    { count: deleted.errors, kind: 'error' },
    { count: deleted.events, kind: 'event' },
    { count: deleted.summaries, kind: 'mention', of: ' in summaries of sessions' },
    { count: deleted.contexts, kind: 'note', of: ' of what an agent was given' },
    { count: deleted.analyses, kind: 'answer', of: ' of an analysis' },
  ].flatMap(({ count, kind, of = '' }) => (count === 0 ? [] : [`${counted(count, kind)}${of}`]));
  context.stdout(`Error ${id} is forgotten: ${parts.join(', ')}. It will not be recorded again.\n`);
  const remains = 'parts of it may still stand in unused places of the database';
  if (erased.kind === 'failed') context.stderr(`warning: ${remains}: ${erased.reason}\n`);
  const lines = copies.map((copy) => `  ${copy}\n`).join('');
  if (lines !== '') context.stderr(`warning: these copies were made before and may contain it:\n${lines}`);
}

/** Copies of the database that were made before it was brought up to date. */
function backupsIn({ backups }: StatePaths): string[] {
  if (!existsSync(backups)) return [];
  const names = readdirSync(backups).filter((name) => name.endsWith('.db'));
  return names.map((name) => `${backups}/${name}`);
}
