import { existsSync, readdirSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { getProjectName, projectPathSpellings, relativeFile } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cleanText, cutText, oneLine } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { isInformative } from '../lessons/errors/normalize-error.ts';
import { readFailure } from '../lessons/failure.ts';
import {
  type ErrorEntry,
  type ErrorFilter,
  findErrors,
  listErrors,
  resolveError,
  tellError,
} from '../lessons/store/error-entries.ts';
import { searchErrorKB, searchErrors } from '../lessons/store/error-search.ts';
import { type Erased, eraseTraces, type Forgotten, forgetError } from '../lessons/store/forget-error.ts';
import { sameInClones, setShared } from '../lessons/store/lesson-log.ts';
import { withdrawLesson } from '../lessons/store/model-lessons.ts';
import { counted } from '../setup/check.ts';
import { readInput } from '../system/files.ts';
import {
  type CliContext,
  commandGroup,
  EXIT,
  fail,
  findScope,
  isKeptFromAgent,
  limitUpTo,
  projectHere,
  subcommand,
  withState,
} from './context.ts';
import { printErrors, printStory, toldOf } from './error-report.ts';
import { printJson, shownLine } from './output.ts';

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

const FIX_LENGTH_MAX = 300;
const FIX_SCANNED_MAX = 8192;

type ResolveFlags = { readonly stdin?: true; readonly json?: true };
/** Where a text comes from: words of the call, or standard input. */
type TextSource = {
  readonly words: readonly string[];
  readonly readInput: (bytesMax: number) => Promise<string>;
};

/** `errors resolve`: a person's own words for what solves an error. */
function resolve(
  id: number,
  { words, readInput }: TextSource,
  flags: ResolveFlags,
  context: CliContext,
): Promise<void> {
  return withState(context, `resolve error ${id}`, async ({ paths }) => {
    if (isKeptFromAgent(`resolve error ${id}`, `errors resolve ${id} …`, context)) return;
    if (flags.stdin && words.length > 0)
      return fail(
        context,
        EXIT.usage,
        `resolve error ${id}: give the text as words or with --stdin, not both`,
      );
    const text = flags.stdin ? await readInput(FIX_SCANNED_MAX) : words.join(' ');
    const whole = oneLine(redactSecrets(cleanText(cutText(text, FIX_SCANNED_MAX))));
    if (whole === '')
      return fail(context, EXIT.usage, `resolve error ${id}: say what solves it, or use --stdin`);
    const summary = cutText(whole, FIX_LENGTH_MAX);
    const entry = findEntry(id, paths);
    if (entry === undefined) return notFound(id, context);
    const why = refusal(entry, summary);
    if (why !== undefined) return fail(context, EXIT.failed, `resolve error ${id}: ${why}`);
    const ts = context.now().toISOString();
    if (!writeDatabase(paths, (db) => resolveError(id, { summary, ts }, db))) return notFound(id, context);
    const agents = toldOf({ error: entry.error, said: entry.error, fix: summary });
    if (flags.json) return printJson({ id, fix: summary, agents }, context);
    context.stdout(`Error ${id} is solved by: ${summary}\n`);
    if (whole.length > summary.length)
      context.stderr(`warning: the text was cut to ${FIX_LENGTH_MAX} characters\n`);
    if (agents.reason !== null) context.stderr(`warning: agents are told ${agents.told}: ${agents.reason}\n`);
  });
}

function refusal({ error }: ErrorEntry, summary: string): string | undefined {
  if (!isInformative(error)) return 'it says too little to be recognised again';
  if (isInstructionShaped(summary))
    return 'the text is shaped like an instruction to its reader, so agents would never be told. Say what was done';
  return undefined;
}

/** What only a person does to an error that is there. `words`: of the call, behind `errors`. */
function changeError(
  { action, words, id }: { readonly action: string; readonly words: string; readonly id: number },
  context: CliContext,
  act: (entry: ErrorEntry, paths: StatePaths) => void | Promise<void>,
): Promise<void> {
  return withState(context, action, ({ paths }) => {
    if (isKeptFromAgent(action, `errors ${words}`, context)) return;
    const entry = findEntry(id, paths);
    return entry === undefined ? notFound(id, context) : act(entry, paths);
  });
}

/** `errors withdraw`: what is told of an error was wrong; it is not told any more, nor proposed again. */
function withdraw(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  const change = { action: `withdraw what is told of error ${id}`, words: `withdraw ${id}`, id };
  return changeError(change, context, ({ fix }, paths) => {
    writeDatabase(paths, (db) => {
      for (const one of sameInClones(id, db)) withdrawLesson(one, 'user', db);
    });
    if (json) return printJson({ kind: 'withdrawn', id, fix }, context);
    const what = fix === null ? 'nothing was told of it yet' : shownLine(fix);
    context.stdout(
      `Withdrawn: ${what}. Agents are told nothing of error ${id}, and no lesson of it is proposed.\n`,
    );
  });
}

/** `errors share`: what one project has learnt is told in every other one. What is told everywhere a person decides. */
function share(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  return changeError({ action: `share error ${id}`, words: `share ${id}`, id }, context, (entry, paths) => {
    const { told, reason } = toldOf(entry);
    const isOrder = isInstructionShaped(getProjectName(entry.project));
    const why = isOrder
      ? 'the name of its project is shaped like an instruction to its reader'
      : told !== 'error and fix' && reason;
    if (why) return fail(context, EXIT.failed, `share error ${id}: ${why}`);
    writeDatabase(paths, (db) => setShared(id, true, db));
    if (json) return printJson({ kind: 'shared', id, fix: entry.fix }, context);
    context.stdout(
      `Shared: ${shownLine(entry.fix ?? '')}. Agents in every project are told it, with where it comes from, as long as it stays as it is.\n`,
    );
  });
}

/** `errors unshare`: it is told in its own project again, and in no other. */
function unshare(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  const change = { action: `take back that error ${id} is shared`, words: `unshare ${id}`, id };
  return changeError(change, context, (_entry, paths) => {
    writeDatabase(paths, (db) => setShared(id, false, db));
    if (json) return printJson({ kind: 'unshared', id }, context);
    context.stdout(`Error ${id} is told in its own project only.\n`);
  });
}

type ForgetFlags = { readonly yes?: true; readonly json?: true };

/** `errors forget`: deletes an error in every project and never records it again. */
function forget(id: number, { yes, json }: ForgetFlags, context: CliContext): Promise<void> {
  const change = { action: `forget error ${id}`, words: `forget ${id}`, id };
  return changeError(change, context, async (entry, paths) => {
    if (!yes && !(await isAgreed(entry, json === true, context))) {
      if (json) printJson({ kind: 'not-confirmed', id }, context);
      context.setExitCode(EXIT.failed);
      return;
    }
    if (!json) context.progress('deleting …');
    const done = writeDatabase(paths, (db) => ({
      deleted: forgetError(entry.error, context.now().toISOString(), db),
      erased: eraseTraces(db),
    }));
    context.progress('');
    const copies = backupsIn(paths);
    if (json) printJson({ kind: 'forgotten', id, ...done, copies }, context);
    else printForgotten(id, { ...done, copies }, context);
  });
}

/** Whether the user wants it; says so when not. */
async function isAgreed({ error }: ErrorEntry, isSilent: boolean, context: CliContext): Promise<boolean> {
  if (isSilent) return false;
  if (!context.isInteractive) {
    context.stderr('Nothing was changed: nobody can be asked here. Pass --yes to forget this.\n');
    return false;
  }
  context.stdout(`${shownLine(error)}\n`);
  if (await context.confirm('Delete this error in every project, and never record it again?')) return true;
  context.stdout('Nothing was changed.\n');
  return false;
}

type Done = { readonly deleted: Forgotten; readonly erased: Erased; readonly copies: readonly string[] };

function printForgotten(id: number, { deleted, erased, copies }: Done, context: CliContext): void {
  const parts = [
    { count: deleted.errors, kind: 'error' },
    { count: deleted.events, kind: 'event' },
    { count: deleted.summaries, kind: 'mention', of: ' in summaries of sessions' },
    { count: deleted.contexts, kind: 'note', of: ' of what an agent was given' },
    { count: deleted.analyses, kind: 'answer', of: ' of an analysis' },
  ].flatMap(({ count, kind, of = '' }) => (count === 0 ? [] : [`${counted(count, kind)}${of}`]));
  context.stdout(`Error ${id} is forgotten: ${parts.join(', ')}. It will not be recorded again.\n`);
  if (erased.kind === 'failed')
    context.stderr(
      `warning: parts of it may still stand in unused places of the database: ${erased.reason}\n`,
    );
  if (copies.length > 0)
    context.stderr(
      `warning: these copies were made before and may contain it:\n${copies.map((copy) => `  ${copy}\n`).join('')}`,
    );
}

/** Copies of the database that were made before it was brought up to date. */
function backupsIn({ backups }: StatePaths): string[] {
  if (!existsSync(backups)) return [];
  return readdirSync(backups)
    .filter((name) => name.endsWith('.db'))
    .map((name) => `${backups}/${name}`);
}

function findEntry(id: number, paths: StatePaths): ErrorEntry | undefined {
  return readErrors(paths, (db) => findErrors([id], db))?.[0];
}

/** Reads; a database that an earlier version made is brought up to date first. Undefined when there is none. */
function readErrors<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: work(db) } : 'older'));
  return found === 'older' ? writeDatabase(paths, work) : found?.value;
}

/** The failure of whoever asks for an error that there is not. */
function notFound(id: number, context: CliContext): void {
  fail(
    context,
    EXIT.notFound,
    `find error ${id}: there is none of this number. "self-generation errors --all-projects" lists them`,
  );
}
