import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type pc from 'picocolors';
import { ALL_PROJECTS, type AnalysisScope, isAnythingRecorded } from '../analysis/data.ts';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRepository, projectPathSpellings } from '../core/project.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import type { RunWorker } from '../runs/pool/worker-options.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { type Config, loadConfig } from '../settings/hook-settings.ts';
import { isRecorded, type KnownProject, listProjects } from '../setup/inspect-store.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import type { ConnectServer } from '../team/membership.ts';
import { nearest } from './terminal/nearest.ts';
import { type Problem, problemJson } from './terminal/problem.ts';

/** The world as a command sees it: everything that it reads or changes beside files comes in here. */
export type CliContext = {
  readonly env: Environment;
  readonly platform: string;
  /** Whole lines in our words: on a terminal, those that are wider than it are broken between words. */
  readonly stdout: (text: string) => void;
  /** What is printed just as it is: texts of others with their own lines, patches, and what moves the cursor. */
  readonly verbatim: (text: string) => void;
  /** Resolves when all of that is written; false if standard output could not be written. */
  readonly written: () => Promise<boolean>;
  readonly stderr: (text: string) => void;
  /** `--json` was given: an error is printed as JSON then, see problemJson(), and standard error does not repeat it. */
  readonly isJson: boolean;
  /** Replaces the line of progress on a terminal, nowhere else; an empty text removes it. Cut to the terminal's width. */
  readonly progress: (text: string) => void;
  /** Whether that line is seen: standard error is a terminal. */
  readonly showsProgress: boolean;
  /** The size of the terminal that standard output is, by now; undefined for a pipe or a file. */
  readonly screen: () => { readonly columns: number; readonly rows: number } | undefined;
  /** Calls `act` on Ctrl-C instead of ending the program, until the returned function is called. */
  readonly onInterrupt: (act: () => void) => () => void;
  /** The running program: `process.execPath`. */
  readonly executablePath: string;
  /** `Bun.isStandaloneExecutable`: the program is the product, not a runtime that runs its source. */
  readonly isCompiled: boolean;
  /** The colours of output, none where NO_COLOR or a pipe says so. */
  readonly colours: ReturnType<typeof pc.createColors>;
  /** Whether somebody sits at a terminal who can be asked. */
  readonly isInteractive: boolean;
  /** A person typed it as a prompt of a client and is the only reader: the client's marks do not mean an agent. */
  readonly isPrompt?: true;
  /** Asks a question that is answered with yes or no. */
  readonly confirm: (question: string) => Promise<boolean>;
  /** Asks for a line of text; undefined when there is none: the input has ended, or Ctrl-C was typed. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** What shows that an agent runs this and not a person; undefined when nothing does. */
  readonly agentMark: () => string | undefined;
  readonly setExitCode: (code: number) => void;
  /** What talks to a server, loaded only by who does. */
  readonly connectServer: ConnectServer;
  readonly startWorker: () => Promise<RunWorker>;
  readonly now: () => Date;
  readonly cwd: string;
};

/** The name of the program, as it is called. */
export const PROGRAM = 'self-generation';
/** Exit codes. The last four are of a run that was waited for: `interrupted` is what a shell says of Ctrl-C. */
export const EXIT = {
  failed: 1,
  usage: 2,
  notFound: 3,
  forbidden: 4,
  limit: 5,
  timedOut: 6,
  stopped: 7,
  goesOn: 8,
  interrupted: 130,
} as const;

/** The reason and the advice of a command that needs a home directory. */
export const NO_HOME = 'HOME is not set to an absolute path. Set it and run again';

/**
 * A command that talks through the context and never ends the process. A wrong call sets the exit code `usageCode` and then
 * throws commander's CommanderError, as asking for `--help` does without an exit code: the caller of parse() catches it.
 * `path` is how the command is called, for example `config get`.
 */
export function newCommand(path: string, context: CliContext, usageCode: number = EXIT.usage): Command {
  const see = seeHelp(path);
  return new Command(path.slice(path.lastIndexOf(' ') + 1))
    .configureOutput({
      writeOut: context.stdout,
      writeErr: (text) => context.isJson || context.stderr(text),
      getOutHelpWidth: () => context.screen()?.columns || HELP_COLUMNS,
    })
    .helpOption('-h, --help', 'show help')
    .showHelpAfterError(see)
    .exitOverride((error) => {
      if (error.exitCode === 0) throw error;
      const [, message = error.message, meant] = COMMANDER_SAYS.exec(error.message) ?? [];
      const hint = meant === undefined ? see : `${meant} ${see}`;
      if (context.isJson) context.stdout(problemJson({ exitCode: usageCode, message, hint }));
      context.setExitCode(usageCode);
      throw error;
    });
}

const HELP_COLUMNS = 80;
/** `error: unknown option '--loud'`, and on a line of its own `(Did you mean --load?)`. */
const COMMANDER_SAYS = /^(?:error: )?(.*?)(?:\n\((Did you mean .*)\))?$/s;

/** Where to read on after a wrong call. `path`: how the command is called. */
export function seeHelp(path: string): string {
  return `See "${path === PROGRAM ? PROGRAM : `${PROGRAM} ${path}`} --help".`;
}

/** A command with commands below it; called with none of them it lists. */
export function commandGroup<Flags>(
  name: string,
  { description, after }: { readonly description: string; readonly after: string },
  context: CliContext,
  list: (flags: Flags) => void | Promise<void>,
): Command {
  const group = newCommand(name, context)
    .description(description)
    .enablePositionalOptions()
    .allowExcessArguments()
    .addHelpText('after', after)
    .option('--json', 'print as JSON');
  return group.action((flags: Flags) => {
    const [word] = group.args;
    if (word === undefined) return list(flags);
    const known = group.commands.map((command) => command.name());
    const words = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`;
    const meant = nearest(word, known);
    const question = meant === undefined ? '' : `\n(Did you mean ${name} ${meant}?)`;
    return group.error(`error: unknown command '${name} ${word}': it is ${words}${question}`);
  });
}

/**
 * A command of a group, with its `calls` as examples; the group's flags are its own as well. `after`: the rest of its help,
 * where it is more than the `codes` with which the command may end.
 */
export function subcommand<Flags, Words extends unknown[]>(
  path: string,
  {
    description,
    calls,
    codes = [0, EXIT.failed, EXIT.usage],
    after = `\n\n${exitCodes(codes)}`,
  }: { description: string; calls: readonly string[]; codes?: readonly number[]; after?: string },
  context: CliContext,
  act: (flags: Flags, ...words: Words) => void | Promise<void>,
): Command {
  const lines = calls.map((call) => `  $ ${PROGRAM} ${`${path} ${call}`.trim()}`);
  const command = newCommand(path, context)
    .description(description)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}${after}`)
    .option('--json', 'print as JSON');
  return command.action(() =>
    act(command.optsWithGlobals<Flags & object>(), ...(command.processedArgs as Words)),
  );
}

const MEANINGS: Readonly<Record<number, string>> = {
  0: 'done',
  1: 'failed',
  2: 'wrong usage',
  3: 'not found',
  4: 'forbidden',
  5: 'limit reached',
};

/** How a help says with what a command ends. */
export function exitCodes(codes: readonly number[]): string {
  return `Exit codes: ${codes.map((code) => `${code} ${MEANINGS[code]}`).join(', ')}.`;
}

/** What a command may be called with: each flag of this type where it was given. */
export type Given<Flag extends string, Value = true> = Readonly<Partial<Record<Flag, Value>>>;

/** An option that takes one of these words. */
export function choice(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices([...words]);
}

/** An option as it was called before, which is the same as `name` and is in no help. */
export function alias(option: Option, name: string): Option {
  option.attributeName = () => name;
  return option.hideHelp();
}

/** Adds `--client`, which was `--cli` once, and is in the flags as `client`. */
export function withClientOption(command: Command, description: string): Command {
  return command
    .addOption(choice('--client <NAME>', description, CLIENT_NAMES))
    .addOption(alias(choice('--cli <NAME>', description, CLIENT_NAMES), 'client'));
}

/** The option that names another project than the one that the user is in, as findScope() reads it. */
export const PROJECT_OPTION = [
  '--project <P>',
  'a project by its path or name, or "all"; otherwise the one you are in',
] as const;

/** Reads a number behind an option, above 0. */
export function positiveUpTo(most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (number > 0 && number <= most) return number;
    throw new InvalidArgumentError(`It is a number above 0, at most ${most}.`);
  };
}

/** Reads the number behind `--limit`. */
export function limitUpTo(most: number): (text: string) => number {
  return (text) => {
    const limit = Number(text);
    if (/^\d{1,9}$/.test(text) && limit > 0 && limit <= most) return limit;
    throw new InvalidArgumentError(`It is a number from 1 to ${most}.`);
  };
}

/** The user's state directory and settings. */
export type CliState = { readonly paths: StatePaths; readonly config: Config };

/** Runs a command that needs a home directory; reports an error when there is none. `action`: what failed then. */
export async function withState(
  context: CliContext,
  action: string,
  act: (state: CliState) => void | Promise<void>,
): Promise<void> {
  const paths = statePaths(context.env, context.platform);
  if (paths === undefined) fail(context, EXIT.failed, `${action}: ${NO_HOME}`);
  else await act({ paths, config: loadConfig(paths) });
}

/** Why a call is refused to an agent, which must not decide what agents are told or may do. `words`: the call's. */
export function objectionToAgent(words: string, context: CliContext): string | undefined {
  const mark = context.agentMark();
  if (mark === undefined) return undefined;
  return `an agent seems to run this (${mark}), and a person decides what agents are told and may do; run "${PROGRAM} ${words}" in a terminal of your own`;
}

/** Fails where an agent seems to call for `action`. */
export function keepFromAgent(action: string, words: string, context: CliContext): void {
  const objection = objectionToAgent(words, context);
  if (objection !== undefined) fail(context, EXIT.failed, `${action}: ${objection}`);
}

/**
 * Ends the command unless the user wants it, by --yes or when asked. `todo`: what --yes is for, as in "apply this"; `report`:
 * what is known by then, for JSON.
 */
export async function agree(
  question: string,
  todo: string,
  { yes, report = {} }: { readonly yes: true | undefined; readonly report?: object },
  context: CliContext,
): Promise<void> {
  const canAsk = context.isInteractive && !context.isJson;
  if (yes || (canAsk && (await context.confirm(question)))) return;
  if (canAsk) context.stdout('Nothing was changed.\n');
  if (canAsk) endCommand(EXIT.failed, context);
  const message = 'Nothing was changed: nobody can be asked here.';
  const problem = { exitCode: EXIT.failed, message, hint: `Pass --yes to ${todo}.` };
  failWith(problem, context, { mark: '', report: { kind: 'not-confirmed', ...report } });
}

/** Ends the command with `Cannot <what>. <hint>.`, as text or as JSON, and the exit code. */
export function fail(context: CliContext, exitCode: number, what: string, hint?: string): never {
  const problem = { exitCode, message: sentence(`Cannot ${what}`), hint: hint && sentence(hint) };
  return failWith(problem, context);
}

/** With the full stop that ends it. */
export function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Ends the command with what went wrong: on standard error behind the mark, or as JSON, with the report beside it. */
export function failWith(
  problem: Problem,
  context: CliContext,
  { mark = 'error: ', report = {} }: { readonly mark?: string; readonly report?: object } = {},
): never {
  const { exitCode, message, hint } = problem;
  if (context.isJson) context.stdout(problemJson(problem, report));
  else context.stderr(`${mark}${message}${hint === undefined ? '' : ` ${hint}`}\n`);
  return endCommand(exitCode, context);
}

/** Ends a command of which everything has been said. @throws CommanderError, which the caller of parse() catches */
export function endCommand(exitCode: number, context: CliContext): never {
  context.setExitCode(exitCode);
  throw new CommanderError(exitCode, 'ended', '');
}

/** A project as the hooks identify it. */
export type CliProject = ReturnType<typeof projectOfDirectory>;

const PROJECTS_NAMED_MAX = 8;

/**
 * The project that the user is in: where something is recorded of no directory here, of the one above it, up to the
 * repository's own. The client is mostly started at its root, and commands are typed anywhere.
 */
export function projectHere(paths: StatePaths, { cwd }: Pick<CliContext, 'cwd'>): CliProject {
  const inside = withinRepository(cwd).map(projectOfDirectory);
  const recorded = readDatabase(paths, (db) =>
    inside.find(({ spellings }) => spellings.some((path) => isRecorded(path, db))),
  );
  return recorded ?? projectOfDirectory(cwd);
}

/** The directory and those above it, up to the root of the repository; only itself outside of one. */
function withinRepository(directory: string): string[] {
  const chain: string[] = [];
  for (let at = directory; ; at = dirname(at)) {
    chain.push(at);
    if (isRepository(at, { pathExists, readTextFile })) return chain;
    if (dirname(at) === at) return [directory];
  }
}

/** What `--project` means: by default where the user is, `all`, a path, or the name of a recorded project; else fails. */
export function findScope(wanted: string | undefined, paths: StatePaths, context: CliContext): AnalysisScope {
  const scopeOf = ({ name, path }: { readonly name: string; readonly path: string }) =>
    ({ kind: 'project', name, path }) as const;
  if (wanted === undefined) return scopeOf(projectHere(paths, context));
  if (wanted === 'all') return ALL_PROJECTS;
  const path = resolve(context.cwd, wanted);
  if (/[\\/]/.test(wanted) || existsSync(path)) return scopeOf(projectOfDirectory(path));
  const known = readDatabase(paths, listProjects) ?? [];
  const [only, ...others] = known.filter(({ name }) => name === wanted);
  if (only !== undefined && others.length === 0) return scopeOf(only);
  if (only === undefined) return failToFind(wanted, NOTHING_RECORDED, known, context);
  return failToFind(wanted, 'more than one has this name', [only, ...others], context);
}

/** As findScope(), for those who read the log: of a path that was named, something has to be recorded. */
export function findRecordedScope(wanted: string | undefined, paths: StatePaths, context: CliContext) {
  const scope = findScope(wanted, paths, context);
  if (wanted === undefined || scope.kind !== 'project') return scope;
  const spellings = projectPathSpellings(scope.path, resolve(context.cwd, wanted));
  const isKnown =
    isAnythingRecorded(paths) &&
    writeDatabase(paths, (db) => spellings.some((spelling) => isRecorded(spelling, db)));
  if (isKnown) return scope;
  return failToFind(wanted, NOTHING_RECORDED, readDatabase(paths, listProjects) ?? [], context);
}

const NOTHING_RECORDED = 'nothing is recorded of it';

function failToFind(
  wanted: string,
  reason: string,
  candidates: readonly KnownProject[],
  context: CliContext,
) {
  const named = candidates.slice(0, PROJECTS_NAMED_MAX).map(({ path }) => path);
  const hint = named.length > 0 ? `. Give a path: ${named.join(', ')}` : '';
  return fail(context, EXIT.notFound, `find the project "${wanted}": ${reason}${hint}`);
}
