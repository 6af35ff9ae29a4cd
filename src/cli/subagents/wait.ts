import { statSync } from 'node:fs';
import { isoTime } from '../../core/runs/durations.ts';
import type { RunWithTurn } from '../../core/runs/run.ts';
import { turnFiles } from '../../core/runs/run-files.ts';
import { formatDuration } from '../../core/runs/stats-line.ts';
import { isTerminal, runtimeMs } from '../../core/runs/turn.ts';
import type { TurnName, WaitAnswer, WaitOptions } from '../../subagents/features.ts';
import { runsOf } from '../../subagents/own-run.ts';
import { newestEntry } from '../../subagents/read-log.ts';
import { isComing, waitForRuns } from '../../subagents/wait.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, PROGRAM } from '../context.ts';
import { printJson, shownText } from '../visible.ts';
import { nameOf, safeText, shortId, visibleLine } from './run-words.ts';
import { complain, complainUsage, findRun, type JsonFlag, type RunsHere } from './runs-here.ts';

/** Waiting for turns, with a line of progress on a terminal, and what is said of them then. */

export type WaitFlags = JsonFlag & { readonly timeout?: number };

/** `subagents wait`: until the run, or every active one, has ended. */
export async function wait(here: RunsHere, { timeout }: WaitFlags, target?: string): Promise<void> {
  if (target === undefined || target.trim() === '') return complainUsage('wait <id|#|all>', here);
  const isAll = target === 'all' || target === '*';
  const listings = isAll
    ? runsOf(here)
        .filter((listing) => isComing(listing, here.world))
        .toReversed()
    : [findRun(target, here)];
  const known = listings.filter((listing) => listing !== undefined);
  if (!isAll && known.length === 0) return;
  const turns = known.map(({ run, turn }) => ({ runId: run.id, turn: turn.number }));
  const timeoutMs = timeout === undefined ? null : timeout * 1000;
  const answer = await waitFor(turns, { timeoutMs, untilAnnounced: true }, here);
  if (answer !== undefined) tell(answer, isAll, here);
}

function tell({ kind, runs }: WaitAnswer, isAll: boolean, { context, isJson }: RunsHere): void {
  const nowMs = context.now().getTime();
  const isGood = kind === 'ended' && runs.every(({ turn }) => turn.state === 'success');
  if (!isGood) context.setExitCode(EXIT_FAILED);
  if (isJson) {
    printJson({ kind, runs: runs.map((run) => turnJson(run, nowMs)) }, context);
    return;
  }
  if (runs.length === 0) context.stdout('No subagent is active.\n');
  for (const run of runs) {
    context.stdout(endLine(run, nowMs));
    if (!isAll && isTerminal(run.turn.state)) context.stdout(resultText(run));
  }
  if (kind === 'timeout') context.stderr('⏳ The time is over; what has not ended goes on.\n');
}

const PROGRESS_INTERVAL_MS = 1000;

/**
 * Resolves when these turns have ended, or the time is over; undefined after Ctrl-C, when it has been said that they go
 * on. Tells meanwhile how things stand: on a terminal with the newest that was said or done, elsewhere by the states.
 */
export async function waitFor(
  turns: readonly TurnName[],
  patience: Pick<WaitOptions, 'timeoutMs' | 'untilAnnounced'>,
  here: RunsHere,
): Promise<WaitAnswer | undefined> {
  const { world, context, isJson } = here;
  const interruption = new AbortController();
  const release = context.onInterrupt(() => interruption.abort());
  let seconds = 0;
  let known: readonly RunWithTurn[] = [];
  let work = '';
  const timer = setInterval(() => {
    seconds += PROGRESS_INTERVAL_MS / 1000;
    work = newestWork(known, here) || work;
    context.progress(`waiting ${formatDuration(seconds * 1000)}: ${statesOf(known)}${work}`);
  }, PROGRESS_INTERVAL_MS);
  const onProgress = (runs: readonly RunWithTurn[]) => {
    const isNew = statesOf(runs) !== statesOf(known) && runs.some(isActive);
    known = runs;
    if (isNew && !context.showsProgress && !isJson) context.stderr(`waiting: ${statesOf(runs)}\n`);
  };
  let answer: WaitAnswer;
  try {
    answer = await waitForRuns(turns, { ...patience, signal: interruption.signal, onProgress }, world);
  } finally {
    clearInterval(timer);
    release();
    context.progress('');
  }
  if (answer.kind === 'ended' || !interruption.signal.aborted) return answer;
  const [only, ...others] = answer.runs;
  const target = only === undefined || others.length > 0 ? 'all' : only.run.number;
  const goesOn = others.length > 0 ? 'The runs go on' : 'The run goes on';
  const next = `"${PROGRAM} subagents wait ${target}" waits again, "${PROGRAM} subagents stop ${target}" ends`;
  complain(`${goesOn}: ${next} ${others.length > 0 ? 'them' : 'it'}.`, EXIT_INTERRUPTED, here);
  return undefined;
}

function isActive({ turn }: RunWithTurn): boolean {
  return !isTerminal(turn.state);
}

/** `2 running, 1 queued`; of one run also which it is. */
function statesOf(runs: readonly RunWithTurn[]): string {
  const [only, ...others] = runs;
  if (only !== undefined && others.length === 0)
    return `#${only.run.number} ${only.turn.state} (${nameOf(only.run)})`;
  const counts = new Map<string, number>();
  for (const { turn } of runs) counts.set(turn.state, (counts.get(turn.state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

/** The newest line that a run which works has said, or the tool that it has called; empty when none is known. */
function newestWork(runs: readonly RunWithTurn[], { world }: RunsHere): string {
  const writtenMs = ({ turn }: RunWithTurn) => {
    const { output } = turnFiles(world.paths, turn.runId, turn.number);
    return statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  };
  const [newest] = runs.filter(isActive).toSorted((left, right) => writtenMs(right) - writtenMs(left));
  const entry = newest && newestEntry(newest, world);
  if (entry === undefined) return '';
  const line = safeText(entry.text).trimEnd().split('\n').at(-1) ?? '';
  const words = entry.kind === 'tool-call' ? `${entry.tool} ${line}` : line;
  return ` · ${runs.length > 1 ? `#${newest?.run.number} ` : ''}${visibleLine(words)}`;
}

/** `3) success · fix tests · 5m12s · run 1a2b3c4d`, and the error where there is one. */
export function endLine({ run, turn }: RunWithTurn, nowMs: number): string {
  const parts = [turn.state, nameOf(run), formatDuration(runtimeMs(turn, nowMs)), `run ${shortId(run.id)}`];
  const error = turn.error === null ? '' : `\n   ${visibleLine(turn.error)}`;
  return `${run.number}) ${parts.join(' · ')}${error}\n`;
}

/** The last message, and what there is to say of the turn, as a terminal may show it; empty when there is none. */
export function resultText({ turn }: RunWithTurn): string {
  const result = turn.result === null ? [] : [shownText(turn.result).trimEnd()];
  return [...result, ...turn.notes.map((note) => `Note: ${visibleLine(note)}`)]
    .map((line) => `${line}\n`)
    .join('');
}

/** How a turn ended, or how it stands, as JSON. */
export function turnJson({ run, turn }: RunWithTurn, nowMs: number) {
  return {
    runId: run.id,
    number: run.number,
    turn: turn.number,
    status: turn.state,
    result: turn.result,
    error: turn.error,
    notes: turn.notes,
    startedAt: isoTime(turn.startedAtMs),
    endedAt: isoTime(turn.endedAtMs),
    runtimeMs: runtimeMs(turn, nowMs),
    usage: turn.usage,
  };
}
