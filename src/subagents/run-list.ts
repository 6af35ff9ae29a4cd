import { isoTime } from '../core/runs/durations.ts';
import { isLive } from '../core/runs/run.ts';
import { runtimeMs } from '../core/runs/turn.ts';
import { queuePosition } from '../store/runs/lane.ts';
import type { RunEvent } from '../store/runs/run-events.ts';
import { countRuns, listRuns, type RunFilter, type RunListing } from '../store/runs/runs.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import type { RunsWorld } from './features.ts';

/** The runs that this lets through, with their places in the queue, and how many there are of the requester's. */
export function readRunList(filter: RunFilter, { paths }: RunsWorld) {
  const found = readRuns(paths, (db) => ({
    ...countRuns(filter.requester, db),
    runs: listRuns(filter, db).map((listing) => ({
      listing,
      queuePosition: isLive(listing) ? queuePosition(listing.run.id, db) : undefined,
    })),
  }));
  return found ?? { active: 0, done: 0, runs: [] };
}

/** What is said of a run in the same words by the commands and over MCP. */
export function runFacts({ run, turn, usage, delivery, waiting }: RunListing, nowMs: number) {
  const { number, sessionId, agentId, client, cleanup, worktree } = run;
  const facts = { number, status: turn.state, sessionId, agentId, client, cleanup, worktree };
  return { ...facts, runtimeMs: runtimeMs(turn, nowMs), usage, delivery, waitingMessages: waiting };
}

/** An event of a run; `safe` makes its text fit to be shown. */
export function eventView({ atMs, actor, type, detail }: RunEvent, safe: (text: string) => string) {
  return { at: isoTime(atMs), actor, type, detail: safe(detail) };
}
