import type { RunWithTurn } from '../../runs/model/run.ts';
import { isTerminal } from '../../runs/model/turn.ts';
import { sendToRun } from '../../runs/send.ts';
import type { WaitAnswer } from '../../runs/wait.ts';
import { EXIT_FAILED } from '../context.ts';
import { printJson } from '../output.ts';
import { nameOf, shortId, visibleLine } from './run-words.ts';
import { complain, complainUsage, findRun, type JsonFlag, type RunsHere, refuse } from './runs-here.ts';
import { endReason, outcomeCode, reportOf, resultText, turnJson, waitAndTell } from './wait.ts';

const TIMEOUT_DEFAULT_SECONDS = 30;
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** `subagents send`: one more message to a sub-agent, and its reply within so many seconds; 0: does not wait for it. */
export async function send(
  here: RunsHere,
  { timeout = TIMEOUT_DEFAULT_SECONDS }: JsonFlag & { readonly timeout?: number },
  words: readonly string[],
): Promise<void> {
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
  const tellOf = ({ runs: [run] }: WaitAnswer) => tell(run ?? listing, here);
  await waitAndTell(turns, { timeoutMs: timeout * 1000, tell: tellOf }, here);
}

function tell(run: RunWithTurn, here: RunsHere): void {
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
