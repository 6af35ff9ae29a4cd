import { stripVTControlCharacters } from 'node:util';
import { Argument, type Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { reasonOf } from '../core/guards.ts';
import { VERSION } from '../core/state-paths.ts';
import { HOOKS } from '../hooks/hooks.ts';
import { agentMark } from '../runs/requester.ts';
import { becomeLongLived, currentDirectory } from '../system/process-identity.ts';
import { analyzeCommand } from './analyze.ts';
import { configCommand } from './config.ts';
import { type CliContext, confirmOnTerminal, EXIT, newCommand, PROGRAM } from './context.ts';
import { applyCommand, dismissCommand, undoCommand } from './decide.ts';
import { errorsCommand } from './errors.ts';
import { importCommand } from './import.ts';
import { installCommand } from './install.ts';
import { cutToWidth } from './output.ts';
import { answerPrompt } from './prompt-command.ts';
import { doctorCommand, statusCommand } from './status.ts';
import { subagentsCommand } from './subagents/subagents.ts';
import { suggestionsCommand } from './suggestions.ts';
import { uninstallCommand } from './uninstall.ts';

/** Room behind the line of progress for the `^C` of the terminal and the cursor. */
const CTRL_C_COLUMNS = 3;

export { answerPrompt };

const EXAMPLES = `
Examples:
  $ self-generation install     register the hooks in Claude Code
  $ self-generation doctor      check that they work
  $ self-generation status      see what has been learned

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 5 limit reached.`;

/** The commands for a person. Returns the exit code; nothing below this ends the process. */
export async function runCli(words: readonly string[]): Promise<number> {
  becomeLongLived();
  // Failed writes to stdout are reported below; those to stderr cannot be reported anywhere.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  let exitCode = 0;
  const output = watchedOutput();
  const context = processContext(output, (code) => {
    exitCode = code;
  });
  try {
    await program(context).parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      context.stderr(`error: ${reasonOf(error)}\n`);
      exitCode = EXIT.failed;
    }
  }
  const failure = await output.failure();
  // `doctor | head` closes the pipe early, which is no failure.
  if (failure === undefined || failure.code === 'EPIPE') return exitCode;
  const advice =
    'What it did stays: run it again, with an output that can be written, if it may be done twice';
  context.stderr(`error: Cannot write to standard output: ${reasonOf(failure)}. ${advice}.\n`);
  return EXIT.failed;
}

/** Standard output, and the first failure of all that was written to it. */
function watchedOutput() {
  let failure: NodeJS.ErrnoException | undefined;
  let last = Promise.resolve();
  const write = (text: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    process.stdout.write(text, (error) => {
      failure ??= error ?? undefined;
      resolve();
    });
  };
  return { write, failure: () => last.then(() => failure) };
}

/** In the order in which the help lists them. */
const COMMANDS: readonly ((context: CliContext) => Command)[] = [
  ...[installCommand, uninstallCommand, doctorCommand, statusCommand],
  ...[analyzeCommand, suggestionsCommand, applyCommand, dismissCommand, undoCommand],
  ...[importCommand, subagentsCommand, errorsCommand, configCommand, hookCommand],
];

/** Without an action of its own: called alone it shows its help, and a word that it does not know is an error. */
function program(context: CliContext) {
  const root = newCommand(PROGRAM, context)
    .description('Gives sub-agents of coding agents what the project has already learned.')
    .version(VERSION, '-v, --version', 'print the version')
    .addHelpText('after', EXAMPLES);
  for (const command of COMMANDS) root.addCommand(command(context));
  return root;
}

function processContext(
  output: ReturnType<typeof watchedOutput>,
  setExitCode: (code: number) => void,
): CliContext {
  const { env, stdout, stderr } = process;
  return {
    env,
    platform: process.platform,
    stdout: output.write,
    written: async () => (await output.failure()) === undefined,
    stderr: (text) =>
      void stderr.write(wantsColour(env, stderr.isTTY === true) ? text : stripVTControlCharacters(text)),
    progress: (text) => {
      if (stderr.isTTY) stderr.write(`\r\x1b[K${cutToWidth(text, stderr.columns - CTRL_C_COLUMNS)}`);
    },
    showsProgress: stderr.isTTY === true,
    screen: () => (stdout.isTTY ? { columns: stdout.columns, rows: stdout.rows } : undefined),
    onInterrupt: (act) => {
      process.on('SIGINT', act);
      return () => void process.off('SIGINT', act);
    },
    executablePath: process.execPath,
    isCompiled: Bun.isStandaloneExecutable,
    colours: pc.createColors(wantsColour(env, stdout.isTTY === true)),
    isInteractive: process.stdin.isTTY === true && stdout.isTTY === true,
    confirm: confirmOnTerminal,
    agentMark: () => agentMark(env),
    setExitCode,
    now: () => new Date(),
    get cwd() {
      return currentDirectory();
    },
  };
}

/** NO_COLOR wins, then FORCE_COLOR, then whether it is a terminal. */
function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return isTerminal && env.TERM !== 'dumb';
}

const HOOK_EXAMPLES = `
Without NAME the event on standard input decides. A hook ends with 0 whatever happens and says nothing but its answer.

Examples:
  $ self-generation hook subagent-context < event.json
  $ self-generation hook < event.json
  $ self-generation hook applied s1a2b3c4d5e < event.json      the hook of an applied suggestion

Exit codes: 0 ran, 1 no such hook. Never 2: the client would take that for a veto.`;

/** `hook`: what the client runs. main.ts itself runs the hooks; only calls for help and wrong calls come here. */
function hookCommand(context: CliContext): Command {
  const command = newCommand('hook', context)
    .description('run one hook on the event on standard input; the client does that')
    .addArgument(new Argument('[name]').choices([...HOOKS.map((hook) => hook.name), 'applied']))
    .argument('[id]', 'of the suggestion, for an applied one')
    .addHelpText('after', HOOK_EXAMPLES)
    .exitOverride((error) => {
      if (error.exitCode !== 0) context.setExitCode(EXIT.failed);
      throw error;
    })
    .action((name?: string) => {
      if (name === 'applied') command.error('error: an applied hook is called by the id of its suggestion');
      command.error('error: a hook reads its event from standard input');
    });
  return command;
}
