import { setTimeout as sleep } from 'node:timers/promises';
import type { StatePaths } from '../../core/state-paths.ts';
import { formatDuration, formatUsd, timeAgo } from '../../runs/model/stats.ts';
import { isTerminal, runtimeMs } from '../../runs/model/turn.ts';
import { readRunList } from '../../runs/read-log.ts';
import { reconcileAndArchive } from '../../runs/reconcile.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { type CliContext, EXIT, type Given, limitUpTo } from '../context.ts';
import { cutToWidth } from '../terminal/width.ts';
import {
  answer,
  complain,
  hidesFailure,
  keepsWorktree,
  nameOf,
  type RunsHere,
  runJson,
  type SubagentsCommand,
  shortId,
  stateWords,
  visibleLine,
  writtenAtMs,
} from './runs-here.ts';

type ListFlags = Given<'all' | 'allProjects' | 'parts' | 'watch' | 'json'> & Given<'limit', number>;

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100_000;
const ROWS_DEFAULT = 24;
const WATCH_INTERVAL_MS = 1000;
/** Of a terminal that is watched: the heading, the counts, what is not shown, and where the cursor stands. */
const ROWS_BESIDE = 4;
const LABEL_COLUMN = 2;
const LABEL_WIDTH_MIN = 8;
const GAP = '  ';

/** `subagents list`: the runs of this project, the newest first. */
export const list: SubagentsCommand = {
  name: 'list',
  does: 'list the sub-agents',
  description: 'list the runs of this project',
  calls: ['', '--watch', '--all --limit 200'],
  define: (command) =>
    command
      .option('--all', 'also archived runs')
      .option('--parts', 'also what conversations and orchestrations consist of')
      .option('--all-projects', 'the runs of every project')
      .option('--limit <N>', `how many at most (${LIMIT_DEFAULT})`, limitUpTo(LIMIT_MAX))
      .option('--watch', 'draw it again each second, as long as a run is active'),
  act: show,
};

async function show(here: RunsHere, flags: ListFlags): Promise<void> {
  if (flags.watch) return watch(here, flags);
  const found = readFound(flags, here);
  const nowMs = here.context.now().getTime();
  const runs = found.runs.map(({ listing, queuePosition }) => runJson(listing, { queuePosition, nowMs }));
  const requester = flags.allProjects ? null : here.requester.key;
  answer({ requester, ...found, runs }, `${listLines(found, flags, here).join('\n')}\n`, here);
}

/** Draws the list over itself each second, as long as a run is active. */
async function watch(here: RunsHere, flags: ListFlags): Promise<void> {
  const { context, world } = here;
  if (context.screen() === undefined || here.isJson) {
    const reason = 'standard output is no terminal, or JSON was asked for';
    const instead = '"self-generation subagents wait all" waits, "list --json" shows how things stand now';
    return complain(`Cannot watch the list: ${reason}: ${instead}.`, EXIT.usage, here);
  }
  for (let drawn = 0; ; ) {
    const rows = (context.screen()?.rows || ROWS_DEFAULT) - ROWS_BESIDE;
    const limit = Math.max(1, Math.floor(rows / (flags.allProjects ? 2 : 1)));
    const found = readFound({ ...flags, limit: Math.min(limit, flags.limit ?? LIMIT_DEFAULT) }, here);
    const lines = listLines(found, flags, here);
    context.verbatim(`${drawn === 0 ? '' : `\x1b[${drawn}A\x1b[J`}${lines.join('\n')}\n`);
    drawn = lines.length;
    if (found.active === 0) return;
    await sleep(WATCH_INTERVAL_MS);
    reconcileAndArchive(world);
  }
}

function readFound(flags: ListFlags, { requester, world }: RunsHere) {
  const { all, allProjects, parts, limit = LIMIT_DEFAULT } = flags;
  const key = allProjects ? undefined : requester.key;
  return readRunList({ requester: key, includeArchived: all, includeParts: parts, limit }, world);
}

type Found = ReturnType<typeof readFound>;

function listLines(found: Found, { allProjects }: ListFlags, { context, world }: RunsHere): string[] {
  const { active, done, runs } = found;
  const { bold, dim } = context.colours;
  if (runs.length === 0 && active + done === 0)
    return [`🧭 Subagents: none${allProjects ? '' : ' in this project'}.`];
  // What is read from a pipe has whole lines, as tables have.
  const columns = context.screen()?.columns || Number.POSITIVE_INFINITY;
  const nowMs = context.now().getTime();
  const cells = runs.map(({ listing, queuePosition }) => [
    // Numbers are unique in one project only.
    allProjects ? `id:${shortId(listing.run.id)}` : `${listing.run.number})`,
    stateWords(listing, queuePosition),
    ...cellsOf(listing, nowMs, world.paths),
  ]);
  const lines = aligned(cells, columns).flatMap((line, index) => {
    const listing = runs[index]?.listing;
    if (listing === undefined) return [];
    const project = cutToWidth(`   ${visibleLine(listing.run.requester.key)}`, columns);
    return [paint(listing, context)(line), ...(allProjects ? [dim(project)] : [])];
  });
  const hidden = active + done - runs.length;
  return [
    bold(`🧭 Subagents (${allProjects ? 'all projects' : 'this project'})`),
    `Active: ${active} · Done: ${done}`,
    ...lines,
    ...(hidden > 0 && runs.length > 0 ? [dim(`${hidden} more: --limit ${active + done}`)] : []),
  ];
}

/** What it is called, how long it took or waits, when it last did something, what it cost, and what is left to be done. */
function cellsOf(listing: RunListing, nowMs: number, paths: StatePaths): string[] {
  const { run, turn, usage, delivery } = listing;
  const left = [
    ...(delivery === 'pending' || delivery === 'leased' ? ['undelivered'] : []),
    ...(hidesFailure(listing) ? ['announce skipped'] : []),
    ...(keepsWorktree(listing) ? ['worktree'] : []),
    ...(run.archivedAtMs === null ? [] : ['archived']),
    ...(run.part === null ? [] : [`${run.part.kind} ${run.part.name}`]),
  ];
  return [
    nameOf(run),
    isTerminal(turn.state) || turn.startedAtMs !== null
      ? formatDuration(runtimeMs(turn, nowMs))
      : timeAgo(run.createdAtMs, nowMs),
    activityWords(listing, nowMs, paths),
    usage.costUsd === null ? 'cost n/a' : formatUsd(usage.costUsd),
    left.join(', '),
  ];
}

function activityWords({ turn }: RunListing, nowMs: number, paths: StatePaths): string {
  if (turn.endedAtMs !== null) return `ended ${timeAgo(turn.endedAtMs, nowMs)}`;
  if (turn.startedAtMs === null) return '';
  return `active ${timeAgo(writtenAtMs(turn, paths) ?? turn.startedAtMs, nowMs)}`;
}

/** Lines of cells below one another; what is too much for the terminal is taken from the label. */
function aligned(rows: readonly (readonly string[])[], columns: number): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, Bun.stringWidth(cell));
  const used = widths.filter((width) => width > 0);
  const tooMuch = used.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - columns;
  const label = widths[LABEL_COLUMN] ?? 0;
  if (tooMuch > 0) widths[LABEL_COLUMN] = Math.max(Math.min(label, LABEL_WIDTH_MIN), label - tooMuch);
  return rows.map((row) => {
    const cells = row.flatMap((cell, at) => {
      const width = widths[at] ?? 0;
      const cut = cutToWidth(cell, width);
      return width === 0 ? [] : [cut + ' '.repeat(Math.max(0, width - Bun.stringWidth(cut)))];
    });
    return cutToWidth(cells.join(GAP).trimEnd(), columns);
  });
}

function paint({ turn: { state } }: RunListing, { colours }: CliContext) {
  return state === 'success' ? colours.green : isTerminal(state) ? colours.red : colours.yellow;
}
