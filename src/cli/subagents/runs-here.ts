import { existsSync, statSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { redactSecrets } from '../../core/redact.ts';
import { type StatePaths, statePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { archivedNames } from '../../runs/archive.ts';
import { type Requester, type Run, type RunWithTurn, turnFiles } from '../../runs/model/run.ts';
import { isoTime, ordinal, parseSeconds } from '../../runs/model/stats.ts';
import { isTerminal, type Turn } from '../../runs/model/turn.ts';
import { runFacts } from '../../runs/read-log.ts';
import { reconcileAndArchive } from '../../runs/reconcile.ts';
import { findByIdAnywhere, findOwnRun, refusalInside, requesterHere } from '../../runs/requester.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import type { Refusal, RunsWorld } from '../../runs/world.ts';
import { type CliContext, EXIT, failWith, NO_HOME, PROGRAM, seeHelp } from '../context.ts';
import { printJson, shownText } from '../output.ts';

/** Shared by the commands of background runs: opening the store, finding runs, printing answers and refusals. */

export type JsonFlag = { readonly json?: true };

/** The runs of the project that the user is in, as a command sees them. */
export type RunsHere = {
  readonly world: RunsWorld;
  readonly requester: Requester;
  readonly isJson: boolean;
  readonly context: CliContext;
  /** Standard input as text, or its beginning. */
  readonly read: (bytesMax: number) => Promise<string>;
};

/** A command of the group: how it is called, what its help says, and what it does. */
export type SubagentsCommand = {
  readonly name: string;
  /** What a message says could not be done; the description when nothing else is said. */
  readonly does?: string;
  readonly description: string;
  /** Examples: what stands behind its name. */
  readonly calls: readonly string[];
  /** Adds its arguments and options. */
  readonly define?: (command: Command) => Command;
  readonly act: (here: RunsHere, flags: never, argument: never) => void | Promise<void>;
};

/** A command about one run, which is looked for first. */
export function aboutRun<Flags extends JsonFlag>({
  define = (command) => command,
  act,
  ...described
}: Omit<SubagentsCommand, 'act'> & {
  readonly act: (here: RunsHere, flags: Flags, listing: RunListing) => void | Promise<void>;
}): SubagentsCommand {
  return {
    ...described,
    define: (command) => define(command.argument('[target]', 'the run')),
    act: (here, flags: Flags, target?: string) => {
      const words = target ?? complainUsage(`${described.name} <id|#>`, here);
      return act(here, flags, findRun(words, here));
    },
  };
}

/** Reads the number of seconds behind an option. */
export function readSeconds(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It is a number of seconds, or such as 90s, 10m, 2h.');
}

/** Runs a command about runs after reconciling them; inside a run it is refused (R43). `action`: what failed in an error. */
export async function withRunsHere(
  { context, read }: Pick<RunsHere, 'context' | 'read'>,
  { json }: JsonFlag,
  action: string,
  act: (here: RunsHere) => void | Promise<void>,
): Promise<void> {
  const { env, platform, cwd, executablePath, isCompiled, now } = context;
  const isJson = json === true;
  const paths = statePaths(env, platform);
  if (paths === undefined) return complain(`Cannot ${action}: ${NO_HOME}.`, EXIT.failed, { context });
  const world: RunsWorld = { paths, env, platform, cwd, executablePath, isCompiled, now };
  const inside = refusalInside('subagents', world);
  if (inside !== undefined) return refuse(inside, '', { context });
  reconcileAndArchive(world);
  await act({ world, requester: requesterHere(world), isJson, context, read });
}

/** Whether only a person reads the output: no client has started this, or it was typed as a prompt. */
export function isPerson({ requester, context }: Pick<RunsHere, 'requester' | 'context'>): boolean {
  return context.isPrompt === true || (requester.session === null && requester.client === null);
}

/** Whether a person asks in a terminal of their own, who may see what belongs to other projects. */
export function seesAllProjects(here: RunsHere): boolean {
  return isPerson(here) && here.context.agentMark() === undefined;
}

/** The run that is meant; fails when it is none. A person may name one of any project by its id. */
export function findRun(words: string, here: RunsHere): RunListing {
  const own = findOwnRun(words, here);
  const answer =
    (own.kind === 'missing' && seesAllProjects(here) ? findByIdAnywhere(words, here.world) : undefined) ??
    own;
  if (answer.kind === 'found') return answer.run;
  return complain(answer.error, answer.kind === 'empty' ? EXIT.usage : EXIT.notFound, here);
}

/** Whether all runs are meant, and not one. */
export function isAll(target: string | undefined): boolean {
  return target === 'all' || target === '*';
}

/** The run that is meant; undefined: all of them. `call`: how the command is called. */
export function findRunOrAll(target: string | undefined, call: string, here: RunsHere) {
  if (isAll(target)) return undefined;
  return findRun(target?.trim() ? target : complainUsage(call, here), here);
}

/** For a run of another project: where the next command has to be called, since numbers are per project. */
export function callPlace({ number, requester: { key, cwd } }: Run, { requester }: RunsHere): string {
  return key === requester.key ? '' : ` Call that in "${cwd}", where it is #${number}.`;
}

type Speaking = Pick<RunsHere, 'isJson' | 'context'>;

/** Prints the answer: the document where JSON is asked for, else the text. */
export function answer(document: object, text: string, { isJson, context }: Speaking): void {
  if (isJson) printJson(document, context);
  else context.stdout(text);
}

/** Ends the command with an error, a sentence. */
export function complain(error: string, exitCode: number, { context }: Pick<RunsHere, 'context'>): never {
  return failWith({ exitCode, message: shownText(error) }, context, WARNED);
}

const WARNED = { mark: '⚠️ ' };

/** Ends it with what cannot be done with a run, and why. */
export function complainOf(what: string, run: Run, reason: string, here: RunsHere): never {
  return complain(`Cannot ${what} #${run.number}: ${reason}.${callPlace(run, here)}`, EXIT.failed, here);
}

/** Ends it with a refusal in the same way. `says`: text before the reason. */
export function refuse(refusal: Refusal, says: string, here: Pick<RunsHere, 'context'>): never {
  const exitCode = refusal.limit === true ? EXIT.limit : EXIT.failed;
  return complain(
    `${says}${refusal.error}`,
    refusal.status === 'forbidden' ? EXIT.forbidden : exitCode,
    here,
  );
}

export const TASK_BYTES_MAX = 1024 * 1024;

/** The words of a call; for "-" as much of standard input as shows whether it is too long for a task. */
export async function typedText(words: readonly string[], here: RunsHere): Promise<string> {
  const isStdin = words.length === 1 && words[0] === '-';
  return isStdin ? here.read(TASK_BYTES_MAX + 1) : words.join(' ');
}

/** Ends a wrong call with how the command is called. `group`: what stands before that. */
export function complainUsage(
  call: string,
  { context }: Pick<RunsHere, 'context'>,
  group = 'subagents ',
): never {
  const [name = ''] = call.split(' ');
  const message = `Usage: ${PROGRAM} ${group}${call}`;
  const problem = { exitCode: EXIT.usage, message, hint: context.isJson ? seeHelp(group + name) : undefined };
  return failWith(problem, context, { mark: '⚙️ ' });
}

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
