import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { HoldOut } from '../benefit/model/coin.ts';
import { parseClientVersion } from '../clients/claude/setup.ts';
import { CLIENTS } from '../clients/clients.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import type { Language } from '../core/told-texts.ts';
import { HOOK_MODES, type HookMode } from '../hooks/hooks.ts';
import { leaveWorktree } from '../runs/workspace/worktree.ts';
import { loadConfig } from '../settings/hook-settings.ts';
import { runsWithTrees } from '../setup/background-runs.ts';
import type { ClientChoices } from '../setup/clients/set-up.ts';
import { INSTALL_CLIENTS } from '../setup/clients/table.ts';
import { commandWord, pathLine } from '../setup/command-link.ts';
import type { SetupStep } from '../setup/file-plan.ts';
import { type InstallReport, install } from '../setup/install.ts';
import { locate, type SetupProblem } from '../setup/manifest.ts';
import { titlesOf } from '../setup/mcp-registration.ts';
import { type UninstallReport, uninstall } from '../setup/uninstall.ts';
import { runCommand } from '../system/run-command.ts';
import type { ImportReport } from '../transcripts/import.ts';
import {
  alias,
  type CliContext,
  choice,
  EXIT,
  type Given,
  keepFromAgent,
  newCommand,
  objectionToAgent,
  PROGRAM,
} from './context.ts';
import { importSessions } from './import.ts';
import { printBest } from './import-report.ts';
import { type Asked, askAll, thereWords, transcriptsOf } from './install-questions.ts';
import { printReportJson, shownLine } from './output.ts';

const LESSON_MODES = ['off', 'suggest', 'daily'] as const;

type Flags = Given<'dryRun' | 'json'> & {
  readonly clientVersion?: string;
  readonly analyze?: 'yes' | 'no';
  readonly lessons?: (typeof LESSON_MODES)[number];
  readonly wake?: 'on' | 'off';
  readonly holdOut?: HoldOut;
  readonly language?: Language;
  readonly learn?: boolean;
  readonly link?: boolean;
  readonly hooks?: HookMode;
  readonly mcp?: true | ClientName[];
  readonly trustCodexHooks?: true;
} & ClientChoices;

const EXAMPLES = `
Examples:
  $ self-generation install                            install, repair or update
  $ self-generation install --dry-run                  show what would be changed
  $ self-generation install --learn                    without a question also learn from past sessions
  $ self-generation install --language ko              tell agents in Korean
  $ self-generation install --client-version 2.1.328   do not ask "claude --version"
  $ self-generation install --lessons suggest          a model writes lessons once a day; they wait for you
  $ self-generation install --lessons daily            and agents are told at once those whose commands ran here
  $ self-generation install --analyze yes              analyse the log after every session
  $ self-generation install --hold-out trial           find out whether telling lessons helps
  $ self-generation install --wake off                 results of background runs wait for your next prompt
  $ self-generation install --hooks=per-call           hand each call to a hook: for a client without transcripts
  $ self-generation install --mcp                      also the MCP server, for background sub-agents
  $ self-generation install --mcp claude codex         with these clients only
  $ self-generation install --trust-codex-hooks        approve our hooks of Codex, which you would do there by /hooks
  $ self-generation install --no-opencode              what OpenCode has of ours stays as it is
  $ self-generation install --no-claude --opencode     not Claude Code; OpenCode also where it is not seen
  $ CLAUDE_CONFIG_DIR=~/.claude-work self-generation install

Undo with "self-generation uninstall". Exit codes: 0 done, 1 failed, 2 wrong usage.`;

const HOLD_OUT =
  'how much a coin leaves untold, to see whether telling helps: half at first, a tenth, nothing';

/** `install`: puts the running program into ~/.self-generation and registers its hooks in Claude Code. */
export function installCommand(context: CliContext): Command {
  const hooks =
    'session: read the calls from the transcript; per-call: hand each to a hook (default: as before, else session)';
  const mcp = 'also register the MCP server: with these clients, or with all that are there';
  const wake = 'whether the result of a background run wakes the idle session';
  const command = newCommand('install', context);
  for (const client of INSTALL_CLIENTS) {
    const title = titlesOf([client]);
    command
      .option(`--${client}`, `set ${title} up also where it is not seen (default: where it is there)`)
      .option(`--no-${client}`, `leave ${title} as it is`);
  }
  return command
    .description('install the program and set up the clients that are there')
    .option('--client-version <X.Y.Z>', 'the version of Claude Code to register for', readVersion)
    .addOption(
      choice('--language <NAME>', 'of the texts that agents are told (default: by your locale)', [
        'en',
        'ko',
      ]),
    )
    .option('--learn', 'learn from the sessions that are there, which sends nothing anywhere')
    .option('--no-learn', 'do not, and do not ask')
    .option('--no-link', 'make no link to the program in a directory on the PATH')
    .addOption(choice('--lessons <MODE>', 'whether a model writes lessons of what failed', LESSON_MODES))
    .addOption(
      choice('--analyze <ANSWER>', 'whether a model may be asked after every session', ['yes', 'no']),
    )
    .addOption(alias(choice('--analyse <ANSWER>', '', ['yes', 'no']), 'analyze'))
    .addOption(choice('--wake <ANSWER>', wake, ['on', 'off']))
    .addOption(choice('--hold-out <HOW>', HOLD_OUT, ['trial', 'low', 'off']))
    .addOption(choice('--hooks <MODE>', hooks, HOOK_MODES))
    .addOption(choice('--mcp [CLIENTS...]', mcp, CLIENT_NAMES))
    .option('--trust-codex-hooks', 'approve our hooks of Codex, which it asks you for by /hooks')
    .option('--dry-run', 'change nothing, show what would be changed')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => run(flags, context));
}

async function run(flags: Flags, context: CliContext): Promise<void> {
  const { env, platform, executablePath, isCompiled, cwd, now } = context;
  const choosesModel = flags.lessons !== undefined || flags.analyze !== undefined;
  if (choosesModel) keepFromAgent('choose what a model does', 'install …', context);
  if (flags.holdOut !== undefined)
    keepFromAgent('choose what agents are not told', 'install --hold-out …', context);
  if (flags.trustCodexHooks) keepFromAgent('approve hooks', 'install --trust-codex-hooks', context);
  const paths = statePaths(env, platform);
  const mayAsk = context.isInteractive && !flags.json && !flags.dryRun;
  const { analyze, hooks, mcp, clientVersion, wake, holdOut, learn, link } = flags;
  const said = {
    ...{ wake, holdOut, learn, lessonsModel: flags.lessons },
    language: flags.language && ({ language: flags.language, by: 'user' } as const),
    analysisOnSessionEnd: analyze && analyze === 'yes',
  };
  const nothing = { ...said, learns: false, there: [] };
  const answers = paths === undefined ? nothing : await askAll(said, mayAsk, paths, context);
  const choices = INSTALL_CLIENTS.map((client) => [client, flags[client]] as const);
  const report = await install({
    ...{ env, platform, executablePath, isCompiled, now, run: runCommand, ...answers },
    ...{ projectDirectory: cwd, dryRun: flags.dryRun === true, hooks, clientVersion, link },
    clients: Object.fromEntries(choices.filter(([, choice]) => choice !== undefined)),
    approves: flags.trustCodexHooks ? async () => true : mayAsk ? approver(context) : undefined,
    mcp: mcp === true ? 'all' : mcp,
  });
  if (!flags.json) printReport(report, flags, context);
  const isDone = report.kind === 'done' && paths !== undefined;
  const learned = isDone && answers.learns ? learnNow(answers, flags, paths, context) : undefined;
  if (flags.json) printReportJson({ ...report, ...(learned && { learned }) }, context);
  else if (isDone && !(report.upToDate && !learned))
    printNext(report, { ...answers, learned }, flags, context);
  if (
    report.kind === 'failed' ||
    report.mcp.refused.length > 0 ||
    report.clients.some(({ refused }) => refused)
  )
    context.setExitCode(EXIT.failed);
}

/** An import of all that is there; of a dry run, what that would bring. */
function learnNow(
  { language }: Asked,
  { dryRun }: Flags,
  paths: StatePaths,
  context: CliContext,
): ImportReport {
  const config = loadConfig(paths);
  const shown = dryRun && language ? { ...config, language: language.language } : config;
  const root = transcriptsOf(context);
  const selection = {
    roots: existsSync(root) ? [root] : [],
    isRehearsal: dryRun === true,
    clients: Object.values(CLIENTS),
  };
  return importSessions(selection, { paths, config: shown }, context);
}

/** Asks the user for what Codex would ask: no agent is asked, which may have a terminal as well. */
function approver(context: CliContext): ((hooks: readonly string[]) => Promise<boolean>) | undefined {
  if (objectionToAgent('install', context) !== undefined) return undefined;
  return (hooks) => {
    const list = hooks.map((hook) => `  ${hook}\n`).join('');
    return context.confirm(
      `Codex runs a hook only when you have approved it, there by /hooks, or here and now:\n${list}May it run these?`,
    );
  };
}

/** `Cannot <action>: <reason>. <advice>` on standard error. */
export function printProblem(problem: SetupProblem, context: CliContext): void {
  context.stderr(
    `${context.colours.red('error:')} Cannot ${problem.action}: ${problem.reason.replace(/\.$/, '')}. ${problem.advice}\n`,
  );
}

/** Warnings go to standard error: the report may be read by a program. */
function printWarnings(warnings: readonly string[], context: CliContext): void {
  for (const warning of warnings) context.stderr(`${context.colours.yellow('warning:')} ${warning}\n`);
}

/** One line for each thing that changed, or that was kept on purpose; directories go without saying. */
function printSteps(steps: readonly SetupStep[], context: CliContext): void {
  const { dim, green } = context.colours;
  for (const step of steps) {
    if (step.change === 'unchanged' || (step.what === 'directory' && step.note === undefined)) continue;
    const note = step.note === undefined ? '' : dim(` (${step.note})`);
    context.stdout(`  ${green(step.change.padEnd(8))} ${step.path}${note}\n`);
  }
}

type Done = Extract<InstallReport, { kind: 'done' }>;

function printReport(report: InstallReport, flags: Flags, context: CliContext): void {
  if (report.kind === 'failed') {
    printProblem(report, context);
    return;
  }
  const print = (line: string) => context.stdout(`${line}\n`);
  const { bold } = context.colours;
  const { upToDate, steps, events, plugin, hooks, warnings, mcp } = report;
  if (upToDate) print(bold('Already installed, up to date.'));
  else if (flags.dryRun) print(bold('Nothing was changed. Install would do this:'));
  else print(bold('Installed self-generation.'));
  if (!upToDate) printSteps(steps, context);
  if (!upToDate && !flags.dryRun) {
    const count = `${events.length} hooks${hooks === 'per-call' ? ', one for each call,' : ''}`;
    if (events.length > 0) print(`${count} run in every new Claude Code session.`);
    if (plugin !== undefined)
      print(`The plugin ${plugin} brings hooks and MCP server to Claude Code, so install adds neither.`);
    const others = report.clients.filter(({ isSetUp }) => isSetUp).map(({ client }) => client);
    if (others.length > 0) print(`New sessions of ${titlesOf(others)} have what was learned.`);
    const clients = mcp.registered;
    if (clients.length > 0) print(`New sessions of ${titlesOf(clients)} have the tools of the MCP server.`);
    if (clients.includes('claude')) print('In Claude Code, /subagents shows and steers them.');
  }
  for (const note of report.clients.flatMap(({ notes }) => notes)) print(note);
  printWarnings(warnings, context);
}

type Learning = Pick<Asked, 'there'> & { readonly learned: ImportReport | undefined };

/** What was learned, and what happens next. */
function printNext(
  { command }: Done,
  { learned, there }: Learning,
  { dryRun }: Flags,
  context: CliContext,
): void {
  const { bold } = context.colours;
  const print = (line: string) => context.stdout(`${line}\n`);
  if (learned !== undefined) {
    const sources = [learned.transcripts, ...learned.sessions];
    const sessions = sources.reduce((sum, one) => sum + one.sessions, 0);
    const outcome = `from ${counted(sessions, 'session')}: ${counted(learned.fixes, 'lesson')}.`;
    print(`\n${bold(`${dryRun ? 'It would learn' : 'Learned'} ${outcome}`)}`);
    printBest(learned.best, context);
  }
  const place = locate(context.env, context.platform);
  if (dryRun || place.kind === 'failed') return;
  const program = commandWord(place);
  print(`\n${bold('What happens next')}`);
  if (learned === undefined && there.length > 0) {
    print(`  ${thereWords(there)} can be learned from, which sends nothing anywhere:`);
    print(`    ${program} import`);
  }
  print('  New sessions are learned from, and their sub-agents are told what is known.');
  print(`  See what is known: ${program} lessons --all-projects`);
  print(`  Check that it works: ${program} doctor`);
  if (command.kind === 'missing') {
    print('  To call it by its name, run this line and open a new shell:');
    print(`    ${pathLine(place)}`);
  }
  if (command.kind === 'other')
    print(`  Your shell finds another ${PROGRAM} first: ${shownLine(command.path)}`);
}

function readVersion(value: string): string {
  const version = parseClientVersion(value);
  if (version === undefined) throw new InvalidArgumentError('It has to look like 2.1.328.');
  return version;
}

type UninstallFlags = Given<'purge' | 'yes' | 'dryRun' | 'json'>;

const UNINSTALL_EXAMPLES = `
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
    .addHelpText('after', UNINSTALL_EXAMPLES)
    .action((flags: UninstallFlags) => performUninstall(flags, context));
}

async function performUninstall(flags: UninstallFlags, context: CliContext): Promise<void> {
  const { purge, yes, dryRun, json } = flags;
  // Only what was learned cannot be had again. Where nobody can be asked, the command is the answer.
  const asks = purge && !yes && !dryRun && !json && context.isInteractive;
  if (asks && !(await context.confirm('Remove everything that was learned?'))) {
    context.stderr('Nothing was changed.\n');
    return context.setExitCode(EXIT.failed);
  }
  const report = await takeAway(flags, context);
  if (json) printReportJson(report, context);
  else printUninstall(report, flags, context);
  if (report.kind === 'failed') context.setExitCode(EXIT.failed);
}

/** With purge also the working trees of sub-agents in which nothing would be lost, before their database goes. */
async function takeAway(flags: UninstallFlags, { env, platform }: CliContext): Promise<UninstallReport> {
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

function printUninstall(report: UninstallReport, flags: UninstallFlags, context: CliContext): void {
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
