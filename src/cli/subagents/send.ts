import type { RunWithTurn } from '../../core/runs/run.ts';
import { isTerminal } from '../../core/runs/turn.ts';
import { sendToRun } from '../../subagents/send.ts';
import { EXIT_FAILED } from '../context.ts';
import { printJson } from '../visible.ts';
import { nameOf, shortId, visibleLine } from './run-words.ts';
import { complain, complainUsage, findRun, type JsonFlag, type RunsHere, refuse } from './runs-here.ts';
import { endReason, outcomeCode, reportOf, resultText, takeShown, turnJson, waitFor } from './wait.ts';

export type SendFlags = JsonFlag & {
  /** Seconds; 0: does not wait for the reply. */
  readonly timeout?: number;
};

const TIMEOUT_DEFAULT_SECONDS = 30;
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** `subagents send`: one more message into the session of a sub-agent, and its reply when it comes in time. */
export async function send(here: RunsHere, flags: SendFlags, words: readonly string[]): Promise<void> {
  const { timeout = TIMEOUT_DEFAULT_SECONDS } = flags;
  const [target, ...rest] = words;
  const isStdin = rest.length === 1 && rest[0] === '-';
  const message = isStdin ? await here.read(MESSAGE_BYTES_MAX + 1) : rest.join(' ');
  if (target === undefined || message.trim() === '') return complainUsage('send <id|#> <message>', here);
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    return complain('Send failed: the message is longer than 1 MiB', EXIT_FAILED, here);
  const listing = findRun(target, here);
  if (listing === undefined) return;
  const answer = sendToRun(listing.run.id, message, here.requester, here.world);
  if (answer.status !== 'accepted') return refuse(answer, 'Send failed: ', here);
  if (timeout === 0) return here.isJson ? printJson(answer, here.context) : tellSent(listing, here);
  const turns = [{ runId: answer.runId, turn: answer.turn }];
  const waited = await waitFor(turns, { timeoutMs: timeout * 1000 }, here);
  if (waited === undefined) return;
  const [run] = waited.runs;
  tell(run ?? listing, here);
  await takeShown(waited.runs, here);
}

function tell(run: RunWithTurn, here: RunsHere): void {
  const { context, isJson } = here;
  const { state } = run.turn;
  const name = `(run ${shortId(run.run.id)})`;
  const isFailure = isTerminal(state) && state !== 'success';
  context.setExitCode(outcomeCode([run]));
  if (isJson) printJson(turnJson(run, context.now().getTime(), here), context);
  else if (isFailure) {
    context.stdout(resultText(run, reportOf(run, here)));
    context.stderr(`⚠️ Subagent error: ${visibleLine(endReason(run.turn) ?? state)} ${name}.\n`);
  } else if (!isTerminal(state)) {
    context.stdout(`⏳ Subagent still ${state === 'queued' ? 'queued' : 'running'} ${name}.\n`);
  } else if (resultText(run, reportOf(run, here)) === '') tellSent(run, here);
  else context.stdout(resultText(run, reportOf(run, here)));
}

function tellSent({ run }: RunWithTurn, { context }: RunsHere): void {
  context.stdout(`✅ Sent to ${nameOf(run)} (run ${shortId(run.id)}).\n`);
}
