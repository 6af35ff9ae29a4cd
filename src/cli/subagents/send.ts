import type { RunWithTurn } from '../../runs/model/run.ts';
import { isTerminal } from '../../runs/model/turn.ts';
import { sendToRun } from '../../runs/send.ts';
import type { WaitAnswer } from '../../runs/world.ts';
import { EXIT } from '../context.ts';
import { printJson } from '../output.ts';
import { nameOf, shortId, visibleLine } from './run-words.ts';
import {
  complain,
  complainUsage,
  findRun,
  type JsonFlag,
  type RunsHere,
  readSeconds,
  refuse,
  type SubagentsCommand,
} from './runs-here.ts';
import { endReason, outcomeCode, reportOf, resultText, turnJson, waitAndTell } from './wait.ts';

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

async function sendMessage(
  here: RunsHere,
  { timeout = REPLY_WITHIN_SECONDS }: JsonFlag & { readonly timeout?: number },
  words: readonly string[],
): Promise<void> {
  const [target, ...rest] = words;
  const isStdin = rest.length === 1 && rest[0] === '-';
  const message = isStdin ? await here.read(MESSAGE_BYTES_MAX + 1) : rest.join(' ');
  if (target === undefined || message.trim() === '') return complainUsage('send <id|#> <message>', here);
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    return complain('Send failed: the message is longer than 1 MiB', EXIT.failed, here);
  const listing = findRun(target, here);
  if (listing === undefined) return;
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
