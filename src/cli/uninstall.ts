import type { Command } from 'commander';
import pc from 'picocolors';
import { statePaths } from '../core/state-paths.ts';
import { leaveWorktree } from '../runs/workspace/worktree.ts';
import { runsWithTrees } from '../setup/background-runs.ts';
import { type UninstallReport, uninstall } from '../setup/uninstall.ts';
import { type CliContext, EXIT_FAILED, newCommand } from './context.ts';
import { printProblem, printSteps, printWarnings } from './install.ts';

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
    .action(async (flags: Flags) => {
      if (!(await isAgreed(flags, context))) {
        context.stderr('Nothing was changed.\n');
        context.setExitCode(EXIT_FAILED);
        return;
      }
      const report = await takeAway(flags, context);
      if (flags.json) context.stdout(`${JSON.stringify(report, null, 2)}\n`);
      else printReport(report, flags, context);
      if (report.kind === 'failed') context.setExitCode(EXIT_FAILED);
    });
}

/** Only what was learned cannot be had again. Where nobody can be asked, the command is the answer. */
async function isAgreed({ purge, yes, dryRun, json }: Flags, context: CliContext): Promise<boolean> {
  if (!purge || yes || dryRun || json || !context.isInteractive) return true;
  return context.confirm('Remove everything that was learned?');
}

/** With purge also the working trees of sub-agents in which nothing would be lost, before their database goes. */
async function takeAway(flags: Flags, context: CliContext): Promise<UninstallReport> {
  const { env, platform } = context;
  const purge = flags.purge === true;
  const options = { env, platform, purge, dryRun: flags.dryRun === true };
  if (!purge || options.dryRun) return uninstall(options);
  const plan = uninstall({ ...options, dryRun: true });
  if (plan.kind === 'failed') return plan;
  const notes = await leaveWorktrees(context);
  const report = uninstall(options);
  return report.kind === 'failed' ? report : { ...report, warnings: [...notes, ...report.warnings] };
}

/** What is to be said of those that stay. */
async function leaveWorktrees({ env, platform }: CliContext): Promise<string[]> {
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
  if (report.kind === 'failed') {
    printSteps(report.steps, context);
    printProblem(report, context);
    return;
  }
  const { bold } = pc.createColors(context.colour);
  const didNothing = report.steps.every((step) => step.change === 'unchanged' || step.change === 'kept');
  if (didNothing) context.stdout(`${bold('Nothing to remove: self-generation is not installed.')}\n`);
  else if (flags.dryRun) context.stdout(`${bold('Nothing was changed. Uninstall would do this:')}\n`);
  else context.stdout(`${bold('Uninstalled self-generation.')}\n`);
  printSteps(report.steps, context);
  printWarnings(report.warnings, context);
}
