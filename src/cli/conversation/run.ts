import type { Command } from 'commander';
import type { AgentEvent } from '../../clients/client.ts';
import { clientNamed } from '../../clients/clients.ts';
import { costLine, eventSummary, eventsJson } from '../../conversation/event-lines.ts';
import { followTurn } from '../../conversation/follow.ts';
import { advanceMemory } from '../../conversation/memory/flush.ts';
import { stopAnswer } from '../../conversation/queue.ts';
import { type Said, type SayOptions, say, withInput } from '../../conversation/say.ts';
import type { ClientName } from '../../core/client-name.ts';
import { counted } from '../../core/text.ts';
import { splitGrants } from '../../runs/model/permissions.ts';
import { type RunWithTurn, THINKING_LEVELS } from '../../runs/model/run.ts';
import { formatDuration } from '../../runs/model/stats.ts';
import { endReason, isTerminal } from '../../runs/model/turn.ts';
import { orLogged } from '../../runs/world.ts';
import { QUEUE_MODES, type QueueMode } from '../../settings/conversation-settings.ts';
import { isInputPiped, readInput, readInputSoon } from '../../system/files.ts';
import {
  type CliContext,
  choice,
  EXIT,
  failWith,
  type Given,
  limitUpTo,
  PROGRAM,
  subcommand,
  withClientOption,
} from '../context.ts';
import { printJson, shownText } from '../output.ts';
import {
  complain,
  complainUsage,
  type RunsHere,
  refuse,
  TASK_BYTES_MAX,
  visibleLine,
  withRunsHere,
} from '../subagents/runs-here.ts';
import { PERMISSIONS } from '../subagents/spawn.ts';
import { outcomeCode, turnJson } from '../subagents/wait.ts';
import { shownJson } from '../terminal/json.ts';
import { listConversations } from './conversations.ts';

/** `run` and `steer`: something is said to the main agent, and its answer is followed. */

type RunFlags = Given<'json' | 'new' | 'list'> &
  Given<'client', ClientName> &
  Given<'model' | 'effort' | 'permissions', string> &
  Given<'resume', number> &
  Given<'queue', QueueMode> & { readonly wait: boolean };

/** What was given on standard input. */
export type Input = {
  readonly read: typeof readInput;
  readonly readSoon: typeof readInputSoon;
  readonly isPiped: () => boolean;
};

const STANDARD_INPUT: Input = { read: readInput, readSoon: readInputSoon, isPiped: isInputPiped };
const LABEL = 'main';
const NUMBER_MAX = 1_000_000;
/** After so long without an end of the input a person is told that it is being read. */
const INPUT_TOLD_MS = 3000;
/** Many are started with an input that nobody writes to, or ends. */
const INPUT_WITHIN_MS = 10_000;
const NO_INPUT =
  'warning: nothing came on standard input within 10 s, and it is not waited for; "< /dev/null" says that there is none\n';

const CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 forbidden, 5 limit reached, 6 timed out, 7 stopped, 130 interrupted.`;

const RUN_AFTER = `

One conversation of a project goes on from call to call, also after a restart. Another client, model or effort goes on in a
session of its own, which is told what was said before. What is piped in becomes a part of the prompt. The answer comes on
standard output, what is done for it on the other. Ctrl-C stops the answer, a second one leaves; --no-wait leaves at once.
${CODES}`;

/** `run`: says something to the main agent of the project. */
export function runCommand(context: CliContext, input = STANDARD_INPUT): Command {
  const described = {
    description: 'talk to the main agent of this project',
    calls: [
      "'Why does the login test fail?'",
      "--client codex --effort high 'Review what we have just changed'",
      "--new 'Something else' < notes.md",
      "--queue steer 'Stop: use the other database'",
    ],
    after: RUN_AFTER,
  };
  return withClientOption(sayingCommand('run', described, context, input, {}), 'the client that answers')
    .option('--model <M>', 'as the client names its models')
    .addOption(choice('--effort <E>', 'how much it thinks', THINKING_LEVELS))
    .option('--list', 'list the conversations of this project, and say nothing')
    .option('--resume <N>', 'go on with this conversation', limitUpTo(NUMBER_MAX))
    .option('--new', 'begin a new conversation')
    .option('--permissions <P>', PERMISSIONS)
    .addOption(choice('--queue <MODE>', 'what becomes of it while another message is answered', QUEUE_MODES));
}

const STEER_AFTER = `

What is being answered is stopped and this message comes next, before the others that wait; those follow it.
${CODES}`;

/** `steer`: says something that goes before what is being answered and what waits. */
export function steerCommand(context: CliContext, input = STANDARD_INPUT): Command {
  const described = {
    description: 'stop what the main agent is doing, and say something else',
    calls: ["'Leave the tests alone, look at the parser first'"],
    after: STEER_AFTER,
  };
  return sayingCommand('steer', described, context, input, { mode: 'steer' });
}

function sayingCommand(
  name: 'run' | 'steer',
  described: Parameters<typeof subcommand>[1],
  context: CliContext,
  input: Input,
  options: SayOptions,
): Command {
  const act = (flags: RunFlags, words: readonly string[]) =>
    withRunsHere({ context, read: input.read }, flags, name, (here) =>
      flags.list
        ? listConversations(here)
        : perform(name, { ...optionsOf(flags), ...options }, { flags, words, input }, here),
    );
  const command = subcommand(name, described, context, act)
    .argument('[prompt...]', 'what to say; "-" reads it from standard input')
    .option('--no-wait', 'do not wait for the answer');
  return command;
}

function optionsOf({ client, model, effort, permissions, resume, new: isNew, queue }: RunFlags): SayOptions {
  const grants = permissions === undefined ? undefined : splitGrants(permissions);
  return { client, model, effort, permissions: grants, resume, isNew, mode: queue };
}

type Called = { readonly flags: RunFlags; readonly words: readonly string[]; readonly input: Input };

async function perform(
  name: string,
  options: SayOptions,
  { flags, words, input }: Called,
  here: RunsHere,
): Promise<void> {
  const { context } = here;
  if (options.isNew && options.resume !== undefined)
    return complain(
      'Cannot run: --new begins a conversation and --resume goes on with one',
      EXIT.usage,
      here,
    );
  const prompt = await promptOf(words, input, here);
  if (prompt.trim() === '') return complainUsage(`${name} [options] PROMPT`, here, '');
  if (Buffer.byteLength(prompt) > TASK_BYTES_MAX)
    return complain(
      `Cannot ${name}: what was given is longer than 1 MiB; put it into a file and name that`,
      EXIT.failed,
      here,
    );
  const answer = say(prompt, options, here);
  if (answer.status !== 'accepted') return refuse(answer, `Cannot ${name}: `, here);
  for (const warning of here.isJson ? [] : answer.warnings)
    context.stderr(`warning: ${visibleLine(warning)}\n`);
  if (flags.wait) return followSaid(answer, here);
  advanceMemory({ id: answer.conversationId }, here.requester, here.world);
  if (here.isJson) printJson(answer, context);
  else context.stdout(`${saidLine(answer)}. "${PROGRAM} queue" shows what is answered and what waits.\n`);
}

/** What was typed, with what was piped in. */
async function promptOf(words: readonly string[], input: Input, here: RunsHere): Promise<string> {
  const isDash = words.length === 1 && words[0] === '-';
  const { stderr } = here.context;
  if (words.length > 0 && !isDash) {
    const piped = input.isPiped() ? await input.readSoon(TASK_BYTES_MAX + 1, INPUT_WITHIN_MS) : '';
    if (piped === undefined) stderr(NO_INPUT);
    return withInput(words.join(' '), piped ?? '');
  }
  if (!isDash && !input.isPiped()) return '';
  const told = setTimeout(() => stderr('reading standard input …\n'), INPUT_TOLD_MS);
  return here.read(TASK_BYTES_MAX + 1).finally(() => clearTimeout(told));
}

function saidLine({ conversation, client, session, before }: Said): string {
  const waits = before === 0 ? '' : `, behind ${counted(before, 'other message')}`;
  return `Said to ${client} in conversation ${conversation}${session === 'new' ? ', in a new session' : ''}${waits}`;
}

/** Shows what is done for the answer, and then the answer. */
export async function followSaid(answer: Said, here: RunsHere): Promise<void> {
  const { world, requester, context, isJson } = here;
  const leave = new AbortController();
  let interrupts = 0;
  const release = context.onInterrupt(() => {
    interrupts++;
    if (interrupts > 1) return leave.abort();
    context.stderr('stopping the answer … (Ctrl-C again leaves)\n');
    orLogged(answer.turn.runId, world.paths, () => stopAnswer(answer.turn, 'Ctrl-C', here));
  });
  const show = isJson ? jsonView(answer, leave, here) : lineView(answer, here);
  try {
    const found = await followTurn(answer.turn, { ...show, signal: leave.signal }, world);
    show.stop();
    if (found !== undefined && isTerminal(found.turn.state)) {
      context.setExitCode(interrupts > 0 ? EXIT.interrupted : outcomeCode([found]));
      show.end(found);
      advanceMemory({ id: answer.conversationId }, requester, world);
    } else if (interrupts > 0) leaveStream('The answer was left', '"queue" shows whether it goes on', here);
  } finally {
    show.stop();
    release();
  }
}

/** Ends what somebody has left by Ctrl-C; a stream of JSON with the line that says so. */
export function leaveStream(what: string, next: string, { context, isJson }: RunsHere): void {
  context.setExitCode(EXIT.interrupted);
  if (isJson) failWith({ exitCode: EXIT.interrupted, message: `${what}.`, hint: `${next}.` }, context);
}

const HELD_TOLD_MS = 2000;
const HELD = '⏳ It waits: an orchestration works here, or as many runs as may.';

type View = {
  readonly onEvent: (event: AgentEvent) => void;
  readonly onProgress: (one: RunWithTurn) => void;
  readonly stop: () => void;
  readonly end: (one: RunWithTurn) => void;
};

/** One line for each thing that is done, and on a terminal one that says for how long. */
function lineView(answer: Said, { context }: RunsHere): View {
  const hidesExits = clientNamed(answer.client).exitCodes !== undefined;
  const { push } = eventSummary(LABEL, hidesExits ? () => undefined : undefined);
  const { stderr, verbatim, progress, colours } = context;
  const begunMs = Date.now();
  let state = '';
  const timer = setInterval(() => {
    progress(`${answer.client} ${state} ${formatDuration(Date.now() - begunMs)}`);
  }, 1000);
  const hint = setTimeout(() => state === 'queued' && answer.before === 0 && tell(HELD), HELD_TOLD_MS);
  const tell = (line: string) => {
    progress('');
    stderr(`${line}\n`);
  };
  if (answer.session === 'new')
    tell(colours.dim(`[${LABEL}] new session of ${answer.client} in conversation ${answer.conversation}`));
  if (answer.before > 0) tell(`⏳ It waits behind ${counted(answer.before, 'other message')}.`);
  return {
    onEvent: (event) => {
      for (const line of push(event)) tell(colours.dim(line));
    },
    onProgress: ({ turn }) => {
      state = turn.state;
    },
    stop: () => {
      clearInterval(timer);
      clearTimeout(hint);
      progress('');
    },
    end: ({ turn }) => {
      const text = (turn.result ?? '').trim();
      if (text !== '') verbatim(`${shownText(text)}\n`);
      const reason = endReason(turn);
      if (turn.state !== 'success')
        stderr(`⚠️ ${turn.state}${reason === undefined ? '' : `: ${visibleLine(reason)}`}\n`);
      for (const note of turn.notes) stderr(`Note: ${visibleLine(note)}\n`);
      stderr(`${colours.dim(costLine(turn))}\n`);
    },
  };
}

/** One line of JSON for each event; whoever reads no more is left, and the answer goes on. */
function jsonView(answer: Said, leave: AbortController, here: RunsHere): View {
  const { context } = here;
  const print = (value: object) => {
    context.stdout(shownJson(value, 0));
    void context.written().then((isWritten) => isWritten || leave.abort());
  };
  const { push, end } = eventsJson();
  const { status: _accepted, ...facts } = answer;
  print({ type: 'accepted', ...facts });
  return {
    onEvent: (event) => push(event).forEach(print),
    onProgress: () => {},
    stop: () => end().forEach(print),
    end: (one) => print({ type: 'result', ...turnJson(one, context.now().getTime(), here) }),
  };
}
