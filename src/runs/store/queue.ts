/** The lane: of a requester the oldest first, and the requesters take turns, so that no long queue keeps others waiting. One turn of a run at a time. */

import type { Sqlite } from '../../database/sqlite.ts';
import type { Turn } from '../model/turn.ts';
import { ACTIVE_TURNS, type ColumnsOf, IS_ACTIVE, read, readTurn } from './rows.ts';
import type { TurnLiveness } from './turns.ts';

type QueueLimits = { readonly maxConcurrent: number };

/** A turn that has not ended, as far as the lane cares. */
export type QueuedTurn = {
  readonly runId: string;
  readonly number: number;
  /** Its place among all turns that ever were. */
  readonly position: number;
  readonly requester: string;
};

type Queue = {
  /** By their positions. */
  readonly queued: readonly QueuedTurn[];
  readonly busy: readonly QueuedTurn[];
  /** The number of each requester's last start, counted over all; those without one have never had any. */
  readonly lastStarts: ReadonlyMap<string, number>;
};

/** Which turns start now, in this order. */
export function chooseTurns(
  { queued, busy, lastStarts }: Queue,
  { maxConcurrent }: QueueLimits,
): QueuedTurn[] {
  const atWork = new Set(busy.map(({ runId }) => runId));
  const free = queued.filter(({ runId }) => !atWork.has(runId));
  return startOrder({ queued: free, lastStarts }).slice(0, Math.max(0, maxConcurrent - busy.length));
}

/** The order in which all that waits would start, of each run the first, if nothing else came: the place in the queue. */
export function startOrder({ queued, lastStarts }: Omit<Queue, 'busy'>): QueuedTurn[] {
  const seen = new Set<string>();
  const queues = new Map<string, QueuedTurn[]>();
  for (const one of queued) {
    if (seen.has(one.runId)) continue;
    seen.add(one.runId);
    const queue = queues.get(one.requester);
    if (queue === undefined) queues.set(one.requester, [one]);
    else queue.push(one);
  }
  // Whoever has started one is behind all others, so that they take turns from then on.
  const lastStart = ([one]: readonly QueuedTurn[]) => lastStarts.get(one?.requester ?? '') ?? 0;
  const position = ([one]: readonly QueuedTurn[]) => one?.position ?? 0;
  const takingTurns = [...queues.values()].sort(
    (one, other) => lastStart(one) - lastStart(other) || position(one) - position(other),
  );
  const rounds = Math.max(0, ...takingTurns.map(({ length }) => length));
  return Array.from({ length: rounds }, (_none, round) =>
    takingTurns.flatMap((queue) => queue[round] ?? []),
  ).flat();
}

/** The lane in the database: `startOrder` says who starts, here it is written down for all processes. */

const QUEUED_TURN: ColumnsOf<QueuedTurn> = {
  ...{ runId: 'run_id', number: 'number', position: 'position', requester: 'requester' },
};

/** Gives free slots to turns that wait: they are `starting` now, and whoever called has to start their supervisors. */
export function claimTurns(limits: QueueLimits, nowMs: number, db: Sqlite): Turn[] {
  // Most calls find nothing: they need not wait for whoever writes.
  if (db.get(`SELECT 1 FROM turns WHERE ${IS_ACTIVE} AND state = 'queued' LIMIT 1`) === undefined) return [];
  return db.transaction(() =>
    chooseTurns(readQueue(db), limits).flatMap((one) => claim(one, nowMs, db) ?? []),
  );
}

/**
 * Turns that nobody looks after any more, as they were read, for whoever calls to start their supervisors: only those
 * that nobody else has claimed since. Nothing is to be started for the others, nor when this cannot be written.
 */
export function claimOrphans(orphans: readonly TurnLiveness[], nowMs: number, db: Sqlite): Turn[] {
  if (orphans.length === 0) return [];
  return db.transaction(() => orphans.flatMap((one) => claimOrphan(one, nowMs, db) ?? []));
}

function claimOrphan({ runId, number, version }: TurnLiveness, nowMs: number, db: Sqlite): Turn | undefined {
  const row = db.get(
    `UPDATE turns SET owner_pid = NULL, owner_start = NULL, owner_boot = NULL, claimed_at = ?,
       version = version + 1
     WHERE run_id = ? AND number = ? AND version = ? AND ${IS_ACTIVE} RETURNING *`,
    ...[nowMs, runId, number, version],
  );
  return row && readTurn(row);
}

/** Gives a slot back that nobody has begun to use; undefined when somebody has, or the turn is being stopped. */
export function unclaim(turn: Turn, db: Sqlite): Turn | undefined {
  const row = db.get(
    `UPDATE turns SET state = 'queued', claimed_at = NULL, version = version + 1
     WHERE run_id = ? AND number = ? AND version = ? AND kind <> 'announce' AND state = 'starting'
       AND owner_pid IS NULL AND launched_at IS NULL AND stop_reason IS NULL RETURNING *`,
    ...[turn.runId, turn.number, turn.version],
  );
  return row && readTurn(row);
}

/** How many starts from now the run's next turn comes, from 1 on; undefined when none of its turns waits. */
export function queuePosition(runId: string, db: Sqlite): number | undefined {
  const place = startOrder(readQueue(db)).findIndex((one) => one.runId === runId);
  return place < 0 ? undefined : place + 1;
}

function claim(one: QueuedTurn, nowMs: number, db: Sqlite): Turn | undefined {
  db.run(
    `INSERT INTO lane(requester, claims) SELECT ?, COALESCE(MAX(claims), 0) + 1 FROM lane WHERE 1
     ON CONFLICT(requester) DO UPDATE SET claims = excluded.claims`,
    one.requester,
  );
  const row = db.get(
    `UPDATE turns SET state = 'starting', claimed_at = ?, version = version + 1
     WHERE position = ? AND state = 'queued' RETURNING *`,
    nowMs,
    one.position,
  );
  return row && readTurn(row);
}

function readQueue(db: Sqlite): Queue {
  const rows = db.all(
    `SELECT turns.run_id, turns.number, turns.position, turns.state, runs.requester
     FROM ${ACTIVE_TURNS} ORDER BY turns.position`,
  );
  const starts = db.all('SELECT requester, claims FROM lane');
  return {
    queued: rows.filter((row) => row.state === 'queued').map((row) => read(row, QUEUED_TURN)),
    busy: rows.filter((row) => row.state !== 'queued').map((row) => read(row, QUEUED_TURN)),
    lastStarts: new Map(starts.map((row) => [String(row.requester), Number(row.claims)])),
  };
}
