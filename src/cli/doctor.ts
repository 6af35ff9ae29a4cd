import type { Command } from 'commander';
import pc from 'picocolors';

import { type Check, examine } from '../setup/doctor.ts';
import { runCommand } from '../system/run-command.ts';
import { type CliContext, EXIT_FAILED, newCommand } from './context.ts';
import { shownJson, shownText } from './output.ts';

type Flags = { readonly live?: true; readonly json?: true };

const EXAMPLES = `
Examples:
  $ self-generation doctor          check files, registration, database, and run every hook once
  $ self-generation doctor --live   also run the installed Claude Code against a scripted model on this machine
  $ self-generation doctor --json

Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage.`;

/** `doctor`: says what is wrong, and what to do about it. */
export function doctorCommand(context: CliContext): Command {
  return newCommand('doctor', context)
    .description('check the installation end to end')
    .option('--live', 'run the real client against a scripted model; nothing leaves this machine')
    .option('--json', 'print the checks as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      const checks = await examine({
        env: context.env,
        platform: context.platform,
        executablePath: context.executablePath,
        isCompiled: context.isCompiled,
        live: flags.live === true,
        now: context.now(),
        run: runCommand,
        onStart: (part) => (flags.json ? undefined : context.progress(`checking ${part} …`)),
      });
      context.progress('');
      if (flags.json) context.stdout(shownJson({ checks }));
      else for (const check of checks) printCheck(check, context);
      if (checks.some((check) => check.status === 'failed')) context.setExitCode(EXIT_FAILED);
    });
}

function printCheck({ name, status, detail, remedy }: Check, context: CliContext): void {
  const colours = pc.createColors(context.colour);
  const mark = {
    ok: colours.green('ok     '),
    warning: colours.yellow('warning'),
    failed: colours.red('failed '),
    skipped: colours.dim('skipped'),
  }[status];
  context.stdout(`${mark}  ${colours.bold(name.padEnd(13))}  ${shownText(detail)}\n`);
  if (remedy !== undefined) context.stdout(`${' '.repeat(24)}→ ${remedy}\n`);
}
