import { randomUUID } from 'node:crypto';
import { acknowledgeDelivery, holdTurns, returnDelivery } from '../../runs/delivery/deliver.ts';
import { NO_NOTES } from '../../runs/model/announcement.ts';
import type { RunWithTurn, TurnName } from '../../runs/model/run.ts';
import { formatDuration } from '../../runs/model/stats.ts';
import { endReason, isTerminal, runtimeMs, turnMark } from '../../runs/model/turn.ts';
import { newestEntry } from '../../runs/read-log.ts';
import { sendToRun } from '../../runs/send.ts';
import { turnsAwaited, type WaitAnswer, type WaitOptions, waitForRuns } from '../../runs/stop.ts';
import { reportedWords } from '../../runs/store/outbox.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { EXIT, PROGRAM } from '../context.ts';
import { printJson, shownText } from '../output.ts';
import {
  complain,
  complainUsage,
  findRun,
  findRunOrAll,
  type JsonFlag,
  nameOf,
  type RunsHere,
  readSeconds,
  refuse,
  type SubagentsCommand,
  safeText,
  shortId,
  timesOf,
  visibleLine,
  writtenAtMs,
} from './runs-here.ts';

/** Waiting for turns, with a line of progress on a terminal, and what is said of them then. */

/** `subagents wait`: until the run, or every active one, has ended. */
export const wait: SubagentsCommand = {
  name: 'wait',
  does: 'wait for sub-agents',
  description: 'wait until runs have ended',
  calls: ['3', 'all --timeout 10m'],
  define: (command) =>
    command
      .argument('[target]', 'the run, or "all" for all that are active')
      .option('--timeout <S>', 'give up after so many seconds, or 10m, 2h', readSeconds),
  act: waitForTarget,
};

type WaitFlags = JsonFlag & { readonly timeout?: number };

async function waitForTarget(here: RunsHere, { timeout }: WaitFlags, target?: string): Promise<void> {
  const listing = findRunOrAll(target, 'wait <id|#|all>', here);
  const whose = listing === undefined ? 'project' : { runId: listing.run.id };
  const timeoutMs = timeout === undefined ? null : timeout * 1000;
  const key = listing?.run.requester.key ?? here.requester.key;
  const turns = turnsAwaited({ ...here.requester, key }, whose, here.world);
  await waitAndTell(turns, { timeoutMs, untilAnnounced: true, tell: (answer) => tell(answer, here) }, here);
}

/** Waits for these turns and prints their state. Ended turns are held by this command meanwhile, and delivered if they could be printed. */
export async function waitAndTell(
  turns: readonly TurnName[],
  { tell, ...patience }: Patience & { readonly tell: (answer: WaitAnswer) => void },
  here: RunsHere,
): Promise<void> {
  const answer = await waitFor(turns, patience, here);
  const ended = answer.runs.filter(({ turn }) => isTerminal(turn.state));
  const shown = ended.map(({ turn: { runId, number } }) => ({ runId, turn: number }));
  await tellHeld(shown, () => tell(answer), here);
}

/** Prints the results of these turns, which are held meanwhile so that nobody else tells them; delivered once they are written. */
export async function tellHeld(
  turns: readonly TurnName[],
  tell: () => void,
  { context, requester, world }: RunsHere,
): Promise<void> {
  const owner = `wait:${randomUUID()}`;
  if (turns.length > 0) holdTurns(turns, requester, { owner, isUnsaid: true }, world);
  tell();
  if (await context.written()) acknowledgeDelivery(requester.key, owner, world);
  else returnDelivery(owner, world);
}

/** The exit code for these turns: the first that applies of goes on, failed, timed out, stopped. */
export function outcomeCode(runs: readonly RunWithTurn[]): number {
  const states = new Set(runs.map(({ turn }) => turn.state));
  if (![...states].every(isTerminal)) return EXIT.goesOn;
  if (states.has('error') || states.has('lost')) return EXIT.failed;
  if (states.has('timeout')) return EXIT.timedOut;
  return states.has('stopped') ? EXIT.stopped : 0;
}

function tell({ kind, runs }: WaitAnswer, here: RunsHere): void {
  const { context, isJson } = here;
  const nowMs = context.now().getTime();
  context.setExitCode(kind === 'timeout' ? EXIT.goesOn : outcomeCode(runs));
  if (isJson) printJson({ kind, runs: runs.map((run) => turnJson(run, nowMs, here)) }, context);
  if (isJson) return;
  if (runs.length === 0) context.stdout('No subagent is active.\n');
  for (const run of runs) {
    context.stdout(endLine(run, nowMs));
    if (isTerminal(run.turn.state)) context.stdout(resultText(run, reportOf(run, here)));
  }
  if (kind === 'timeout') context.stderr('⏳ The wait timed out; what has not ended goes on.\n');
}

type Patience = Pick<WaitOptions, 'timeoutMs' | 'untilAnnounced'>;

const PROGRESS_INTERVAL_MS = 1000;

/** Waits until they have ended or the time is over, with a line of progress. Ctrl-C ends the command. */
async function waitFor(turns: readonly TurnName[], patience: Patience, here: RunsHere): Promise<WaitAnswer> {
  const { world, context } = here;
  const interruption = new AbortController();
  const release = context.onInterrupt(() => interruption.abort());
  const progress = progressOf(here);
  const { onProgress } = progress;
  let answer: WaitAnswer;
  try {
    answer = await waitForRuns(turns, { ...patience, signal: interruption.signal, onProgress }, world);
  } finally {
    progress.stop();
    release();
  }
  if (answer.kind === 'ended' || !interruption.signal.aborted) return answer;
  const [only, ...others] = answer.runs;
  const target = only === undefined || others.length > 0 ? 'all' : only.run.number;
  const goesOn = others.length > 0 ? 'The runs go on' : 'The run goes on';
  const next = `"${PROGRAM} subagents wait ${target}" waits again, "${PROGRAM} subagents stop ${target}" ends`;
  return complain(`${goesOn}: ${next} ${others.length > 0 ? 'them' : 'it'}.`, EXIT.interrupted, here);
}

/** A line of progress on a terminal, elsewhere a line for each change; `onProgress` may be called for several runs in turn. */
export function progressOf(here: RunsHere) {
  const { context, isJson } = here;
  let seconds = 0;
  const known = new Map<string, RunWithTurn>();
  let work = '';
  const timer = setInterval(() => {
    seconds += PROGRESS_INTERVAL_MS / 1000;
    const runs = [...known.values()];
    work = newestWork(runs, here) || work;
    context.progress(`waiting ${formatDuration(seconds * 1000)}: ${statesOf(runs)}${work}`);
  }, PROGRESS_INTERVAL_MS);
  let said = '';
  return {
    onProgress: (runs: readonly RunWithTurn[]) => {
      for (const one of runs) known.set(turnMark(one.turn), one);
      const all = [...known.values()];
      const states = statesOf(all);
      const isNew = states !== said && all.some(isActive);
      said = states;
      if (isNew && !context.showsProgress && !isJson) context.stderr(`waiting: ${states}\n`);
    },
    stop: () => {
      clearInterval(timer);
      context.progress('');
    },
  };
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

type Reported = ReturnType<typeof reportedWords>;

/** What the sub-agent has reported of a turn, if its announce step has asked it to. */
export function reportOf({ turn }: RunWithTurn, { world }: RunsHere): Reported {
  return readRuns(world.paths, (db) => reportedWords(turn.runId, turn.number, db));
}

/** The report, or else the last message and what there is to say of the turn, as a terminal may show it; may be empty. */
export function resultText({ turn }: RunWithTurn, report: Reported): string {
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

const REPLY_WITHIN_SECONDS = 30;
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** `subagents send`: one more message to a sub-agent, and its reply within so many seconds; 0: does not wait for it. */
export const send: SubagentsCommand = {
  name: 'send',
  does: 'send a message',
  description: 'send a message into the session of a run',
  calls: [`3 'and now the second one'`, '3 --timeout 0 - < message.md'],
  define: (command) =>
    command
      .argument('[words...]', 'the run, then the message; "-" reads it from standard input')
      .option('--timeout <S>', 'how many seconds to wait for the reply (30); 0: not at all', readSeconds),
  act: sendMessage,
};

async function sendMessage(here: RunsHere, flags: WaitFlags, words: readonly string[]): Promise<void> {
  const { timeout = REPLY_WITHIN_SECONDS } = flags;
  const [target, ...rest] = words;
  const isStdin = rest.length === 1 && rest[0] === '-';
  const message = isStdin ? await here.read(MESSAGE_BYTES_MAX + 1) : rest.join(' ');
  if (target === undefined || message.trim() === '') return complainUsage('send <id|#> <message>', here);
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    return complain('Send failed: the message is longer than 1 MiB', EXIT.failed, here);
  const listing = findRun(target, here);
  const answer = sendToRun(listing.run.id, message, here.requester, here.world);
  if (answer.status !== 'accepted') return refuse(answer, 'Send failed: ', here);
  if (timeout === 0) return here.isJson ? printJson(answer, here.context) : tellSent(listing, here);
  const turns = [{ runId: answer.runId, turn: answer.turn }];
  const tellOf = ({ runs: [run] }: WaitAnswer) => tellReply(run ?? listing, here);
  await waitAndTell(turns, { timeoutMs: timeout * 1000, tell: tellOf }, here);
}

function tellReply(run: RunWithTurn, here: RunsHere): void {
  const { context, isJson } = here;
  const { state } = run.turn;
  const name = `(run ${shortId(run.run.id)})`;
  const said = isTerminal(state) ? resultText(run, reportOf(run, here)) : '';
  context.setExitCode(outcomeCode([run]));
  if (isJson) printJson(turnJson(run, context.now().getTime(), here), context);
  else if (!isTerminal(state))
    context.stdout(`⏳ Subagent still ${state === 'queued' ? 'queued' : 'running'} ${name}.\n`);
  else if (state === 'success' && said === '') tellSent(run, here);
  else context.stdout(said);
  if (!isJson && isTerminal(state) && state !== 'success')
    context.stderr(`⚠️ Subagent error: ${visibleLine(endReason(run.turn) ?? state)} ${name}.\n`);
}

function tellSent({ run }: RunWithTurn, { context }: RunsHere): void {
  context.stdout(`✅ Sent to ${nameOf(run)} (run ${shortId(run.id)}).\n`);
}
