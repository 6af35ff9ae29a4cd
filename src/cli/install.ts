import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { parseClientVersion } from '../clients/claude/setup.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
import { HOOK_MODES, type HookMode } from '../hooks/hook-names.ts';
import type { Config } from '../settings/hook-settings.ts';
import type { SetupStep } from '../setup/file-plan.ts';
import { type InstallReport, install } from '../setup/install.ts';
import type { SetupProblem } from '../setup/manifest.ts';
import { titlesOf } from '../setup/mcp-registration.ts';
import { runCommand } from '../system/run-command.ts';
import { type CliContext, EXIT_FAILED, isKeptFromAgent, newCommand } from './context.ts';
import { lessonCost, lessonQuestion } from './lesson-cost.ts';

type Flags = {
  readonly clientVersion?: string;
  readonly analyse?: 'yes' | 'no';
  readonly lessons?: Config['lessons']['model'];
  readonly wake?: 'on' | 'off';
  readonly hooks?: HookMode;
  readonly mcp?: true | ClientName[];
  readonly dryRun?: true;
  readonly json?: true;
};

const EXAMPLES = `
Examples:
  $ self-generation install                            install, repair or update
  $ self-generation install --dry-run                  show what would be changed
  $ self-generation install --client-version 2.1.328   do not ask "claude --version"
  $ self-generation install --lessons suggest          a model writes lessons once a day; they wait for you
  $ self-generation install --lessons daily            and agents are told those that are proven at once
  $ self-generation install --analyse yes              analyse the log after every session
  $ self-generation install --wake off                 results of background runs wait for your next prompt
  $ self-generation install --hooks=per-call           hand each call to a hook: for a client without transcripts
  $ self-generation install --mcp                      also the MCP server, for background sub-agents
  $ self-generation install --mcp claude codex         with these clients only
  $ CLAUDE_CONFIG_DIR=~/.claude-work self-generation install

Undo with "self-generation uninstall". Exit codes: 0 done, 1 failed, 2 wrong usage.`;

/** `install`: puts the running program into ~/.self-generation and registers its hooks in Claude Code. */
export function installCommand(context: CliContext): Command {
  return newCommand('install', context)
    .description('install the program and register its hooks in Claude Code')
    .option('--client-version <X.Y.Z>', 'the version of Claude Code to register for', readVersion)
    .addOption(
      new Option('--lessons <MODE>', 'whether a model writes lessons of what failed').choices([
        'off',
        'suggest',
        'daily',
      ]),
    )
    .addOption(
      new Option('--analyse <ANSWER>', 'whether a model may be asked after every session').choices([
        'yes',
        'no',
      ]),
    )
    .addOption(
      new Option('--wake <ANSWER>', 'whether the result of a background run wakes the idle session').choices([
        'on',
        'off',
      ]),
    )
    .addOption(
      new Option(
        '--hooks <MODE>',
        'session: read the calls from the transcript; per-call: hand each to a hook (default: as before, else session)',
      ).choices(HOOK_MODES),
    )
    .addOption(
      new Option(
        '--mcp [CLIENTS...]',
        'also register the MCP server: with these clients, or with all that are there',
      ).choices(CLIENT_NAMES),
    )
    .option('--dry-run', 'change nothing, show what would be changed')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      const choice = flags.lessons ?? flags.analyse;
      if (choice !== undefined && isKeptFromAgent('choose what a model does', 'install …', context)) return;
      const asked = stateToAskAbout(flags, context);
      const lessonsModel = await askForLessons(flags, asked, context);
      const wake = flags.wake ?? (asked ? await askForWaking(context) : undefined);
      const report = await install({
        env: context.env,
        platform: context.platform,
        executablePath: context.executablePath,
        isCompiled: context.isCompiled,
        projectDirectory: context.cwd,
        dryRun: flags.dryRun === true,
        ...(flags.analyse === undefined ? {} : { analysisOnSessionEnd: flags.analyse === 'yes' }),
        ...(lessonsModel === undefined ? {} : { lessonsModel }),
        ...(wake === undefined ? {} : { wake }),
        ...(flags.hooks === undefined ? {} : { hooks: flags.hooks }),
        ...(flags.mcp === undefined ? {} : { mcp: flags.mcp === true ? 'all' : flags.mcp }),
        ...(flags.clientVersion === undefined ? {} : { clientVersion: flags.clientVersion }),
        run: runCommand,
        now: context.now,
      });
      if (flags.json) context.stdout(`${JSON.stringify(report, null, 2)}\n`);
      else printReport(report, flags, context);
      if (report.kind === 'failed' || report.mcp.refused.length > 0) context.setExitCode(EXIT_FAILED);
    });
}

/** The state of whoever can be asked and has not decided before. */
function stateToAskAbout({ json, dryRun }: Flags, context: CliContext): StatePaths | undefined {
  const paths = statePaths(context.env, context.platform);
  const isFirst = paths !== undefined && !existsSync(paths.config);
  return isFirst && context.isInteractive && !json && !dryRun ? paths : undefined;
}

async function askForLessons(
  flags: Flags,
  paths: StatePaths | undefined,
  context: CliContext,
): Promise<Flags['lessons']> {
  if (flags.lessons !== undefined || flags.analyse !== undefined || paths === undefined) return flags.lessons;
  return (await context.confirm(lessonQuestion(lessonCost(paths, context)))) ? 'suggest' : 'off';
}

const WAKE_QUESTION =
  'When a background sub-agent has ended and Claude Code waits for you: may its result wake the session at once? Each time ' +
  'is one request to the model with the whole conversation, five at most until you type something. Otherwise the result ' +
  'waits for your next prompt.';

async function askForWaking(context: CliContext): Promise<'on' | 'off'> {
  return (await context.confirm(WAKE_QUESTION)) ? 'on' : 'off';
}

/** `Cannot <action>: <reason>. <advice>` on standard error. */
export function printProblem(problem: SetupProblem, context: CliContext): void {
  const { red } = pc.createColors(context.colour);
  context.stderr(`${red('error:')} Cannot ${problem.action}: ${problem.reason}. ${problem.advice}\n`);
}

/** Warnings go to standard error: the report may be read by a program. */
export function printWarnings(warnings: readonly string[], context: CliContext): void {
  const { yellow } = pc.createColors(context.colour);
  for (const warning of warnings) context.stderr(`${yellow('warning:')} ${warning}\n`);
}

/** One line for each thing that changed, or that was kept on purpose; directories go without saying. */
export function printSteps(steps: readonly SetupStep[], context: CliContext): void {
  const { dim, green } = pc.createColors(context.colour);
  for (const step of steps) {
    if (step.change === 'unchanged' || (step.what === 'directory' && step.note === undefined)) continue;
    const note = step.note === undefined ? '' : dim(` (${step.note})`);
    context.stdout(`  ${green(step.change.padEnd(8))} ${step.path}${note}\n`);
  }
}

function printReport(report: InstallReport, flags: Flags, context: CliContext): void {
  if (report.kind === 'failed') {
    printProblem(report, context);
    return;
  }
  const { bold } = pc.createColors(context.colour);
  if (report.upToDate) {
    context.stdout(`${bold('Already installed, up to date.')}\n`);
  } else {
    const title = flags.dryRun ? 'Nothing was changed. Install would do this:' : 'Installed self-generation.';
    context.stdout(`${bold(title)}\n`);
    printSteps(report.steps, context);
    const hooks = `${report.events.length} hooks${report.hooks === 'per-call' ? ', one for each call,' : ''}`;
    if (!flags.dryRun) {
      context.stdout(`${hooks} run in every new Claude Code session. Check with "self-generation doctor".\n`);
      context.stdout('"self-generation import" learns from the sessions that are there already.\n');
      printServer(report.mcp.registered, context);
    }
  }
  printWarnings(report.warnings, context);
}

function printServer(clients: readonly ClientName[], context: CliContext): void {
  if (clients.length === 0) return;
  context.stdout(`New sessions of ${titlesOf(clients)} have the tools of the MCP server.\n`);
  if (clients.includes('claude')) context.stdout('In Claude Code, /subagents shows and steers them.\n');
}

function readVersion(value: string): string {
  const version = parseClientVersion(value);
  if (version === undefined) throw new InvalidArgumentError('It has to look like 2.1.328.');
  return version;
}
