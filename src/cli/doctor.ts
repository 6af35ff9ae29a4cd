import type { Command } from 'commander';
import { type Check, examine } from '../setup/doctor.ts';
import { runCommand } from '../system/run-command.ts';
import { type CliContext, EXIT, type Given, newCommand } from './context.ts';
import { printJson, shownText } from './output.ts';

type Flags = Given<'live' | 'json'>;

const EXAMPLES = `
Examples:
  $ self-generation doctor          check files, registration, database, and run every hook once
  $ self-generation doctor --live   also run the installed Claude Code against a scripted model on this machine
  $ self-generation doctor --json

Exit codes: 0 nothing failed, 1 something failed, or --live could not run the client, 2 wrong usage.`;

/** `doctor`: says what is wrong, and what to do about it. */
export function doctorCommand(context: CliContext): Command {
  return newCommand('doctor', context)
    .description('check the installation end to end')
    .option('--live', 'run the real client against a scripted model; nothing leaves this machine')
    .option('--json', 'print the checks as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      const { env, platform, executablePath, isCompiled } = context;
      const checks = await examine({
        ...{ env, platform, executablePath, isCompiled },
        live: flags.live === true,
        now: context.now(),
        run: runCommand,
        onStart: (part) => (flags.json ? undefined : context.progress(`checking ${part} …`)),
      });
      context.progress('');
      if (flags.json) printJson({ checks }, context);
      else printChecks(checks, context);
      // What was asked for and could not be looked at is not in order.
      const isDone = ({ name, status }: Check) =>
        status !== 'failed' && !(flags.live && name.startsWith('live') && status === 'skipped');
      if (!checks.every(isDone)) context.setExitCode(EXIT.failed);
    });
}

/** Below one another in three columns, the second as wide as the longest name. */
function printChecks(checks: readonly Check[], { colours, stdout }: CliContext): void {
  const { bold, dim, green, red, yellow } = colours;
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, status, detail, remedy } of checks) {
    const paint = { ok: green, warning: yellow, failed: red, skipped: dim }[status];
    stdout(`${paint(status.padEnd(7))}  ${bold(name.padEnd(width))}  ${shownText(detail)}\n`);
    if (remedy !== undefined) stdout(`${' '.repeat(width + 11)}→ ${remedy}\n`);
  }
}
