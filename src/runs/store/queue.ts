/** The queue: the oldest turn of a requester first, the requesters one after another, and one turn of a line at a time. */

import type { Row, Sqlite } from '../../database/sqlite.ts';
import type { ProcessIdentity } from '../../system/process-identity.ts';
import { isSession, lineOf } from '../model/part.ts';
import type { Turn } from '../model/turn.ts';
import { partRuns } from './parts.ts';
import { ACTIVE_TURNS, type ColumnsOf, IS_ACTIVE, OWNER, partIn, read, readTurn } from './rows.ts';
import type { TurnLiveness } from './turns.ts';

type QueueLimits = { readonly maxConcurrent: number };

/** So many runs may wait for other machines at once, each with a process that does. They take no slot here. */
const AWAY_MAX = 32;

/** What the queue needs of a turn that has not ended. */
export type QueuedTurn = {
  readonly runId: string;
  readonly number: number;
  /** Its place among all turns that there ever were. */
  readonly position: number;
  readonly requester: string;
  /** The key with which its run asks for others. */
  readonly childKey: string;
  /** One turn of a line is at work at a time. */
  readonly line: string;
  /** It waits for the end of an orchestration that somebody carries on. */
  readonly isHeld: boolean;
  /** Its client works on another machine. */
  readonly isAway: boolean;
};

type Queue = {
  /** In the order in which those of one line start. */
  readonly queued: readonly QueuedTurn[];
  readonly busy: readonly QueuedTurn[];
  /** The number of each requester's last start, counted over all requesters. */
  readonly lastStarts: ReadonlyMap<string, number>;
};

/** Which turns start now, in this order. A run that has asked for others lends its slot to one of them, so that they do not wait for it. */
export function chooseTurns(
  { queued, busy, lastStarts }: Queue,
  { maxConcurrent }: QueueLimits,
): QueuedTurn[] {
  const atWork = new Set(busy.map(({ line }) => line));
  const free = queued.filter(({ line, isHeld }) => !isHeld && !atWork.has(line));
  const parents = new Set(busy.map(({ childKey }) => childKey));
  const lent = new Set(busy.map(({ requester }) => requester).filter((key) => parents.has(key)));
  const away = busy.filter(({ isAway }) => isAway).length;
  let slots = maxConcurrent - (busy.length - away - lent.size);
  let slotsAway = AWAY_MAX - away;
  return startOrder({ queued: free, lastStarts }).filter(({ requester, isAway }) => {
    if (isAway) return slotsAway-- > 0;
    if (parents.has(requester) && !lent.has(requester)) return lent.add(requester);
    return slots-- > 0;
  });
}

/** The order in which the first queued turn of each line would start if nothing else came. */
function startOrder({ queued, lastStarts }: Omit<Queue, 'busy'>): QueuedTurn[] {
  const seen = new Set<string>();
  const firsts = queued.filter(({ line }) => !seen.has(line) && seen.add(line));
  const requesters = new Set(firsts.map(({ requester }) => requester));
  const queues = [...requesters].map((name) => firsts.filter(({ requester }) => requester === name));
  // The requester that started last comes last.
  const lastStart = ([one]: readonly QueuedTurn[]) => lastStarts.get(one?.requester ?? '') ?? 0;
  const position = ([one]: readonly QueuedTurn[]) => one?.position ?? 0;
  const inTurn = queues.sort(
    (one, other) => lastStart(one) - lastStart(other) || position(one) - position(other),
  );
  const rounds = Math.max(0, ...inTurn.map(({ length }) => length));
  return Array.from({ length: rounds }, (_none, round) =>
    inTurn.flatMap((queue) => queue[round] ?? []),
  ).flat();
}

const QUEUED_TURN: ColumnsOf<Omit<QueuedTurn, 'line' | 'isHeld' | 'isAway'>> = {
  ...{ runId: 'run_id', number: 'number', position: 'position' },
  ...{ requester: 'requester', childKey: 'child_key' },
};

/** Gives free slots to queued turns: they are `starting` now, and the caller has to start their supervisors. */
export function claimTurns(limits: QueueLimits, nowMs: number, db: Sqlite): Turn[] {
  // Most calls find nothing, and need no write lock.
  if (db.get(`SELECT 1 FROM turns WHERE ${IS_ACTIVE} AND state = 'queued' LIMIT 1`) === undefined) return [];
  return db.transaction(() =>
    chooseTurns(readQueue(db), limits).flatMap((one) => claim(one, nowMs, db) ?? []),
  );
}

/** Claims turns without a living supervisor; returns those that no other process has claimed since, which the caller has to start. */
export function claimOrphans(orphans: readonly TurnLiveness[], nowMs: number, db: Sqlite): Turn[] {
  if (orphans.length === 0) return [];
  return db.transaction(() =>
    orphans.flatMap(({ runId, number, version }) => {
      const row = db.get(
        `UPDATE turns SET owner_pid = NULL, owner_start = NULL, owner_boot = NULL, claimed_at = ?,
           version = version + 1
         WHERE run_id = ? AND number = ? AND version = ? AND ${IS_ACTIVE} RETURNING *`,
        ...[nowMs, runId, number, version],
      );
      return row === undefined ? [] : readTurn(row);
    }),
  );
}

/** Gives back a slot that no supervisor uses yet; undefined when one does, or the turn is being stopped. */
export function unclaim(turn: Turn, db: Sqlite): Turn | undefined {
  const row = db.get(
    `UPDATE turns SET state = 'queued', claimed_at = NULL, version = version + 1
     WHERE run_id = ? AND number = ? AND version = ? AND kind <> 'announce' AND state = 'starting'
       AND owner_pid IS NULL AND launched_at IS NULL AND stop_reason IS NULL RETURNING *`,
    ...[turn.runId, turn.number, turn.version],
  );
  return row && readTurn(row);
}

/** The place of the run's line in the queue, from 1 on; undefined when none of its turns is queued. */
export function queuePosition(runId: string, db: Sqlite): number | undefined {
  const queue = readQueue(db);
  const own = queue.queued.find((one) => one.runId === runId);
  const place = startOrder(queue).findIndex(({ line }) => line === own?.line);
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
    `SELECT turns.run_id, turns.number, turns.position, turns.state, runs.requester, runs.child_key, runs.part,
       runs.pool ->> 'kind' AS pool_kind
     FROM ${ACTIVE_TURNS} ORDER BY turns.ahead DESC, turns.position`,
  );
  const starts = db.all('SELECT requester, claims FROM lane');
  const held = new Set(orchestrationOwners(db).map(({ requester }) => requester));
  const place = (row: Row) => queuedTurn(row, held);
  return {
    queued: rows.filter((row) => row.state === 'queued').map(place),
    busy: rows.filter((row) => row.state !== 'queued').map(place),
    lastStarts: new Map(starts.map((row) => [String(row.requester), Number(row.claims)])),
  };
}

function queuedTurn(row: Row, held: ReadonlySet<string>): QueuedTurn {
  const [turn, part] = [read(row, QUEUED_TURN), partIn(row)];
  const isHeld = part !== null && isSession(part) && held.has(turn.requester);
  return { ...turn, line: lineOf(turn.runId, part), isHeld, isAway: row.pool_kind === 'away' };
}

/** The process that carries an orchestration on; while it lives, the conversations of the requester wait. */
type OrchestrationOwner = {
  readonly id: string;
  readonly requester: string;
  readonly owner: ProcessIdentity;
};

/** Who carries an orchestration on, or did when it died. */
export function orchestrationOwners(db: Sqlite): OrchestrationOwner[] {
  return db
    .all('SELECT * FROM orchestrations WHERE owner_pid IS NOT NULL')
    .map((row) => ({ id: String(row.id), requester: String(row.requester), owner: read(row, OWNER) }));
}

/** When an orchestration last did something; infinite while one of its turns is at work or waits. */
export function lastSignMs(id: string, db: Sqlite): number {
  const turns = partRuns({ kind: 'orchestration', id }, db).flatMap((one) => one.turns);
  const fact = db.get('SELECT MAX(at) AS at FROM orchestration_facts WHERE orchestration = ?', id);
  return Math.max(Number(fact?.at), ...turns.map(({ endedAtMs }) => endedAtMs ?? Number.POSITIVE_INFINITY));
}

/** Takes an orchestration from an owner that has died, unless another one has taken it meanwhile. */
export function clearOwner(
  { id, owner: { pid, start, boot } }: Pick<OrchestrationOwner, 'id' | 'owner'>,
  db: Sqlite,
): void {
  db.run(
    `UPDATE orchestrations SET owner_pid = NULL, owner_start = NULL, owner_boot = NULL
     WHERE id = ? AND owner_pid = ? AND owner_start = ? AND owner_boot = ?`,
    ...[id, pid, start, boot],
  );
}
