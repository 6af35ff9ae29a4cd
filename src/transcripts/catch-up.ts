import { ReadingBudget } from '../clients/claude/transcript-cursor.ts';
import {
  findSession,
  type TranscriptFile,
  type TranscriptSession,
} from '../clients/claude/transcript-files.ts';
import type { Db } from '../database/connection.ts';
import type { HookEvent } from '../hooks/event.ts';
import { attempt, type CatchUpLimits, type CaughtUp, type HookRun, projectAt } from '../hooks/invocation.ts';
import { learnSession } from '../lessons/learn-project.ts';
import type { FoundFile } from '../system/files.ts';
import { pathExists } from '../system/runtime-bun.ts';
import { progressInDatabase, readPlace } from './imports-store.ts';
import type { MergedTranscripts } from './merge-transcripts.ts';
import { type ReadSession, readSession } from './session-import.ts';
import { noteUnread, type UnreadReason } from './unread-note.ts';

/** What a hook reads of the session's transcripts before it does its own work. */

const NOTHING_NEW: CaughtUp = { isMore: false, remark: undefined };

/** By then the client has written down what the session did. */
const TOLD_LATE = new Set<HookRun['event']['name']>(['Stop', 'SubagentStop', 'PostToolUseFailure']);

/**
 * Records what the session's transcripts have gained since somebody looked at them, as far as the limits go; how far that
 * was is noted with it. Throws what SQLite throws.
 */
export function catchUpForHook(run: HookRun, limits: CatchUpLimits, forWriting: () => Db): CaughtUp {
  const { event } = run;
  const main = event.transcriptPath;
  if (main === undefined) {
    note('missing', '', run);
    return learnFromHandedCalls(run, limits, forWriting);
  }
  const isThere = pathExists(main);
  if (!isThere && TOLD_LATE.has(event.name)) note('missing', main, run);
  const agent = event.name === 'SubagentStop' ? event.agentTranscriptPath : undefined;
  if (!isThere && agent === undefined) return learnFromHandedCalls(run, limits, forWriting);
  const db = forWriting();
  const unreadable: string[] = [];
  const session = findSession(
    {
      main,
      agent,
      isWanted: (file) => isWanted(file, event.name === 'PostToolUseFailure', db),
      onUnreadable: (path) => unreadable.push(path),
    },
    progressInDatabase(db),
  );
  if (unreadable.includes(main)) note('unreadable', main, run);
  return session === undefined ? NOTHING_NEW : take(session, { run, limits, db, main });
}

/** Where there is no transcript there may be the calls that hooks were handed. */
function learnFromHandedCalls(
  run: HookRun,
  { isThorough, isNewestFirst }: CatchUpLimits,
  forWriting: () => Db,
): CaughtUp {
  const project = projectAt(run.event.cwd, run.env).path;
  const isTime = isThorough || (isNewestFirst && run.event.name === 'PreToolUse');
  if (project === null || !isTime || !pathExists(run.paths.database)) return NOTHING_NEW;
  attempt(run, () => learnSession(project, run.event.sessionId, forWriting()));
  return NOTHING_NEW;
}

/**
 * Whether there is something new in a file. A hook that is handed a call also looks at the lines that are open, because
 * there it stands what the agent said before it.
 */
function isWanted({ path, bytes }: FoundFile, isCallAtHand: boolean, db: Db): boolean {
  const place = readPlace(path, db);
  if (place === undefined || place.bytesSeen !== bytes) return true;
  return isCallAtHand && place.bytesDone < bytes;
}

type Taking = {
  readonly run: HookRun;
  readonly limits: CatchUpLimits;
  readonly db: Db;
  readonly main: string;
};

/** So much of the end is read in any case, before the rest of the newest part, for which the time may not be enough. */
const END_BYTES = 256 * 1024;

function take(session: TranscriptSession, taking: Taking): CaughtUp {
  const { run, limits, main } = taking;
  const startedMs = performance.now();
  const newest = limits.isNewestFirst ? newestParts(session.files, limits.bytes) : undefined;
  const end = newest && newestParts(session.files, Math.min(limits.bytes, END_BYTES));
  if (end !== undefined) {
    const budget = new ReadingBudget({ bytes: END_BYTES, deadlineMs: Number.POSITIVE_INFINITY });
    learn(read({ ...session, files: end }, budget, taking), taking);
  }
  const files = newest ?? session.files;
  const budget = new ReadingBudget({ bytes: limits.bytes, deadlineMs: startedMs + limits.ms });
  const found = read({ ...session, files }, budget, taking);
  const isLate = !limits.isThorough && performance.now() > startedMs + LEARNING_BEGINS_MS;
  if (!isLate) learn(found, taking);
  const { transcripts } = found;
  if (transcripts !== undefined) judge(transcripts, files, main, run);
  return {
    isMore: newest !== undefined || budget.hasCut || transcripts?.hasMissed === true || isLate,
    remark: remarkOf(run.event, transcripts),
  };
}

/** Whoever somebody waits for leaves the learning to the reader when reading and writing have taken so long. */
const LEARNING_BEGINS_MS = 60;

function learn({ projects }: ReadSession, { run, db }: Taking): void {
  for (const project of projects) attempt(run, () => learnSession(project, run.event.sessionId, db));
}

function read(
  session: TranscriptSession,
  budget: ReadingBudget,
  { run: { paths, env, now }, limits: { isThorough }, db }: Taking,
): ReadSession {
  return readSession(session, { paths, env, now, budget, isThorough }, db);
}

function remarkOf(event: HookEvent, transcripts: MergedTranscripts | undefined): string | undefined {
  if (event.name !== 'PostToolUseFailure' || event.toolUseId === null) return undefined;
  return transcripts?.remarkOf(event.toolUseId);
}

/**
 * The ends of the files, the newest first, as much as may be read; undefined when it is all of them. What is read so does
 * not count for the place: somebody else reads it again with what stands before it.
 */
function newestParts(
  files: readonly TranscriptFile[],
  bytesMax: number,
): readonly TranscriptFile[] | undefined {
  const unread = ({ bytes, from }: TranscriptFile) => bytes - from;
  if (files.reduce((sum, file) => sum + unread(file), 0) <= bytesMax) return undefined;
  let left = bytesMax;
  const parts: TranscriptFile[] = [];
  for (const file of files.toSorted((one, other) => other.modifiedMs - one.modifiedMs)) {
    const share = Math.min(unread(file), left);
    left -= share;
    if (share > 0) parts.push({ ...file, from: file.bytes - share, isWithinLine: true });
  }
  return parts;
}

/** A transcript without a single line of a conversation is one of a client that writes them in another way. */
function judge(
  transcripts: MergedTranscripts,
  files: readonly TranscriptFile[],
  main: string,
  run: HookRun,
): void {
  const file = files.find(({ path }) => path === main);
  if (file?.from !== 0 || !TOLD_LATE.has(run.event.name)) return;
  if (transcripts.isConversation(file) === false) note('unknown', main, run);
}

function note(reason: UnreadReason, path: string, { event, paths, now }: HookRun): void {
  if (!pathExists(paths.home)) return; // Only where we are installed: a reading hook creates nothing.
  noteUnread({ ts: now.toISOString(), sessionId: event.sessionId, path, reason }, paths);
}
