import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readTextFile } from '#runtime';
import {
  findSession,
  type TranscriptFile,
  type TranscriptSession,
} from '../clients/claude/transcript-files.ts';
import { ReadingBudget } from '../clients/claude/transcript-reader.ts';
import { lookOr, readString, readTexts } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { recordIn } from '../database/sqlite.ts';
import { attempt, type CatchUpLimits, type CaughtUp, type HookRun, projectAt } from '../hooks/invocation.ts';
import { learnSession } from '../lessons/learn-project.ts';
import type { FoundFile } from '../system/files.ts';
import { pathExists } from '../system/runtime-bun.ts';
import { progressInDatabase, readPlace } from './imports-store.ts';
import { type ReadSession, readSession } from './session-import.ts';

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
  const isWanted = ({ path, bytes }: FoundFile) => {
    const place = readPlace(path, db);
    if (place === undefined || place.bytesSeen !== bytes) return true;
    // A hook that is handed a call also looks at open lines: there stands what the agent said before it.
    return event.name === 'PostToolUseFailure' && place.bytesDone < bytes;
  };
  const session = findSession(
    { main, agent, isWanted, onUnreadable: (path) => unreadable.push(path) },
    progressInDatabase(db),
  );
  if (unreadable.includes(main)) note('unreadable', main, run);
  return session === undefined ? NOTHING_NEW : readNew(session, main, { run, limits, db });
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

/** So much of the end is read in any case, before the rest of the newest part, for which the time may not be enough. */
const END_BYTES = 256 * 1024;
/** A hook that its client waits for leaves the learning to the reader when reading and writing have taken so long. */
const LEARNING_BEGINS_MS = 60;

function readNew(
  session: TranscriptSession,
  main: string,
  { run, limits, db }: { readonly run: HookRun; readonly limits: CatchUpLimits; readonly db: Db },
): CaughtUp {
  const { event, paths, env, now } = run;
  const read = (files: readonly TranscriptFile[], budget: ReadingBudget) =>
    readSession({ ...session, files }, { paths, env, now, budget, isThorough: limits.isThorough }, db);
  const learn = ({ projects }: ReadSession) => {
    for (const project of projects) attempt(run, () => learnSession(project, event.sessionId, db));
  };
  const startedMs = performance.now();
  const newest = limits.isNewestFirst ? newestParts(session.files, limits.bytes) : undefined;
  const end = newest && newestParts(session.files, Math.min(limits.bytes, END_BYTES));
  if (end !== undefined)
    learn(read(end, new ReadingBudget({ bytes: END_BYTES, deadlineMs: Number.POSITIVE_INFINITY })));
  const files = newest ?? session.files;
  const budget = new ReadingBudget({ bytes: limits.bytes, deadlineMs: startedMs + limits.ms });
  const found = read(files, budget);
  const isLate = !limits.isThorough && performance.now() > startedMs + LEARNING_BEGINS_MS;
  if (!isLate) learn(found);
  const { transcripts } = found;
  const file = files.find(({ path }) => path === main);
  // Without a single line of a conversation it is of a client that writes transcripts in another way.
  if (file?.from === 0 && TOLD_LATE.has(event.name) && transcripts?.isConversation(file) === false)
    note('unknown', main, run);
  const callId = event.name === 'PostToolUseFailure' ? event.toolUseId : null;
  return {
    isMore: newest !== undefined || budget.hasCut || transcripts?.hasMissed === true || isLate,
    remark: callId === null ? undefined : transcripts?.remarkOf(callId),
  };
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

function note(reason: UnreadReason, path: string, { event, paths, now }: HookRun): void {
  if (!pathExists(paths.home)) return; // Only where we are installed: a reading hook creates nothing.
  noteUnread({ ts: now.toISOString(), sessionId: event.sessionId, path, reason }, paths);
}

/** Why nothing could be learned from a session's transcript. */
const UNREAD_REASONS = ['missing', 'unreadable', 'unknown'] as const;
type UnreadReason = (typeof UNREAD_REASONS)[number];

/** A session that had hooks, but no transcript that could be read. */
type Unread = Readonly<Record<'ts' | 'sessionId' | 'path', string>> & { readonly reason: UnreadReason };

/** The newest one, and the sessions, newest last, within a few days of each other. */
export type UnreadNote = Unread & { readonly sessions: number; readonly sessionIds: readonly string[] };

const SESSIONS_MAX = 50;
const NOTE_AGE_MAX_MS = 7 * 86_400_000;

/** Notes it in one small file, for `status` and `doctor`. Never throws. */
export function noteUnread(unread: Unread, paths: StatePaths): void {
  const earlier = readUnreadNote(paths, new Date(unread.ts));
  const others = (earlier?.sessionIds ?? []).filter((id) => id !== unread.sessionId);
  const sessionIds = [...others, unread.sessionId].slice(-SESSIONS_MAX);
  // Where it cannot be written, the next hook that meets the same notes it.
  lookOr(() => {
    mkdirSync(dirname(paths.unreadNote), { recursive: true, mode: 0o700 });
    if (statSync(paths.unreadNote, { throwIfNoEntry: false })?.isFile() === false) return;
    writeFileSync(paths.unreadNote, JSON.stringify({ ...unread, sessionIds }), { mode: 0o600 });
  }, undefined);
}

/** The note, unless it is a week old. Never throws. */
export function readUnreadNote(paths: StatePaths, now: Date): UnreadNote | undefined {
  const note = recordIn(readTextFile(paths.unreadNote));
  const [ts = '', sessionId, path] = ['ts', 'sessionId', 'path'].map((key) => readString(note, key));
  const reason = UNREAD_REASONS.find((one) => one === note.reason);
  const isRecent = now.getTime() - Date.parse(ts) < NOTE_AGE_MAX_MS;
  if (sessionId === undefined || path === undefined || reason === undefined || !isRecent) return undefined;
  const sessionIds = readTexts(note.sessionIds);
  return { ts, sessionId, path, reason, sessionIds, sessions: Math.max(1, sessionIds.length) };
}
