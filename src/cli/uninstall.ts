import type { Command } from 'commander';
import { type Environment, statePaths } from '../core/state-paths.ts';
import { leaveWorktree } from '../runs/workspace/worktree.ts';
import { runsWithTrees } from '../setup/background-runs.ts';
import { type UninstallReport, uninstall } from '../setup/uninstall.ts';
import { type CliContext, EXIT, newCommand } from './context.ts';
import { printProblem, printSteps, printWarnings } from './install.ts';
import { printJson } from './output.ts';

type Flags = {
  readonly purge?: true;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly json?: true;
};

const EXAMPLES = `
Examples:
  $ self-generation uninstall                 remove the hooks and the program, keep what was learned
  $ self-generation uninstall --purge         remove that too; on a terminal it asks first
  $ self-generation uninstall --purge --yes   do not ask
  $ self-generation uninstall --dry-run       show what would be removed

Exit codes: 0 done, 1 failed, 2 wrong usage.`;

/** `uninstall`: takes the hooks out of Claude Code's settings and removes what install put on the disk. */
export function uninstallCommand(context: CliContext): Command {
  return newCommand('uninstall', context)
    .description('remove the hooks and the program; what was learned stays')
    .option('--purge', 'also remove everything that was learned, what sub-agents left, and the settings')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'change nothing, show what would be changed')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => run(flags, context));
}

async function run(flags: Flags, context: CliContext): Promise<void> {
  const { purge, yes, dryRun, json } = flags;
  // Only what was learned cannot be had again. Where nobody can be asked, the command is the answer.
  const asks = purge && !yes && !dryRun && !json && context.isInteractive;
  if (asks && !(await context.confirm('Remove everything that was learned?'))) {
    context.stderr('Nothing was changed.\n');
    return context.setExitCode(EXIT.failed);
  }
  const report = await takeAway(flags, context);
  if (json) printJson(report, context);
  else printReport(report, flags, context);
  if (report.kind === 'failed') context.setExitCode(EXIT.failed);
}

/** With purge also the working trees of sub-agents in which nothing would be lost, before their database goes. */
async function takeAway(flags: Flags, { env, platform }: CliContext): Promise<UninstallReport> {
  const options = { env, platform, purge: flags.purge === true, dryRun: flags.dryRun === true };
  if (!options.purge || options.dryRun) return uninstall(options);
  const plan = uninstall({ ...options, dryRun: true });
  if (plan.kind === 'failed') return plan;
  const notes = await leaveWorktrees(env, platform);
  const report = uninstall(options);
  return report.kind === 'failed' ? report : { ...report, warnings: [...notes, ...report.warnings] };
}

/** Removes the working trees in which nothing would be lost; returns a note for each that stays. */
async function leaveWorktrees(env: Environment, platform: string): Promise<string[]> {
  const paths = statePaths(env, platform);
  if (paths === undefined) return [];
  const notes: string[] = [];
  try {
    for (const run of runsWithTrees(paths)) notes.push((await leaveWorktree(run, { env })) ?? '');
  } catch {
    // The database cannot be read: uninstall says so, and the trees stay.
  }
  return notes.filter((note) => note !== '');
}

function printReport(report: UninstallReport, flags: Flags, context: CliContext): void {
  const isUnchanged = report.steps.every(({ change }) => change === 'unchanged' || change === 'kept');
  const done = flags.dryRun
    ? 'Nothing was changed. Uninstall would do this:'
    : 'Uninstalled self-generation.';
  const title = isUnchanged ? 'Nothing to remove: self-generation is not installed.' : done;
  if (report.kind === 'done') context.stdout(`${context.colours.bold(title)}\n`);
  printSteps(report.steps, context);
  if (report.kind === 'failed') printProblem(report, context);
  else printWarnings(report.warnings, context);
}
