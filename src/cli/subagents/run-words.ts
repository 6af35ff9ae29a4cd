import { existsSync } from 'node:fs';
import { redactSecrets } from '../../core/redact.ts';
import { formatAge, isoTime, ordinal } from '../../core/runs/durations.ts';
import type { Run, RunWithTurn } from '../../core/runs/run.ts';
import { turnFiles } from '../../core/runs/run-files.ts';
import { formatCount, formatDuration, formatUsd } from '../../core/runs/stats-line.ts';
import { isTerminal, runtimeMs } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { counted } from '../../setup/check.ts';
import type { RunListing } from '../../store/runs/runs.ts';
import { archivedNames } from '../../subagents/archive.ts';
import { shownText } from '../visible.ts';

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

/** Its state, and what else has to be known: `queued (2nd)`, `error (announce skipped)`, `success · 1 message waiting (2nd)`. */
export function statusWords(
  { turn, delivery, waiting }: RunListing,
  queuePosition: number | undefined,
): string {
  const { state } = turn;
  const place = queuePosition === undefined ? '' : ` (${ordinal(queuePosition)})`;
  const hidesFailure = delivery === 'skipped' && isTerminal(state) && state !== 'success';
  const own = `${state}${state === 'queued' ? place : ''}${hidesFailure ? ' (announce skipped)' : ''}`;
  if (waiting === 0) return own;
  return `${own} · ${counted(waiting, 'message')} waiting${isTerminal(state) ? place : ''}`;
}

/** How long a run took, or since when there is one. */
function timeWords({ turn, run }: RunWithTurn, nowMs: number): string {
  if (turn.endedAtMs === null) return formatAge(nowMs - run.createdAtMs);
  return formatDuration(runtimeMs(turn, nowMs));
}

/** `tokens 12.3k`. */
function tokenWords({ inputTokens, outputTokens }: Usage): string {
  const total = inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens;
  return `tokens ${formatCount(total)}`;
}

/** `$0.04`; what nobody knows is not nothing. */
function costWords({ costUsd }: Usage): string {
  return costUsd === null ? 'cost n/a' : formatUsd(costUsd);
}

/** Whether its requester has not got all that was to be told. */
function isUndelivered({ delivery }: RunListing): boolean {
  return delivery === 'pending' || delivery === 'leased';
}

/** Whether a run that is over has left its worktree. */
export function keepsWorktree({ run, turn }: RunWithTurn): boolean {
  return run.worktree !== null && isTerminal(turn.state) && existsSync(run.worktree.path);
}

/** One line of a list: `3) success · fix tests · 5m12s · tokens 12.3k · $0.04 · run 1a2b3c4d · agent:main:subagent:…` */
export function listLine(
  listing: RunListing,
  { queuePosition, nowMs }: { queuePosition: number | undefined; nowMs: number },
): string {
  const { run, usage } = listing;
  const extras = [
    ...(isUndelivered(listing) ? ['undelivered'] : []),
    ...(keepsWorktree(listing) ? ['worktree kept'] : []),
    ...(run.archivedAtMs === null ? [] : ['archived']),
  ];
  const parts = [
    statusWords(listing, queuePosition),
    nameOf(run),
    timeWords(listing, nowMs),
    tokenWords(usage),
    costWords(usage),
    ...extras,
    `run ${shortId(run.id)}`,
    visibleLine(run.childKey),
  ];
  return `${run.number}) ${parts.join(' · ')}`;
}

/** A run as JSON, in lists and alone. */
export function runJson(
  listing: RunListing,
  { queuePosition, nowMs }: { queuePosition: number | undefined; nowMs: number },
) {
  const { run, turn, usage, delivery, waiting } = listing;
  return {
    number: run.number,
    status: turn.state,
    waitingMessages: waiting,
    label: safeText(run.label),
    task: safeText(run.task),
    runId: run.id,
    childSessionKey: run.childKey,
    sessionId: run.sessionId,
    requester: run.requester.key,
    requesterSession: run.requester.session,
    agentId: run.agentId,
    client: run.client,
    createdAt: isoTime(run.createdAtMs),
    startedAt: isoTime(turn.startedAtMs),
    endedAt: isoTime(turn.endedAtMs),
    runtimeMs: runtimeMs(turn, nowMs),
    usage,
    delivery,
    queuePosition: queuePosition ?? null,
    worktree: run.worktree,
    cleanup: run.cleanup,
    archiveAt: isoTime(run.archiveAtMs),
    archivedAt: isoTime(run.archivedAtMs),
  };
}

/** Where the client's output of a turn is now: archiving renames it. */
export function transcriptPath(paths: StatePaths, runId: string, turn: number): string {
  const { output, directory } = turnFiles(paths, runId, turn);
  return existsSync(output) ? output : (archivedNames(output, directory).at(-1) ?? output);
}
