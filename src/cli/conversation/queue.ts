import { type Command, InvalidArgumentError } from 'commander';
import { type Said, typedIn } from '../../conversation/messages.ts';
import { dropWaiting, type Queue, readQueue } from '../../conversation/queue.ts';
import { counted } from '../../core/text.ts';
import { isoTime, timeAgo } from '../../runs/model/stats.ts';
import { type CliContext, commandGroup, EXIT, exitCodes, subcommand } from '../context.ts';
import { newTable } from '../output.ts';
import {
  answer,
  complain,
  complainUsage,
  type JsonFlag,
  type RunsHere,
  refuse,
  safeLine,
  safeText,
  withRunsHere,
} from '../subagents/runs-here.ts';

const TEXT_LENGTH_MAX = 72;
const BY = 'a person (queue)';
const CODES = [0, 1, 2, 3, 4];

const AFTER = `
Messages that are said while another one is answered wait here, also over a restart. They are numbered anew each time.

Examples:
  $ self-generation queue             what is answered and what waits
  $ self-generation queue drop 2      the second of those that wait is not answered
  $ self-generation queue clear

${exitCodes(CODES)}`;

/** `queue`: the messages of the current conversation that wait. */
export function queueCommand(context: CliContext): Command {
  const inRuns = (flags: JsonFlag, act: (here: RunsHere) => void) =>
    withRunsHere({ context, read: async () => '' }, flags, 'read the queue', act);
  const description = 'the messages to the main agent that wait';
  const group = commandGroup('queue', { description, after: AFTER }, context, (flags: JsonFlag) =>
    inRuns(flags, list),
  );
  const commands = [
    subcommand(
      'queue list',
      { description: 'list them', calls: [''], codes: CODES },
      context,
      (flags: JsonFlag) => inRuns(flags, list),
    ),
    subcommand(
      'queue drop',
      { description: 'drop one of them', calls: ['2'], codes: CODES },
      context,
      (flags: JsonFlag, place?: number) => inRuns(flags, (here) => drop(place, here)),
    ).argument('[number]', 'its number in the list', readPlace),
    subcommand(
      'queue clear',
      { description: 'drop all of them', calls: [''], codes: CODES },
      context,
      (flags: JsonFlag) => inRuns(flags, clear),
    ),
  ];
  for (const command of commands) group.addCommand(command);
  return group;
}

function readPlace(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of a message in the list.');
}

function list(here: RunsHere): void {
  const queue = readQueue(here.requester, here.world);
  const { atWork = [], waiting = [] } = queue ?? {};
  const document = {
    conversation: queue?.conversation.number ?? null,
    atWork: atWork.map(messageJson),
    waiting: waiting.map((one, index) => ({ number: index + 1, ...messageJson(one) })),
  };
  answer(
    document,
    queue === undefined ? 'There is no conversation in this project yet.\n' : listText(queue, here),
    here,
  );
}

function listText({ conversation, atWork, waiting }: Queue, { context }: RunsHere): string {
  if (atWork.length + waiting.length === 0)
    return `Nothing is answered and nothing waits in conversation ${conversation.number}.\n`;
  const nowMs = context.now().getTime();
  const table = newTable(['#', 'state', 'client', 'since', 'message'], context);
  const row = (number: string, { run, turn }: Said) =>
    table.push([
      ...[number, turn.state, run.client, timeAgo(turn.startedAtMs ?? turn.queuedAtMs, nowMs)],
      textOf({ run, turn }),
    ]);
  for (const one of atWork) row('', one);
  for (const [index, one] of waiting.entries()) row(String(index + 1), one);
  return `${table}\n`;
}

function textOf(said: Said): string {
  const line = safeLine(typedIn(said));
  return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX).toWellFormed()}…` : line;
}

function messageJson(said: Said) {
  const { run, turn } = said;
  return {
    ...{ runId: run.id, turn: turn.number, client: run.client, state: turn.state, ahead: turn.ahead },
    ...{ queuedAt: isoTime(turn.queuedAtMs), message: safeText(typedIn(said)) },
  };
}

function drop(place: number | undefined, here: RunsHere): void {
  if (place === undefined) complainUsage('drop N', here, 'queue ');
  const { waiting = [] } = readQueue(here.requester, here.world) ?? {};
  const one = waiting[place - 1];
  if (one === undefined)
    complain(`Cannot drop message ${place}: "queue" shows which wait`, EXIT.notFound, here);
  tellDropped([one], here);
}

function clear(here: RunsHere): void {
  const { waiting = [] } = readQueue(here.requester, here.world) ?? {};
  tellDropped(waiting, here);
}

function tellDropped(wanted: readonly Said[], here: RunsHere): void {
  const dropped = wanted.length === 0 ? [] : dropWaiting(wanted, BY, here);
  if ('status' in dropped) refuse(dropped, '', here);
  const lines = dropped.map((one) => `Dropped: ${textOf(one)}\n`).join('');
  const left = wanted.length - dropped.length;
  const begun =
    left === 0 ? '' : `${counted(left, 'message')} had begun to be answered; Ctrl-C or "steer" stops that.\n`;
  answer({ dropped: dropped.map(messageJson) }, `${lines}${begun}` || 'No message waits.\n', here);
}
