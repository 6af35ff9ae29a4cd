import { existsSync, readdirSync } from 'node:fs';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { getProjectName } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cleanText, counted, cutText, oneLine } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { isInformative } from '../lessons/errors/normalize-error.ts';
import { type ErrorEntry, findErrors, resolveError } from '../lessons/store/error-entries.ts';
import { type Erased, eraseTraces, type Forgotten, forgetError } from '../lessons/store/forget-error.ts';
import { sameInClones, setShared } from '../lessons/store/lesson-log.ts';
import { withdrawLesson } from '../lessons/store/model-lessons.ts';

import {
  type CliContext,
  EXIT_FAILED,
  EXIT_NOT_FOUND,
  EXIT_USAGE,
  fail,
  isKeptFromAgent,
  withState,
} from './context.ts';
import { toldOf } from './error-report.ts';
import { printJson, shownLine } from './output.ts';

const FIX_LENGTH_MAX = 300;
const FIX_SCANNED_MAX = 8192;

export type ResolveFlags = { readonly stdin?: true; readonly json?: true };
/** Where a text comes from: words of the call, or standard input. */
type TextSource = {
  readonly words: readonly string[];
  readonly readInput: (bytesMax: number) => Promise<string>;
};

/** `errors resolve`: a person's own words for what solves an error. */
export function resolve(
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
        EXIT_USAGE,
        `resolve error ${id}: give the text as words or with --stdin, not both`,
      );
    const text = flags.stdin ? await readInput(FIX_SCANNED_MAX) : words.join(' ');
    const whole = oneLine(redactSecrets(cleanText(cutText(text, FIX_SCANNED_MAX))));
    if (whole === '')
      return fail(context, EXIT_USAGE, `resolve error ${id}: say what solves it, or use --stdin`);
    const summary = cutText(whole, FIX_LENGTH_MAX);
    const entry = findEntry(id, paths);
    if (entry === undefined) return notFound(id, context);
    const why = refusal(entry, summary);
    if (why !== undefined) return fail(context, EXIT_FAILED, `resolve error ${id}: ${why}`);
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
export function withdraw(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
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
export function share(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  return changeError({ action: `share error ${id}`, words: `share ${id}`, id }, context, (entry, paths) => {
    const { told, reason } = toldOf(entry);
    const isOrder = isInstructionShaped(getProjectName(entry.project));
    const why = isOrder
      ? 'the name of its project is shaped like an instruction to its reader'
      : told !== 'error and fix' && reason;
    if (why) return fail(context, EXIT_FAILED, `share error ${id}: ${why}`);
    writeDatabase(paths, (db) => setShared(id, true, db));
    if (json) return printJson({ kind: 'shared', id, fix: entry.fix }, context);
    context.stdout(
      `Shared: ${shownLine(entry.fix ?? '')}. Agents in every project are told it, with where it comes from, as long as it stays as it is.\n`,
    );
  });
}

/** `errors unshare`: it is told in its own project again, and in no other. */
export function unshare(id: number, { json }: { json?: true }, context: CliContext): Promise<void> {
  const change = { action: `take back that error ${id} is shared`, words: `unshare ${id}`, id };
  return changeError(change, context, (_entry, paths) => {
    writeDatabase(paths, (db) => setShared(id, false, db));
    if (json) return printJson({ kind: 'unshared', id }, context);
    context.stdout(`Error ${id} is told in its own project only.\n`);
  });
}

type ForgetFlags = { readonly yes?: true; readonly json?: true };

/** `errors forget`: deletes an error in every project and never records it again. */
export function forget(id: number, { yes, json }: ForgetFlags, context: CliContext): Promise<void> {
  const change = { action: `forget error ${id}`, words: `forget ${id}`, id };
  return changeError(change, context, async (entry, paths) => {
    if (!yes && !(await isAgreed(entry, json === true, context))) {
      if (json) printJson({ kind: 'not-confirmed', id }, context);
      context.setExitCode(EXIT_FAILED);
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
export function readErrors<T>(paths: StatePaths, work: (db: Db) => T): T | undefined {
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: work(db) } : 'older'));
  return found === 'older' ? writeDatabase(paths, work) : found?.value;
}

/** The failure of whoever asks for an error that there is not. */
export function notFound(id: number, context: CliContext): void {
  fail(
    context,
    EXIT_NOT_FOUND,
    `find error ${id}: there is none of this number. "self-generation errors --all-projects" lists them`,
  );
}
