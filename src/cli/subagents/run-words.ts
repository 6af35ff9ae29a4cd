import { existsSync, statSync } from 'node:fs';
import { redactSecrets } from '../../core/redact.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { archivedNames } from '../../runs/archive.ts';
import { type Run, type RunWithTurn, turnFiles } from '../../runs/model/run.ts';
import { isoTime, ordinal } from '../../runs/model/stats.ts';
import { isTerminal, type Turn } from '../../runs/model/turn.ts';
import { runFacts } from '../../runs/read-log.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { shownText } from '../output.ts';

/** Runs in the words of the commands, for a terminal and as JSON. */

const LABEL_LENGTH_MAX = 72;
const LINE_SCANNED_MAX = 8192;
const SHORT_ID_LENGTH = 8;

/** What a run is called: by its label, else by its task, cut. */
export function nameOf({ label, task }: Run): string {
  const line = safeLine(label ?? task);
  return line.length > LABEL_LENGTH_MAX ? `${cutText(line, LABEL_LENGTH_MAX)}…` : line;
}

/** The beginning of a run's id, as all answers show it. */
export function shortId(runId: string): string {
  return runId.slice(0, SHORT_ID_LENGTH);
}

/** A text of somebody else on one line of a terminal. */
export function visibleLine(text: string): string {
  return shownText(cutText(text, LINE_SCANNED_MAX)).replace(/\s+/g, ' ').trim();
}

/** As visibleLine(), for what may hold a secret: what was asked for, and what clients say. */
export function safeLine(text: string): string {
  return visibleLine(redactSecrets(cutText(text, LINE_SCANNED_MAX)));
}

/** The same as a value of JSON, all of it. */
export function safeText<T extends string | null>(text: T): T | string {
  return text === null ? text : redactSecrets(text);
}

/** Its state, with its place while it waits, and the messages that wait: `queued (2nd)`, `success · 1 waiting (2nd)`. */
export function stateWords({ turn, waiting }: RunListing, queuePosition: number | undefined): string {
  const place = queuePosition === undefined ? '' : ` (${ordinal(queuePosition)})`;
  const own = turn.state === 'queued' ? `queued${place}` : turn.state;
  if (waiting === 0) return own;
  return `${own} · ${waiting} waiting${isTerminal(turn.state) ? place : ''}`;
}

/** Whether it failed and the announcement of that was skipped. */
export function hidesFailure({ turn, delivery }: RunListing): boolean {
  return delivery === 'skipped' && isTerminal(turn.state) && turn.state !== 'success';
}

/** Whether a run that is over has left its worktree. */
export function keepsWorktree({ run, turn }: RunWithTurn): boolean {
  return run.worktree !== null && isTerminal(turn.state) && existsSync(run.worktree.path);
}

/** When a turn began and ended, as JSON. */
export function timesOf({ startedAtMs, endedAtMs }: Turn) {
  return { startedAt: isoTime(startedAtMs), endedAt: isoTime(endedAtMs) };
}

/** A run as JSON, in lists and alone. */
export function runJson(
  listing: RunListing,
  { queuePosition, nowMs }: { queuePosition: number | undefined; nowMs: number },
) {
  const { run, turn } = listing;
  return {
    ...runFacts(listing, nowMs),
    label: safeText(run.label),
    task: safeText(run.task),
    runId: run.id,
    childSessionKey: run.childKey,
    requester: run.requester.key,
    requesterSession: run.requester.session,
    createdAt: isoTime(run.createdAtMs),
    ...timesOf(turn),
    queuePosition: queuePosition ?? null,
    archiveAt: isoTime(run.archiveAtMs),
    archivedAt: isoTime(run.archivedAtMs),
  };
}

/** When the client has last written something in a turn. */
export function writtenAtMs({ runId, number }: Turn, paths: StatePaths): number | undefined {
  return statSync(turnFiles(paths, runId, number).output, { throwIfNoEntry: false })?.mtimeMs;
}

/** Where the client's output of a turn is now: archiving renames it. */
export function transcriptPath(paths: StatePaths, runId: string, turn: number): string {
  const { output, directory } = turnFiles(paths, runId, turn);
  return existsSync(output) ? output : (archivedNames(output, directory).at(-1) ?? output);
}
