import type { ClientName } from '../../core/client-name.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Sqlite } from '../sqlite.ts';
import { IS_ACTIVE, readTurn } from './run-rows.ts';

/**
 * The lane of sub-agents: who starts next. Of one requester the oldest first; among requesters, whose last start is
 * longest ago, so that a long queue of one does not keep the others waiting. One turn of a run at a time.
 */

export type LaneLimits = {
  readonly maxConcurrent: number;
  readonly maxPerRequester: number;
  readonly maxPerClient: Readonly<Partial<Record<ClientName, number>>>;
};

/** A turn that has not ended, as far as the lane cares. */
export type LaneTurn = {
  readonly runId: string;
  readonly number: number;
  readonly requester: string;
  readonly client: string;
};

export type Lane = {
  /** The oldest first. */
  readonly queued: readonly LaneTurn[];
  readonly busy: readonly LaneTurn[];
  /** The number of each requester's last start; those without one have never had any. */
  readonly lastStarts: ReadonlyMap<string, number>;
};

const NO_LIMITS: LaneLimits = {
  maxConcurrent: Number.POSITIVE_INFINITY,
  maxPerRequester: Number.POSITIVE_INFINITY,
  maxPerClient: {},
};

/** Gives free slots to turns that wait: they are `starting` now, and whoever called has to start their supervisors. */
export function claimTurns(limits: LaneLimits, nowMs: number, db: Sqlite): Turn[] {
  // Most calls find nothing: they need not wait for whoever writes.
  if (db.get(`SELECT 1 FROM turns WHERE ${IS_ACTIVE} AND state = 'queued' LIMIT 1`) === undefined) return [];
  return db.transaction(() =>
    chooseTurns(readLane(db), limits).flatMap((one) => claim(one, nowMs, db) ?? []),
  );
}

/** Gives a slot back that nobody has begun to use; undefined when somebody has. */
export function unclaim(turn: Turn, db: Sqlite): Turn | undefined {
  const row = db.get(
    `UPDATE turns SET state = 'queued', claimed_at = NULL, version = version + 1
     WHERE run_id = ? AND number = ? AND version = ? AND state = 'starting' AND owner_pid IS NULL
       AND launched_at IS NULL AND stop_reason IS NULL RETURNING *`,
    turn.runId,
    turn.number,
    turn.version,
  );
  return row && readTurn(row);
}

/** How many starts from now the run's next turn comes, from 1 on; undefined when none of its turns waits. */
export function queuePosition(runId: string, db: Sqlite): number | undefined {
  const lane = readLane(db);
  const place = chooseTurns({ ...lane, busy: [] }, NO_LIMITS).findIndex((one) => one.runId === runId);
  return place < 0 ? undefined : place + 1;
}

/** Which turns start now, in this order. */
export function chooseTurns({ queued, busy, lastStarts }: Lane, limits: LaneLimits): LaneTurn[] {
  const runs = new Set(busy.map((one) => one.runId));
  const perRequester = countBy(busy, (one) => one.requester);
  const perClient = countBy(busy, (one) => one.client);
  const starts = new Map(lastStarts);
  let start = Math.max(0, ...starts.values());
  const waiting = new Set(queued);
  const chosen: LaneTurn[] = [];
  const mayStart = (one: LaneTurn) =>
    !runs.has(one.runId) &&
    (perRequester.get(one.requester) ?? 0) < limits.maxPerRequester &&
    (perClient.get(one.client) ?? 0) <
      (limits.maxPerClient[one.client as ClientName] ?? Number.POSITIVE_INFINITY);
  while (busy.length + chosen.length < limits.maxConcurrent) {
    let next: LaneTurn | undefined;
    for (const one of waiting) {
      if (!mayStart(one)) continue;
      if (next === undefined || (starts.get(one.requester) ?? 0) < (starts.get(next.requester) ?? 0))
        next = one;
    }
    if (next === undefined) break;
    waiting.delete(next);
    chosen.push(next);
    runs.add(next.runId);
    perRequester.set(next.requester, (perRequester.get(next.requester) ?? 0) + 1);
    perClient.set(next.client, (perClient.get(next.client) ?? 0) + 1);
    start += 1;
    starts.set(next.requester, start);
  }
  return chosen;
}

function claim(one: LaneTurn, nowMs: number, db: Sqlite): Turn | undefined {
  db.run(
    `INSERT INTO lane(requester, claims) SELECT ?, COALESCE(MAX(claims), 0) + 1 FROM lane WHERE 1
     ON CONFLICT(requester) DO UPDATE SET claims = excluded.claims`,
    one.requester,
  );
  const row = db.get(
    `UPDATE turns SET state = 'starting', claimed_at = ?, version = version + 1
     WHERE run_id = ? AND number = ? AND state = 'queued' RETURNING *`,
    nowMs,
    one.runId,
    one.number,
  );
  return row && readTurn(row);
}

function readLane(db: Sqlite): Lane {
  const rows = db.all(
    `SELECT turns.run_id, turns.number, turns.state, runs.requester, runs.client
     FROM turns JOIN runs ON runs.id = turns.run_id WHERE turns.${IS_ACTIVE} ORDER BY turns.position`,
  );
  const queued: LaneTurn[] = [];
  const busy: LaneTurn[] = [];
  for (const row of rows) {
    const one = {
      runId: String(row.run_id),
      number: Number(row.number),
      requester: String(row.requester),
      client: String(row.client),
    };
    (row.state === 'queued' ? queued : busy).push(one);
  }
  const starts = db.all('SELECT requester, claims FROM lane');
  return {
    queued,
    busy,
    lastStarts: new Map(starts.map((row) => [String(row.requester), Number(row.claims)])),
  };
}

function countBy(turns: readonly LaneTurn[], keyOf: (one: LaneTurn) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of turns) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}
