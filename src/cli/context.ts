import { Command } from 'commander';
import type { Environment } from '../core/state-paths.ts';

/** The world as a command sees it: everything that it reads or changes beside files comes in here. */
export type CliContext = {
  readonly env: Environment;
  readonly platform: string;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Replaces the line of progress on a terminal, nowhere else; an empty text removes it. */
  readonly progress: (text: string) => void;
  /** The running program: `process.execPath`. */
  readonly executablePath: string;
  /** `Bun.isStandaloneExecutable`: the program is the product, not a runtime that runs its source. */
  readonly isCompiled: boolean;
  /** Whether output may be coloured: NO_COLOR and a pipe say no. */
  readonly colour: boolean;
  readonly setExitCode: (code: number) => void;
  readonly now: () => Date;
  readonly cwd: string;
};

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_NOT_FOUND = 3;

/**
 * A command that talks through the context and never ends the process. A wrong call sets exit code 2 and then throws
 * commander's CommanderError, as asking for `--help` does without an exit code: whoever parses catches it.
 */
export function newCommand(name: string, context: CliContext): Command {
  return new Command(name)
    .configureOutput({ writeOut: context.stdout, writeErr: context.stderr })
    .exitOverride((error) => {
      if (error.exitCode !== 0) context.setExitCode(EXIT_USAGE);
      throw error;
    });
}
