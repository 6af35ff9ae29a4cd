import type { Command } from 'commander';
import pc from 'picocolors';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { requesterHere } from '../runs/requester.ts';
import { undelivered } from '../runs/store/outbox.ts';
import { countEverywhere } from '../runs/store/runs.ts';
import { readRuns } from '../runs/store/runs-db.ts';
import { isEnabled, loadConfig } from '../settings/load-hook-settings.ts';

import { checkTranscripts, countWaiting, type Finding, readHeartbeats } from '../setup/checks.ts';
import {
  type DatabaseState,
  inspectDatabase,
  inspectLearning,
  type KnownFix,
  type LearningState,
  listNewestFixes,
} from '../setup/inspect-store.ts';
import { type CliContext, EXIT_FAILED, fail, NO_HOME, newCommand } from './context.ts';
import { newTable, shortened, shownJson, shownLine } from './output.ts';

type Flags = { readonly json?: true };

type Status = {
  readonly home: string;
  readonly enabled: boolean;
  readonly database: DatabaseState;
  readonly waiting: number;
  /** Which sessions' transcripts could not be read, and what to do; null mostly. */
  readonly unread: string | null;
  readonly lastSeen: Readonly<Record<string, string | null>>;
  readonly newestFixes: readonly KnownFix[];
  readonly learning: LearningState;
  readonly runs: RunCounts | null;
};

/** Of background runs; `undeliveredHere`: the results of this project that nobody has taken in. */
type RunCounts = ReturnType<typeof countEverywhere> & { readonly undeliveredHere: number };

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
    .action((flags: Flags) => {
      const status = readStatus(context);
      if (status === undefined) {
        fail(context, EXIT_FAILED, `show the status: ${NO_HOME}`);
        return;
      }
      if (flags.json) context.stdout(shownJson(status));
      else printStatus(status, context);
      if (status.database.kind === 'unreadable' || status.database.kind === 'damaged')
        context.setExitCode(EXIT_FAILED);
    });
}

function readStatus(context: CliContext): Status | undefined {
  const paths = statePaths(context.env, context.platform);
  if (paths === undefined) return undefined;
  const database = inspectDatabase(paths);
  return {
    home: paths.home,
    enabled: isEnabled(loadConfig(paths)),
    database,
    waiting: countWaiting(paths),
    unread: unreadIn(checkTranscripts({ paths, now: context.now() })),
    lastSeen: readHeartbeats(paths),
    runs: readRunCounts(paths, context),
    learning: isReadable(database) ? inspectLearning(paths, LEARNING_SHOWN) : NOTHING_LEARNED,
    newestFixes: database.kind === 'sound' ? listNewestFixes(paths, FIXES_SHOWN) : [],
  };
}

/** Null where there was never a run, or what is known of them cannot be read, of which doctor tells more. */
function readRunCounts(paths: StatePaths, context: CliContext): RunCounts | null {
  try {
    const { key } = requesterHere(context);
    const counts = readRuns(paths, (db) => ({
      ...countEverywhere(db),
      undeliveredHere: undelivered(key, db),
    }));
    return counts ?? null;
  } catch {
    return null;
  }
}

function unreadIn({ status, detail, remedy }: Finding): string | null {
  return status === 'ok' ? null : `${detail}. ${remedy ?? ''}`;
}

const NOTHING_LEARNED: LearningState = { runs: [], suggestions: {}, given: [] };

function isReadable({ kind }: DatabaseState): boolean {
  return kind === 'sound' || kind === 'absent';
}

function printStatus(status: Status, context: CliContext): void {
  const { bold, dim, green, red, yellow } = pc.createColors(context.colour);
  const print = (text: string) => context.stdout(`${text}\n`);
  print(
    `${bold('self-generation')} ${status.enabled ? green('on') : yellow('off (enabled: false)')}  ${dim(status.home)}`,
  );
  if (status.waiting > 0) print(yellow(`${counted(status.waiting, 'recording')} waiting for the database`));
  if (status.unread !== null) print(yellow(sentence(status.unread)));
  if (status.runs !== null) print(runLines(status.runs));
  switch (status.database.kind) {
    case 'absent':
      print('Nothing recorded yet.');
      return;
    case 'unreadable':
    case 'damaged':
      print(`${red('The database cannot be read.')} Run "self-generation doctor".`);
      return;
    case 'sound':
      printCounts(status.database, print);
  }
  if (status.newestFixes.length > 0) printFixes(status.newestFixes, context);
  printLearning(status.learning, context);
}

/** How background runs stand, and what to do next. */
function runLines({ active, waiting, undelivered, undeliveredHere }: RunCounts): string {
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

function printCounts(
  { counts }: Extract<DatabaseState, { kind: 'sound' }>,
  print: (text: string) => void,
): void {
  const events = Object.entries(counts.events).map(([type, count]) => `${count} ${type}`);
  print(`Events: ${events.join(', ') || 'none'} in ${counted(counts.projects, 'project')}`);
  print(`Lessons: ${counts.knownFixes}, open errors without one: ${counts.openErrors}`);
  if (counts.lastEvent !== null) print(`Newest event: ${counts.lastEvent}`);
}

/** Whole, and one below the other: somebody may want to copy a command. */
function printFixes(fixes: readonly KnownFix[], context: CliContext): void {
  const { dim, green } = pc.createColors(context.colour);
  context.stdout('\nLessons\n');
  for (const { error, fix, solved, seen, shown } of fixes) {
    const facts = `helped ${counted(solved, 'time')} · seen ${seen} · told ${shown}`;
    context.stdout(`${shownLine(error)}\n  ${green(shownLine(fix))}\n  ${dim(facts)}\n`);
  }
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
      table.push([
        run.ts.slice(0, 16),
        shortened(run.project, TEXT_LENGTH_MAX),
        shortened(client, TEXT_LENGTH_MAX),
        shortened(result, TEXT_LENGTH_MAX),
        run.costUsd?.toFixed(4) ?? '?',
      ]);
    }
    context.stdout(`\nNewest analyses\n${table.toString()}\n`);
  }
  if (given.length > 0) {
    context.stdout('\nWhat sub-agents were given\n');
    for (const { ts, agentType, project, text } of given) {
      const lines = withoutFrame(text).map((line) => `  ${shownLine(line)}\n`);
      const head = `${ts.slice(0, 19)}  ${shownLine(agentType ?? '?')}  ${shownLine(project)}\n`;
      context.stdout(`${head}${lines.join('')}`);
    }
  }
}

/** The frame is the same around all of them. */
function withoutFrame(text: string): string[] {
  const lines = text.split('\n');
  return text.startsWith('<record ') ? lines.slice(1, -1) : lines;
}

function sentence(text: string): string {
  const line = shownLine(text);
  return line.charAt(0).toUpperCase() + line.slice(1);
}
