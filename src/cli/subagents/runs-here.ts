import { type Command, CommanderError } from 'commander';
import { reasonOf } from '../../core/guards.ts';
import { statePaths } from '../../core/state-paths.ts';
import type { Requester, Run } from '../../runs/model/run.ts';
import { reconcileAndArchive } from '../../runs/reconcile.ts';
import { findByIdAnywhere, findOwnRun, refusalInside, requesterHere } from '../../runs/requester.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import type { Refusal, RunsWorld } from '../../runs/world.ts';
import { type CliContext, EXIT_FAILED, EXIT_LIMIT, EXIT_NOT_FOUND, EXIT_USAGE, NO_HOME } from '../context.ts';
import { printJson, shownText } from '../output.ts';

/** What every command about background runs begins with, and how each of them says that it cannot. */

const EXIT_FORBIDDEN = 4;

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

/** Runs a command about runs, after whatever is due; inside a run it is refused (R43). `action`: what it wants to do. */
export async function withRunsHere(
  { context, read }: Pick<RunsHere, 'context' | 'read'>,
  { json }: JsonFlag,
  action: string,
  act: (here: RunsHere) => void | Promise<void>,
): Promise<void> {
  const { env, platform, cwd, executablePath, isCompiled, now } = context;
  const isJson = json === true;
  const paths = statePaths(env, platform);
  if (paths === undefined) return complain(`Cannot ${action}: ${NO_HOME}.`, EXIT_FAILED, { isJson, context });
  const world: RunsWorld = { paths, env, platform, cwd, executablePath, isCompiled, now };
  try {
    const inside = refusalInside('subagents', world);
    if (inside !== undefined) return refuse(inside, '', { isJson, context });
    reconcileAndArchive(world);
    await act({ world, requester: requesterHere(world), isJson, context, read });
  } catch (error) {
    if (!isJson || error instanceof CommanderError) throw error;
    complain(`Cannot ${action}: ${reasonOf(error)}`, EXIT_FAILED, { isJson, context });
  }
}

/** Whether nobody but a person reads along: no client has started this, or it was typed as a prompt. */
export function isPerson({ requester, context }: Pick<RunsHere, 'requester' | 'context'>): boolean {
  return context.isPrompt === true || (requester.session === null && requester.client === null);
}

/** The run that is meant; undefined after saying why it is none. A person may name one of any project by its id. */
export function findRun(words: string | undefined, here: RunsHere): RunListing | undefined {
  const own = findOwnRun(words, here);
  const isAlone = isPerson(here) && here.context.agentMark() === undefined;
  const answer =
    (own.kind === 'missing' && isAlone ? findByIdAnywhere(words ?? '', here.world) : undefined) ?? own;
  if (answer.kind === 'found') return answer.run;
  complain(answer.error, answer.kind === 'empty' ? EXIT_USAGE : EXIT_NOT_FOUND, here);
  return undefined;
}

/** A run of another project has its number there, so that what to do next is to be called there. */
export function callPlace({ number, requester: { key, cwd } }: Run, { requester }: RunsHere): string {
  return key === requester.key ? '' : ` Call that in "${cwd}", where it is #${number}.`;
}

/** Commander's own complaints of a wrong call, as a document where one is asked for. */
export function complainInJson(command: Command, context: CliContext): void {
  const isJson = () => {
    let root: Command & { rawArgs?: readonly string[] } = command;
    while (root.parent !== null) root = root.parent;
    return root.rawArgs?.includes('--json') === true;
  };
  command.configureOutput({ writeErr: (text) => isJson() || context.stderr(text) });
  command.exitOverride((error) => {
    const isHelp = error.exitCode === 0;
    if (!isHelp && isJson())
      complain(error.message.replace(/^error: /, ''), EXIT_USAGE, { isJson: true, context });
    else if (!isHelp) context.setExitCode(EXIT_USAGE);
    throw error;
  });
}

type Speaking = Pick<RunsHere, 'isJson' | 'context'>;

/** Says that it cannot be done, and why: as a document where one is expected. */
export function complain(error: string, exitCode: number, here: Speaking): void {
  say({ status: 'error', error }, `⚠️ ${shownText(error)}`, exitCode, here);
}

/** The same for what was refused. `says`: what stands before the reason. */
export function refuse(refusal: Refusal, says: string, here: Speaking): void {
  const exitCode = refusal.limit === true ? EXIT_LIMIT : EXIT_FAILED;
  const isForbidden = refusal.status === 'forbidden';
  say(refusal, `⚠️ ${says}${shownText(refusal.error)}`, isForbidden ? EXIT_FORBIDDEN : exitCode, here);
}

/** How a command is called, when it was not called so. */
export function complainUsage(call: string, here: Speaking): void {
  const error = `Usage: self-generation subagents ${call}`;
  say({ status: 'error', error }, `⚙️ ${error}`, EXIT_USAGE, here);
}

function say(document: object, line: string, exitCode: number, { isJson, context }: Speaking): void {
  context.setExitCode(exitCode);
  if (isJson) printJson(document, context);
  else context.stderr(`${line}\n`);
}
