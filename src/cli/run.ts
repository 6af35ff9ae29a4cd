import { CommanderError } from 'commander';
import { configCommand } from './config.ts';
import { type CliContext, EXIT_FAILED, EXIT_USAGE, newCommand } from './context.ts';
import { doctorCommand } from './doctor.ts';
import { installCommand } from './install.ts';
import { statusCommand } from './status.ts';
import { uninstallCommand } from './uninstall.ts';
import { VERSION } from './version.ts';

const EXAMPLES = `
Also: "self-generation hook [NAME]" runs one hook on the event that it reads from standard input.

Examples:
  $ self-generation install     register the hooks in Claude Code
  $ self-generation doctor      check that they work
  $ self-generation status      see what has been learned`;

/** The commands for a person. Gives the exit code; nothing below this ends the process. */
export async function runCli(words: readonly string[]): Promise<number> {
  // A hook's start is tuned for a life of milliseconds; a command may run for minutes.
  Bun.unsafe.setJITPolicy(1);
  let exitCode = 0;
  const context = processContext((code) => {
    exitCode = code;
  });
  try {
    await program(context).parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return exitCode;
    const message = error instanceof Error ? error.message : String(error);
    context.stderr(`error: ${message}\n`);
    return EXIT_FAILED;
  }
  return exitCode;
}

function program(context: CliContext) {
  const root = newCommand('self-generation', context)
    .description('Gives sub-agents of coding agents what the project has already learned.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpText('after', EXAMPLES)
    .action(() => {
      context.stderr(root.helpInformation());
      context.setExitCode(EXIT_USAGE);
    });
  root.addCommand(installCommand(context));
  root.addCommand(uninstallCommand(context));
  root.addCommand(doctorCommand(context));
  root.addCommand(statusCommand(context));
  root.addCommand(configCommand(context));
  return root;
}

function processContext(setExitCode: (code: number) => void): CliContext {
  const { env, stdout, stderr } = process;
  return {
    env,
    platform: process.platform,
    stdout: (text) => void stdout.write(text),
    stderr: (text) => void stderr.write(text),
    progress: (text) => {
      if (stderr.isTTY) stderr.write(`\r\x1b[K${text}`);
    },
    executablePath: process.execPath,
    isCompiled: Bun.isStandaloneExecutable,
    colour: wantsColour(env, stdout.isTTY === true),
    setExitCode,
    now: () => new Date(),
    cwd: process.cwd(),
  };
}

/** NO_COLOR wins, then FORCE_COLOR, then whether anybody is looking. */
function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return isTerminal && env.TERM !== 'dumb';
}
