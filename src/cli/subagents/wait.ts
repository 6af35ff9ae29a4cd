import { acknowledgeTurns } from '../../runs/delivery/deliver.ts';
import { NO_NOTES } from '../../runs/model/announcement.ts';
import type { RunWithTurn, TurnName } from '../../runs/model/run.ts';
import { formatDuration } from '../../runs/model/stats.ts';
import { isTerminal, runtimeMs, type Turn } from '../../runs/model/turn.ts';
import { newestEntry } from '../../runs/read-log.ts';
import { reportedWords } from '../../runs/store/outbox.ts';
import { readRuns } from '../../runs/store/runs-db.ts';
import { turnsAwaited, type WaitAnswer, type WaitOptions, waitForRuns } from '../../runs/wait.ts';
import {
  EXIT_FAILED,
  EXIT_GOES_ON,
  EXIT_INTERRUPTED,
  EXIT_STOPPED,
  EXIT_TIMED_OUT,
  PROGRAM,
} from '../context.ts';
import { printJson, shownText } from '../output.ts';
import { nameOf, safeText, shortId, timesOf, visibleLine, writtenAtMs } from './run-words.ts';
import { complain, complainUsage, findRun, type JsonFlag, type RunsHere } from './runs-here.ts';

/** Waiting for turns, with a line of progress on a terminal, and what is said of them then. */

/** `subagents wait`: until the run, or every active one, has ended. */
export async function wait(
  here: RunsHere,
  { timeout }: JsonFlag & { readonly timeout?: number },
  target?: string,
): Promise<void> {
  if (target === undefined || target.trim() === '') return complainUsage('wait <id|#|all>', here);
  const isAll = target === 'all' || target === '*';
  const listing = isAll ? undefined : findRun(target, here);
  if (!isAll && listing === undefined) return;
  const whose = listing === undefined ? 'project' : { runId: listing.run.id };
  const timeoutMs = timeout === undefined ? null : timeout * 1000;
  const key = listing?.run.requester.key ?? here.requester.key;
  const turns = turnsAwaited({ ...here.requester, key }, whose, here.world);
  await waitAndTell(turns, { timeoutMs, untilAnnounced: true, tell: (answer) => tell(answer, here) }, here);
}

/** Waits for these turns and tells how it stands with them. What has ended and could be written has been told, and is not told again. */
export async function waitAndTell(
  turns: readonly TurnName[],
  { tell, ...patience }: Patience & { readonly tell: (answer: WaitAnswer) => void },
  here: RunsHere,
): Promise<void> {
  const answer = await waitFor(turns, patience, here);
  if (answer === undefined) return;
  tell(answer);
  const ended = answer.runs.filter(({ turn }) => isTerminal(turn.state));
  const shown = ended.map(({ turn: { runId, number } }) => ({ runId, turn: number }));
  if (shown.length > 0 && (await here.context.written())) acknowledgeTurns(shown, here.requester, here.world);
}

/** What the outcome of these turns is to whoever called; the first that applies of: goes on, failed, timed out, stopped. */
export function outcomeCode(runs: readonly RunWithTurn[]): number {
  const states = new Set(runs.map(({ turn }) => turn.state));
  if (![...states].every(isTerminal)) return EXIT_GOES_ON;
  if (states.has('error') || states.has('lost')) return EXIT_FAILED;
  if (states.has('timeout')) return EXIT_TIMED_OUT;
  return states.has('stopped') ? EXIT_STOPPED : 0;
}

function tell({ kind, runs }: WaitAnswer, here: RunsHere): void {
  const { context, isJson } = here;
  const nowMs = context.now().getTime();
  context.setExitCode(kind === 'timeout' ? EXIT_GOES_ON : outcomeCode(runs));
  if (isJson) printJson({ kind, runs: runs.map((run) => turnJson(run, nowMs, here)) }, context);
  if (isJson) return;
  if (runs.length === 0) context.stdout('No subagent is active.\n');
  for (const run of runs) {
    context.stdout(endLine(run, nowMs));
    if (isTerminal(run.turn.state)) context.stdout(resultText(run, reportOf(run, here)));
  }
  if (kind === 'timeout') context.stderr('⏳ The time is over; what has not ended goes on.\n');
}

type Patience = Pick<WaitOptions, 'timeoutMs' | 'untilAnnounced'>;

const PROGRESS_INTERVAL_MS = 1000;

/** Until they have ended or the time is over, with a line of progress; undefined after Ctrl-C, when it has been said that they go on. */
async function waitFor(
  turns: readonly TurnName[],
  patience: Patience,
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
  const counts = Map.groupBy(runs, ({ turn }) => turn.state);
  return [...counts].map(([state, same]) => `${same.length} ${state}`).join(', ');
}

/** The newest line that a run which works has said, or the tool that it has called; empty when none is known. */
function newestWork(runs: readonly RunWithTurn[], { world }: RunsHere): string {
  const writtenMs = ({ turn }: RunWithTurn) => writtenAtMs(turn, world.paths) ?? 0;
  const [newest] = runs.filter(isActive).toSorted((left, right) => writtenMs(right) - writtenMs(left));
  const entry = newest && newestEntry(newest, world);
  if (entry === undefined) return '';
  const line = safeText(entry.text).trimEnd().split('\n').at(-1) ?? '';
  const words = entry.kind === 'tool-call' ? `${entry.tool} ${line}` : line;
  return ` · ${runs.length > 1 ? `#${newest?.run.number} ` : ''}${visibleLine(words)}`;
}

/** Why a turn came to no good end; undefined when nobody knows, or it did. */
export function endReason({ error, stop, state }: Turn): string | undefined {
  if (error !== null || stop === null || !isTerminal(state)) return error ?? undefined;
  return state === 'stopped' ? `stopped by ${stop.by}` : stop.by;
}

/** `3) success · fix tests · 5m12s · run 1a2b3c4d`, of a message with its turn, and the reason where there is one. */
export function endLine({ run, turn }: RunWithTurn, nowMs: number): string {
  const parts = [
    turn.state,
    nameOf(run),
    ...(turn.kind === 'send' ? [`message, turn ${turn.number}`] : []),
    formatDuration(runtimeMs(turn, nowMs)),
    `run ${shortId(run.id)}`,
  ];
  const reason = endReason(turn);
  return `${run.number}) ${parts.join(' · ')}${reason === undefined ? '' : `\n   ${visibleLine(reason)}`}\n`;
}

type Report = ReturnType<typeof reportedWords>;

/** What the sub-agent has reported of a turn, if its announce step has asked it to. */
export function reportOf({ turn }: RunWithTurn, { world }: RunsHere): Report {
  return readRuns(world.paths, (db) => reportedWords(turn.runId, turn.number, db));
}

/** The report, or else the last message and what there is to say of the turn, as a terminal may show it; may be empty. */
export function resultText({ turn }: RunWithTurn, report: Report): string {
  if (report !== undefined) {
    const notes = report.notes === NO_NOTES ? '' : `\n\nNotes:\n${report.notes}`;
    return `${shownText(`${report.result}${notes}`)}\n`;
  }
  const result = turn.result === null ? [] : [shownText(turn.result).trimEnd()];
  const lines = [...result, ...turn.notes.map((note) => `Note: ${visibleLine(note)}`)];
  return lines.map((line) => `${line}\n`).join('');
}

/** How a turn ended, or how it stands, as JSON. */
export function turnJson(one: RunWithTurn, nowMs: number, here: RunsHere) {
  const { run, turn } = one;
  const { result, error, stop, notes, usage } = turn;
  const name = { runId: run.id, number: run.number, turn: turn.number, status: turn.state };
  const said = { result, error, stop, notes, report: reportOf(one, here) ?? null };
  return { ...name, ...said, ...timesOf(turn), runtimeMs: runtimeMs(turn, nowMs), usage };
}
