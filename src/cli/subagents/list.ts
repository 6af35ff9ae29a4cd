import pc from 'picocolors';
import { isLive } from '../../core/runs/run.ts';
import { isTerminal } from '../../core/runs/turn.ts';
import { queuePosition } from '../../store/runs/lane.ts';
import { countRuns, listRuns, type RunListing } from '../../store/runs/runs.ts';
import { readRuns } from '../../store/runs/runs-db.ts';
import { printJson } from '../visible.ts';
import { listLine, runJson, visibleLine } from './run-words.ts';
import type { JsonFlag, RunsHere } from './runs-here.ts';

export type ListFlags = JsonFlag & {
  readonly all?: true;
  readonly allProjects?: true;
  readonly limit?: number;
};

const LIMIT_DEFAULT = 50;

type Found = ReturnType<typeof readFound>;

/** `subagents list`: the runs of this project, the newest first. */
export function list(here: RunsHere, flags: ListFlags): void {
  const found = readFound(flags, here);
  if (here.isJson) printList(found, flags, here);
  else here.context.stdout(listText(found, flags, here));
}

function readFound(flags: ListFlags, { requester, world }: RunsHere) {
  const key = flags.allProjects ? undefined : requester.key;
  const filter = {
    requester: key,
    includeArchived: flags.all === true,
    limit: flags.limit ?? LIMIT_DEFAULT,
  };
  const found = readRuns(world.paths, (db) => {
    const runs = listRuns(filter, db).map((listing) => ({
      listing,
      queuePosition:
        listing.waiting > 0 || listing.turn.state === 'queued'
          ? queuePosition(listing.run.id, db)
          : undefined,
    }));
    const active = runs.filter(({ listing }) => isLive(listing)).length;
    const counts = key === undefined ? { active, done: runs.length - active } : countRuns(key, db);
    return { ...counts, runs };
  });
  return found ?? { active: 0, done: 0, runs: [] };
}

function printList(
  { active, done, runs }: Found,
  { allProjects }: ListFlags,
  { context, requester }: RunsHere,
): void {
  const nowMs = context.now().getTime();
  const views = runs.map(({ listing, queuePosition }) => runJson(listing, { queuePosition, nowMs }));
  printJson({ requester: allProjects ? null : requester.key, active, done, runs: views }, context);
}

function listText({ active, done, runs }: Found, { allProjects }: ListFlags, { context }: RunsHere): string {
  const { bold, dim } = pc.createColors(context.colour);
  const nowMs = context.now().getTime();
  if (runs.length === 0 && active + done === 0)
    return allProjects ? '🧭 Subagents: none.\n' : '🧭 Subagents: none for this session.\n';
  const lines = runs.map(({ listing, queuePosition }) => {
    const line = paint(listing, listLine(listing, { queuePosition, nowMs }), context.colour);
    return allProjects ? `${line}\n${dim(`   ${visibleLine(listing.run.requester.key)}`)}` : line;
  });
  const hidden = active + done - runs.length;
  return [
    bold(`🧭 Subagents (${allProjects ? 'all projects' : 'current session'})`),
    `Active: ${active} · Done: ${done}`,
    ...lines,
    ...(hidden > 0 && runs.length > 0 ? [dim(`${hidden} more: --limit ${active + done}`)] : []),
    '',
  ].join('\n');
}

function paint({ turn }: RunListing, line: string, colour: boolean): string {
  const { green, red, yellow } = pc.createColors(colour);
  if (turn.state === 'success') return green(line);
  return isTerminal(turn.state) ? red(line) : yellow(line);
}
