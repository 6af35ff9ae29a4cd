import { Argument, type Command } from 'commander';
import { type CliContext, type Given, newCommand } from '../context.ts';
import { printJson } from '../output.ts';
import { completionsFor } from './complete.ts';
import { knownValues } from './known-values.ts';
import { referenceOf } from './reference.ts';
import { SHELLS } from './shells.ts';

/** The exit code of `complete` where paths of files may stand as well, and where nothing is known. */
const ALSO_FILES = 1;

const lines = SHELLS.map(
  ({ name, setUp, place }) => `  ${name.padEnd(10)}  ${setUp.padEnd(71)}  in ${place}`,
);
const EXAMPLES = `
Add this line, then start a new shell:
${lines.join('\n')}

The program has to be on the PATH. It completes commands, options and their values, settings, and the ids and projects that
are known on this machine.

Examples:
  $ self-generation completions bash
  $ self-generation completions fish > ~/.config/fish/completions/self-generation.fish

Exit codes: 0 done, 2 wrong usage.`;

/** `completions`: the script that has a shell complete what is typed. */
export function completionsCommand(context: CliContext): Command {
  return newCommand('completions', context)
    .description('print a script that has your shell complete commands, options and values')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS.map(({ name }) => name)))
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((wanted: string, { json }: Given<'json'>) => {
      for (const { name, setUp, place, script } of SHELLS.filter((shell) => shell.name === wanted))
        if (json) printJson({ shell: name, setUp, place, script }, context);
        else context.stdout(script);
    });
}

/** `complete -- WORDS`, which those scripts call: never fails, says nothing on standard error. */
export function completeCommand(context: CliContext): Command {
  const command = newCommand('complete', context)
    .description('print what may stand where the last word stands')
    .argument('[words...]')
    .allowUnknownOption();
  return command.action((words: readonly string[]) => {
    const program = referenceOf(command.parent ?? command);
    const known = (place: Parameters<typeof knownValues>[0]) => knownValues(place, context);
    const { candidates, takesFiles } = completionsFor(words, program, known);
    context.stdout(candidates.map(({ value, description }) => `${value}\t${description}\n`).join(''));
    if (takesFiles) context.setExitCode(ALSO_FILES);
  });
}
