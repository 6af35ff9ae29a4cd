import { type Command, Option } from 'commander';
import { readProof } from '../benefit/store/read-proof.ts';
import { clientNamed } from '../clients/clients.ts';
import { lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { timeAgo } from '../runs/model/stats.ts';
import { requesterHere } from '../runs/requester.ts';
import { undelivered } from '../runs/store/outbox.ts';
import { readRuns } from '../runs/store/rows.ts';
import { countEverywhere } from '../runs/store/runs.ts';
import { isEnabled } from '../settings/hook-settings.ts';
import { checkTranscripts, countWaiting, readHeartbeats } from '../setup/checks.ts';
import {
  inspectDatabase,
  inspectLearning,
  type LearningState,
  listNewestFixes,
} from '../setup/inspect-store.ts';
import { readInputSoon } from '../system/files.ts';
import { readMembership } from '../team/membership.ts';
import { lastSync } from '../team/sync.ts';
import { activityLines, readActivity } from './bars.ts';
import { type CliContext, type CliState, EXIT, type Given, newCommand, withState } from './context.ts';
import { nextStep } from './next-step.ts';
import { newTable, printJson, shortened, shownLine } from './output.ts';
import { proofLine } from './proof/words.ts';
import { printStatusLine } from './status-line.ts';
import { syncWords } from './team/words.ts';

type Flags = Given<'json' | 'line'>;

const FIXES_SHOWN = 5;
const LEARNING_SHOWN = 5;
const TEXT_LENGTH_MAX = 60;

const EXAMPLES = `
--line prints one short line for the status line of Claude Code, which hands it the session on standard input. It never fails.
In ~/.claude/settings.json:

  "statusLine": { "type": "command", "command": "~/.self-generation/hooks/self-generation status --line" }

Examples:
  $ self-generation status
  $ self-generation status --json
  $ self-generation status --line      3 lessons · 1 run active · 2 suggestions

Exit codes: 0 shown, 1 the database cannot be read, 2 wrong usage.`;

/** `status`: what has been recorded and learned so far. */
export function statusCommand(context: CliContext, readSoon = readInputSoon): Command {
  return newCommand('status', context)
    .description('show what has been recorded and learned')
    .addOption(new Option('--line', 'one line, for the status line of a client').conflicts('json'))
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => {
      if (flags.line) return printStatusLine(context, readSoon);
      return withState(context, 'show the status', (state) => {
        const status = readStatus(state, context);
        if (flags.json) printJson(status, context);
        else printStatus(status, context);
        if (['unreadable', 'damaged'].includes(status.database.kind)) context.setExitCode(EXIT.failed);
      });
    });
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
    retentionDays: config.retentionDays,
    database,
    waiting: countWaiting(paths),
    unread: status === 'ok' ? null : `${detail}. ${remedy}`,
    lastSeen: readHeartbeats(paths),
    runs: readRunCounts(paths, context),
    proof: database.kind === 'sound' ? readProofLine(paths, config, context) : null,
    activity: database.kind === 'sound' ? readActivity(paths, context.now()) : null,
    learning: isReadable ? inspectLearning(paths, LEARNING_SHOWN) : NOTHING_LEARNED,
    newestFixes: database.kind === 'sound' ? listNewestFixes(paths, FIXES_SHOWN) : [],
    team: readTeam(paths, context),
    next: nextStep(database, paths, context),
  };
}

const NOTHING_LEARNED: LearningState = { runs: [], suggestions: {}, given: [] };

/** Whether telling lessons helps, in a line; null where that cannot be read. */
function readProofLine(paths: StatePaths, { proof }: CliState['config'], { now }: CliContext) {
  const asked = { holdOut: proof.holdOut, now: now() };
  return readDatabase(paths, (db) => (db.isOwn ? proofLine(readProof(asked, db)) : null)) ?? null;
}

/** Of which team this user is, and how the last sync went; null without one. */
function readTeam(paths: StatePaths, context: CliContext) {
  const { team } = lookOr(() => readMembership(paths), undefined) ?? {};
  return team === undefined ? null : { team, sync: syncWords(lastSync(paths), context) };
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
  if (status.team !== null) print(`Team "${shownLine(status.team.team)}": ${status.team.sync}`);
  if (database.kind !== 'sound') {
    const unreadable = `${red('The database cannot be read.')} Run "self-generation doctor".`;
    print(database.kind === 'absent' ? 'Nothing recorded yet.' : unreadable);
    printNext(status, context);
    return;
  }
  const { events, calls, projects, knownFixes, openErrors, lastEvent } = database.counts;
  const counts = Object.entries(events).map(([type, count]) => `${count} ${type}`);
  const older = knownFixes > 0 ? '; what older ones taught is kept' : '';
  const none = `none of the last ${counted(status.retentionDays, 'day')}${older}`;
  print(`Events: ${counts.length > 0 ? `${counts.join(', ')} in ${counted(projects, 'project')}` : none}`);
  const others = Object.entries(calls).map(([name, count]) => `${clientNamed(name).title} ${count}`);
  if (others.length > 0) print(`Calls of other clients: ${others.join(', ')}`);
  print(`Lessons: ${knownFixes}, open errors without one: ${openErrors}`);
  for (const line of activityLines(status.activity, context)) print(line);
  if (status.proof !== null) print(`Proof: ${status.proof}`);
  if (lastEvent !== null) print(`Newest event: ${timeAgo(Date.parse(lastEvent), context.now().getTime())}`);
  const shown = status.newestFixes.length;
  const all =
    shown < knownFixes
      ? dim(` (${shown} of ${knownFixes}; all: self-generation lessons --all-projects)`)
      : '';
  if (shown > 0) print(`\nNewest lessons${all}`);
  for (const { error, fix, solved, seen, shown: told } of status.newestFixes) {
    const facts = `failed ${counted(seen, 'time')} · the fix worked ${counted(solved, 'time')} · told ${told}`;
    print(`${shownLine(error)}\n  ${green(shownLine(fix))}\n  ${dim(facts)}`);
  }
  printLearning(status.learning, context);
  printNext(status, context);
}

function printNext({ next }: Status, { stdout, colours }: CliContext): void {
  if (next !== null) stdout(`${colours.bold('Next:')} ${next}.\n`);
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
  const ago = (ts: string) => timeAgo(Date.parse(ts), context.now().getTime());
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
      table.push([ago(run.ts), ...texts, run.costUsd?.toFixed(4) ?? '?']);
    }
    context.stdout(`\nNewest analyses\n${table.toString()}\n`);
  }
  if (given.length > 0) {
    context.stdout('\nWhat sub-agents were given\n');
    for (const { ts, agentType, project, text } of given) {
      const framed = text.split('\n'); // The frame is the same around all of them.
      const lines = text.startsWith('<record ') ? framed.slice(1, -1) : framed;
      const head = `${ago(ts)}  ${shownLine(agentType ?? '?')}  ${shownLine(project)}\n`;
      context.stdout(`${head}${lines.map((line) => `  ${shownLine(line)}\n`).join('')}`);
    }
  }
}
