import {
  chooseTurns,
  type Lane,
  type LaneLimits,
  type LaneTurn,
  startOrder,
} from '../../core/runs/lane-order.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Sqlite } from '../sqlite.ts';
import { ACTIVE_TURNS, type ColumnsOf, IS_ACTIVE, read, readTurn } from './run-rows.ts';
import type { Watch } from './turns.ts';

/** The lane in the database: core/runs/lane-order.ts says who starts, here it is written down for all processes. */

const LANE_TURN: ColumnsOf<LaneTurn> = {
  ...{ runId: 'run_id', number: 'number', position: 'position', requester: 'requester' },
};

/** Gives free slots to turns that wait: they are `starting` now, and whoever called has to start their supervisors. */
export function claimTurns(limits: LaneLimits, nowMs: number, db: Sqlite): Turn[] {
  // Most calls find nothing: they need not wait for whoever writes.
  if (db.get(`SELECT 1 FROM turns WHERE ${IS_ACTIVE} AND state = 'queued' LIMIT 1`) === undefined) return [];
  return db.transaction(() =>
    chooseTurns(readLane(db), limits).flatMap((one) => claim(one, nowMs, db) ?? []),
  );
}

/**
 * Turns that nobody looks after any more, as they were read, for whoever calls to start their supervisors: only those
 * that nobody else has claimed since. Nothing is to be started for the others, nor when this cannot be written.
 */
export function claimOrphans(orphans: readonly Watch[], nowMs: number, db: Sqlite): Turn[] {
  if (orphans.length === 0) return [];
  return db.transaction(() => orphans.flatMap((one) => claimOrphan(one, nowMs, db) ?? []));
}

function claimOrphan({ runId, number, version }: Watch, nowMs: number, db: Sqlite): Turn | undefined {
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
  const place = startOrder(readLane(db)).findIndex((one) => one.runId === runId);
  return place < 0 ? undefined : place + 1;
}

function claim(one: LaneTurn, nowMs: number, db: Sqlite): Turn | undefined {
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

function readLane(db: Sqlite): Lane {
  const rows = db.all(
    `SELECT turns.run_id, turns.number, turns.position, turns.state, runs.requester
     FROM ${ACTIVE_TURNS} ORDER BY turns.position`,
  );
  const starts = db.all('SELECT requester, claims FROM lane');
  return {
    queued: rows.filter((row) => row.state === 'queued').map((row) => read(row, LANE_TURN)),
    busy: rows.filter((row) => row.state !== 'queued').map((row) => read(row, LANE_TURN)),
    lastStarts: new Map(starts.map((row) => [String(row.requester), Number(row.claims)])),
  };
}
