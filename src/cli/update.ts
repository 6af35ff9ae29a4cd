import { resolve } from 'node:path';
import type { Command } from 'commander';
import { RELEASES, TARGET } from '../setup/release.ts';
import { type UpdateReport, update } from '../setup/update.ts';
import { runCommand } from '../system/run-command.ts';
import { type CliContext, EXIT, type Given, keepFromAgent, newCommand } from './context.ts';
import { printProblem } from './install.ts';
import { printReportJson, shownLine, shownText } from './output.ts';

type Flags = Given<'check' | 'dryRun' | 'allowDowngrade' | 'json'> & { readonly from?: string };

const EXAMPLES = `
Examples:
  $ self-generation update --check                    say whether there is a newer version
  $ self-generation update --from ~/Downloads/0.2.0   from a folder with checksums.txt and the archives: no network
  $ self-generation update --from https://example.org/self-generation/0.2.0
  $ self-generation update --dry-run                  load, verify and try the new program, put nothing in its place

The archive is verified with checksums.txt, and the new program has to pass its own checks before it counts. Sessions go on:
hooks answer at any time. What sessions still run is kept in ~/.self-generation/hooks/versions; the next update, or doctor,
removes it. Back to a version: --from its folder, with --allow-downgrade.

Exit codes: 0 done, or nothing to do, 1 failed, 2 wrong usage.`;

/** `update`: replaces the installed program by a newer one, verified, while sessions run it. */
export function updateCommand(context: CliContext): Command {
  const from = `a URL (https), a folder or an archive with checksums.txt beside it (default: where releases are published)`;
  return newCommand('update', context)
    .description('replace the installed program by a newer one')
    .option('--from <PLACE>', from)
    .option('--check', 'only say whether there is a newer version')
    .option('--dry-run', 'load, verify and try the new program, and change nothing')
    .option('--allow-downgrade', 'also take an older version, which may not understand what is recorded')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => run(flags, context));
}

async function run(flags: Flags, context: CliContext): Promise<void> {
  if (!flags.check) keepFromAgent('update', 'update …', context);
  const { env, platform, cwd, progress } = context;
  const isUrl = flags.from?.includes('://');
  const latest = RELEASES && `${RELEASES}/latest/download`;
  const report = await update({
    ...{ env, platform, run: runCommand, target: TARGET },
    from: flags.from === undefined || isUrl ? (flags.from ?? latest) : resolve(cwd, flags.from),
    checksOnly: flags.check === true,
    dryRun: flags.dryRun === true,
    allowsDowngrade: flags.allowDowngrade === true,
    onStart: (step) => (flags.json ? undefined : progress(`${step} …`)),
  });
  progress('');
  if (flags.json) printReportJson(report, context);
  else if (report.kind === 'failed') printProblem(report, context);
  else printReport(report, flags, context);
  if (report.kind === 'failed') context.setExitCode(EXIT.failed);
}

type Done = Extract<UpdateReport, { kind: 'done' }>;

function printReport(report: Done, flags: Flags, { stdout, colours }: CliContext): void {
  const { state, installed = 'an unknown version', newest, place, kept, notes = [] } = report;
  const { bold } = colours;
  const print = (line: string) => stdout(`${line}\n`);
  const change = `${installed} → ${newest}`;
  if (state === 'up to date') {
    const other = newest === installed ? '' : `; ${shownLine(place)} has ${newest}`;
    print(bold(`Up to date: ${installed} is installed${other}.`));
  } else if (state === 'available') {
    const source = flags.from === undefined ? '' : ` --from '${shownLine(flags.from)}'`;
    const title = flags.dryRun ? 'Nothing was changed. It works on this machine:' : 'There is a new version:';
    print(bold(`${title} ${change}`));
    print(`Install it with: self-generation update${source}`);
  } else {
    print(bold(`Updated self-generation: ${change}`));
    for (const note of notes) print(shownText(note));
    const goes = `${kept} goes with the next update or doctor`;
    if (kept) print(`Sessions that are open may still run ${installed}; ${goes}.`);
  }
}
