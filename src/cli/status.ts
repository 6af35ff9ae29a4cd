import type { Command } from 'commander';
import { readProof } from '../benefit/store/read-proof.ts';
import { clientNamed } from '../clients/clients.ts';
import { lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { requesterHere } from '../runs/requester.ts';
import { undelivered } from '../runs/store/outbox.ts';
import { readRuns } from '../runs/store/rows.ts';
import { countEverywhere } from '../runs/store/runs.ts';
import { isEnabled } from '../settings/hook-settings.ts';
import { checkTranscripts, countWaiting, readHeartbeats } from '../setup/checks.ts';
import { type Check, examine } from '../setup/doctor.ts';
import {
  inspectDatabase,
  inspectLearning,
  type LearningState,
  listNewestFixes,
} from '../setup/inspect-store.ts';
import { runCommand } from '../system/run-command.ts';
import { activityLines, readActivity } from './bars.ts';
import { type CliContext, type CliState, EXIT, newCommand, withState } from './context.ts';
import { newTable, printJson, shortened, shownLine, shownText } from './output.ts';
import { proofLine } from './proof/words.ts';

type Flags = { readonly json?: true };

const FIXES_SHOWN = 5;
const LEARNING_SHOWN = 5;
const TEXT_LENGTH_MAX = 60;

const EXAMPLES = `
Examples:
  $ self-generation status
  $ self-generation status --json

Exit codes: 0 shown, 1 the database cannot be read, 2 wrong usage.`;

/** `status`: what has been recorded and learned so far. */
export function statusCommand(context: CliContext): Command {
  return newCommand('status', context)
    .description('show what has been recorded and learned')
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) =>
      withState(context, 'show the status', (state) => {
        const status = readStatus(state, context);
        if (flags.json) printJson(status, context);
        else printStatus(status, context);
        if (['unreadable', 'damaged'].includes(status.database.kind)) context.setExitCode(EXIT.failed);
      }),
    );
}

type Status = ReturnType<typeof readStatus>;

/** `unread`: which sessions' transcripts could not be read, and what to do; null mostly. */
function readStatus({ paths, config }: CliState, context: CliContext) {
  const database = inspectDatabase(paths);
  const { status, detail, remedy = '' } = checkTranscripts({ paths, now: context.now() });
  const isReadable = database.kind === 'sound' || database.kind === 'absent';
  return {
    home: paths.home,
    enabled: isEnabled(config),
    database,
    waiting: countWaiting(paths),
    unread: status === 'ok' ? null : `${detail}. ${remedy}`,
    lastSeen: readHeartbeats(paths),
    runs: readRunCounts(paths, context),
    proof: database.kind === 'sound' ? readProofLine(paths, config, context) : null,
    activity: database.kind === 'sound' ? readActivity(paths, context.now()) : null,
    learning: isReadable ? inspectLearning(paths, LEARNING_SHOWN) : NOTHING_LEARNED,
    newestFixes: database.kind === 'sound' ? listNewestFixes(paths, FIXES_SHOWN) : [],
  };
}

const NOTHING_LEARNED: LearningState = { runs: [], suggestions: {}, given: [] };

/** Whether telling lessons helps, in a line; null where that cannot be read. */
function readProofLine(paths: StatePaths, { proof }: CliState['config'], { now }: CliContext) {
  const asked = { holdOut: proof.holdOut, now: now() };
  return readDatabase(paths, (db) => (db.isOwn ? proofLine(readProof(asked, db)) : null)) ?? null;
}

/** Null where there was never a run, or what is known of them cannot be read, of which doctor tells more. */
function readRunCounts(paths: StatePaths, context: CliContext) {
  /** `undeliveredHere`: the results of this project that nobody has taken in. */
  const count = (db: Sqlite) => ({
    ...countEverywhere(db),
    undeliveredHere: undelivered(requesterHere(context).key, db),
  });
  return lookOr(() => readRuns(paths, count), undefined) ?? null;
}

function printStatus(status: Status, context: CliContext): void {
  const { bold, dim, green, red, yellow } = context.colours;
  const print = (text: string) => context.stdout(`${text}\n`);
  const { database, home, waiting, unread, runs } = status;
  const state = status.enabled ? green('on') : yellow('off (enabled: false)');
  print(`${bold('self-generation')} ${state}  ${dim(home)}`);
  if (waiting > 0) print(yellow(`${counted(waiting, 'recording')} waiting for the database`));
  if (unread !== null) print(yellow(shownLine(unread).replace(/^./, (first) => first.toUpperCase())));
  if (runs !== null) print(runLines(runs));
  if (database.kind !== 'sound') {
    const unreadable = `${red('The database cannot be read.')} Run "self-generation doctor".`;
    print(database.kind === 'absent' ? 'Nothing recorded yet.' : unreadable);
    return;
  }
  const { events, calls, projects, knownFixes, openErrors, lastEvent } = database.counts;
  const counts = Object.entries(events).map(([type, count]) => `${count} ${type}`);
  print(`Events: ${counts.join(', ') || 'none'} in ${counted(projects, 'project')}`);
  const others = Object.entries(calls).map(([name, count]) => `${clientNamed(name).title} ${count}`);
  if (others.length > 0) print(`Calls of other clients: ${others.join(', ')}`);
  print(`Lessons: ${knownFixes}, open errors without one: ${openErrors}`);
  for (const line of activityLines(status.activity, context)) print(line);
  if (status.proof !== null) print(`Proof: ${status.proof}`);
  if (lastEvent !== null) print(`Newest event: ${lastEvent}`);
  if (status.newestFixes.length > 0) print('\nLessons');
  for (const { error, fix, solved, seen, shown } of status.newestFixes) {
    const facts = `helped ${counted(solved, 'time')} · seen ${seen} · told ${shown}`;
    print(`${shownLine(error)}\n  ${green(shownLine(fix))}\n  ${dim(facts)}`);
  }
  printLearning(status.learning, context);
}

/** How background runs stand, and what to do next. */
function runLines({ active, waiting, undelivered, undeliveredHere }: NonNullable<Status['runs']>): string {
  const facts = [
    waiting > 0 ? `${active} active (${waiting} waiting)` : `${active} active`,
    `${counted(undelivered, 'result')} not read${undeliveredHere > 0 ? ` (${undeliveredHere} here)` : ''}`,
  ];
  const next = {
    none: '',
    list: '\n  See "self-generation subagents list --all-projects".',
    inbox: `\n  Read with "self-generation subagents inbox"${undeliveredHere > 0 ? '' : ' in the project of each'}.`,
  };
  const step = undelivered > 0 ? 'inbox' : active > 0 ? 'list' : 'none';
  return `Sub-agents: ${facts.join(', ')}${next[step]}`;
}

/** What the analyses cost and proposed, and which sub-agent was given what. */
function printLearning({ runs, suggestions, given }: LearningState, context: CliContext): void {
  const waiting = (suggestions.new ?? 0) + (suggestions.shown ?? 0);
  if (waiting > 0) {
    const see = 'See "self-generation suggestions".';
    context.stdout(`\n${counted(waiting, 'suggestion')} waiting for your decision. ${see}\n`);
  }
  if (runs.length > 0) {
    const table = newTable(['analysis', 'project', 'with', 'result', 'USD'], context);
    for (const run of runs) {
      const proposed = run.suggestionCount === null ? '' : counted(run.suggestionCount, 'suggestion');
      const result = run.status === 'done' ? proposed : `${run.status}${run.reason ? `: ${run.reason}` : ''}`;
      const client = run.model === null ? run.cli : `${run.cli} ${run.model}`;
      const texts = [run.project, client, result].map((text) => shortened(text, TEXT_LENGTH_MAX));
      table.push([run.ts.slice(0, 16), ...texts, run.costUsd?.toFixed(4) ?? '?']);
    }
    context.stdout(`\nNewest analyses\n${table.toString()}\n`);
  }
  if (given.length > 0) {
    context.stdout('\nWhat sub-agents were given\n');
    for (const { ts, agentType, project, text } of given) {
      const framed = text.split('\n'); // The frame is the same around all of them.
      const lines = text.startsWith('<record ') ? framed.slice(1, -1) : framed;
      const head = `${ts.slice(0, 19)}  ${shownLine(agentType ?? '?')}  ${shownLine(project)}\n`;
      context.stdout(`${head}${lines.map((line) => `  ${shownLine(line)}\n`).join('')}`);
    }
  }
}

type DoctorFlags = { readonly live?: true; readonly json?: true };

const DOCTOR_EXAMPLES = `
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
    .addHelpText('after', DOCTOR_EXAMPLES)
    .action(async (flags: DoctorFlags) => {
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
      if (checks.some((check) => check.status === 'failed')) context.setExitCode(EXIT.failed);
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
