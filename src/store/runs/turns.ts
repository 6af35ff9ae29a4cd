import { rawAnnouncement } from '../../core/runs/announce-text.ts';
import type { NewAnnouncement } from '../../core/runs/announcement.ts';
import type { Permissions } from '../../core/runs/permissions.ts';
import {
  canFollow,
  type Ending,
  isTerminal,
  type Stop,
  type Turn,
  type TurnState,
} from '../../core/runs/turn.ts';
import { NO_USAGE } from '../../core/runs/usage.ts';
import type { Sqlite } from '../sqlite.ts';
import { scheduleArchive } from './archive.ts';
import { insertAnnouncement } from './outbox.ts';
import { ACTIVE_TURNS, IS_ACTIVE, readRun, readTurn, readWatch } from './run-rows.ts';
import { columnsOf, endingColumns, stopColumns, type TurnChanges, writeTurn } from './turn-columns.ts';

export type { TurnChanges } from './turn-columns.ts';

/** Turns, and how they go on: every change is a compare-and-set on the version, and what has ended stays as it is. */

export type NewTurn = {
  readonly runId: string;
  readonly kind: 'send' | 'announce';
  readonly announces: number | null;
  readonly message: string;
  /** Of who sends the message; otherwise the run's. */
  readonly permissions?: Permissions | null;
  readonly nowMs: number;
  /** `starting`: by the supervisor that looks after the run already, in the slot that it has. */
  readonly state: 'queued' | 'starting';
};

/**
 * Adds a turn to a run. One that was asked for before everything was stopped comes back as stopped.
 * @throws Error when there is no such run, or it is archived: then nothing can be resumed.
 */
export function appendTurn(turn: NewTurn, db: Sqlite): Turn {
  return db.transaction(() => {
    const stoppedAtMs = checkOpen(turn.runId, db);
    const row = db.get(
      `INSERT INTO turns(run_id, number, kind, announces, state, message, permissions, queued_at, claimed_at)
       SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ?, ? FROM turns WHERE run_id = ? RETURNING *`,
      turn.runId,
      turn.kind,
      turn.announces,
      turn.state,
      turn.message,
      turn.permissions == null ? null : JSON.stringify(turn.permissions),
      turn.nowMs,
      turn.state === 'starting' ? turn.nowMs : null,
      turn.runId,
    );
    const added = readTurn(row ?? {});
    const isLate = added.state === 'queued' && turn.nowMs < stoppedAtMs;
    const stop: Stop = {
      reason: 'requested',
      by: 'all were stopped after it was asked for',
      atMs: stoppedAtMs,
    };
    const result = isLate ? stopTurn(added, stop, db) : added;
    scheduleArchive(turn.runId, db);
    return result;
  });
}

/** When everything of the run's requester was last stopped; 0: never. */
function checkOpen(runId: string, db: Sqlite): number {
  const row = db.get(
    'SELECT archived_at, stopped_at FROM runs LEFT JOIN lane ON lane.requester = runs.requester WHERE id = ?',
    runId,
  );
  if (row === undefined) throw new Error(`Cannot add a turn to run "${runId}": there is no such run`);
  if (row.archived_at !== null) throw new Error(`Cannot add a turn to run "${runId}": it is archived`);
  return Number(row.stopped_at ?? 0);
}

/** One turn of a run. */
export function getTurn(runId: string, number: number, db: Sqlite): Turn | undefined {
  const row = db.get('SELECT * FROM turns WHERE run_id = ? AND number = ?', runId, number);
  return row && readTurn(row);
}

/** All turns of a run, the first one first. */
export function turnsOf(runId: string, db: Sqlite): Turn[] {
  return db.all('SELECT * FROM turns WHERE run_id = ? ORDER BY number', runId).map(readTurn);
}

/** All turns that have not ended, in the order in which they came. */
export function activeTurns(db: Sqlite): Turn[] {
  return db.all(`SELECT * FROM turns WHERE ${IS_ACTIVE} ORDER BY position`).map(readTurn);
}

/** What can be seen of an active turn without reading what it was asked: whether somebody looks after it. */
export type Watch = Pick<
  Turn,
  'runId' | 'number' | 'state' | 'owner' | 'process' | 'claimedAtMs' | 'queuedAtMs' | 'version'
>;

/** As activeTurns(), for those who look at every one of them again and again. */
export function activeWatches(db: Sqlite): Watch[] {
  return db
    .all(
      `SELECT run_id, number, state, owner_pid, owner_start, owner_boot, pid, pid_start, pid_boot,
         claimed_at, queued_at, version
       FROM turns WHERE ${IS_ACTIVE} ORDER BY position`,
    )
    .map(readWatch);
}

/**
 * Changes a turn that is still as it was read; undefined when somebody was faster. Before a client is started,
 * `launchedAtMs` has to be entered in this way: then no stop can be overlooked. @throws Error when the state cannot
 * follow, or is an end: that is endTurn()'s.
 */
export function changeTurn(turn: Turn, changes: TurnChanges, db: Sqlite): Turn | undefined {
  const { state } = changes;
  if (state !== undefined && isTerminal(state)) {
    throw new Error(
      `Cannot change turn ${turn.number} of run "${turn.runId}" to "${state}": it has to be ended`,
    );
  }
  if (state !== undefined) assertFollows(turn, state);
  return writeTurn(turn, columnsOf(changes), db);
}

/**
 * Ends a turn and writes what it has to tell, at once; undefined when it has ended already. The version does not matter
 * here, so that an end is never lost to somebody else's change; but a stop that was asked for before and that the
 * caller did not know of makes it a stopped one, and the requester who asked is told nothing more. The caller has to
 * look at the state that comes back. What was known of the usage stays where the ending does not say.
 */
export function endTurn(
  turn: Turn,
  ending: Ending,
  announcement: NewAnnouncement | null,
  db: Sqlite,
): Turn | undefined {
  return db.transaction(() => {
    const now = getTurn(turn.runId, turn.number, db);
    if (now === undefined || isTerminal(now.state)) return undefined;
    const isStopNews = turn.stop === null && now.stop?.reason === 'requested';
    const outcome = isStopNews ? 'stopped' : ending.outcome;
    assertFollows(now, outcome);
    const ended = writeTurn(now, { state: outcome, ...endingColumns(ending, now.usage) }, db);
    if (ended !== undefined && announcement !== null && !isStopNews) {
      insertAnnouncement(ended, announcement, db);
    }
    scheduleArchive(turn.runId, db);
    return ended;
  });
}

function assertFollows(turn: Turn, state: TurnState): void {
  if (canFollow(turn.state, state)) return;
  throw new Error(
    `Cannot change turn ${turn.number} of run "${turn.runId}" to "${state}": its state is "${turn.state}"`,
  );
}

export type StopResult = {
  /** `ended`: nothing had been started. `requested`: whoever looks after the turn ends it. */
  readonly kind: 'ended' | 'requested' | 'already-finished';
  /** Those that were active, as they are now. */
  readonly turns: Turn[];
};

/** Writes down that the run is to be stopped: what waits ends at once, what runs is ended by its supervisor. */
export function requestStop(runId: string, stop: Stop, db: Sqlite): StopResult {
  return db.transaction(() => {
    const rows = db.all(`SELECT * FROM turns WHERE run_id = ? AND ${IS_ACTIVE} ORDER BY position`, runId);
    const turns = rows.map((row) => stopTurn(readTurn(row), stop, db));
    if (turns.length === 0) return { kind: 'already-finished', turns };
    scheduleArchive(runId, db);
    return { kind: turns.every((turn) => isTerminal(turn.state)) ? 'ended' : 'requested', turns };
  });
}

/**
 * Stops every run of a requester. SQLite lets one transaction write at a time, so each spawn comes either before this
 * one, and then its turn is found here, or after it. For those after it the time is kept: a spawn that was asked for
 * before the stop and is written down only now is refused by insertRun(). And what is queued can be claimed before this
 * transaction, then it is found as `starting` and its supervisor sees the stop before it launches anything; or not at
 * all any more. So no client starts after the stop for what was asked for before it.
 */
export function requestStopAll(requester: string, stop: Stop, db: Sqlite): Map<string, StopResult> {
  return db.transaction(() => {
    db.run(
      `INSERT INTO lane(requester, stopped_at) VALUES (?, ?)
       ON CONFLICT(requester) DO UPDATE SET stopped_at = MAX(COALESCE(stopped_at, 0), excluded.stopped_at)`,
      requester,
      stop.atMs,
    );
    const rows = db.all(
      `SELECT DISTINCT turns.run_id FROM ${ACTIVE_TURNS} AND runs.requester = ?`,
      requester,
    );
    return new Map(rows.map((row) => [String(row.run_id), requestStop(String(row.run_id), stop, db)]));
  });
}

/** The first stop counts. */
function stopTurn(turn: Turn, stop: Stop, db: Sqlite): Turn {
  if (turn.state !== 'queued') {
    return turn.stop === null ? (writeTurn(turn, stopColumns(stop), db) ?? turn) : turn;
  }
  const ending: Ending = {
    outcome: 'stopped',
    result: null,
    error: `Stopped before it started: ${stop.by}`,
    notes: [],
    usage: NO_USAGE,
    exit: null,
    endedAtMs: stop.atMs,
  };
  const columns = { ...stopColumns(stop), state: 'stopped', ...endingColumns(ending, turn.usage) };
  const ended = writeTurn(turn, columns, db) ?? turn;
  if (stop.reason !== 'requested') announceUnstarted(ended, ending, db);
  return ended;
}

function announceUnstarted(turn: Turn, ending: Ending, db: Sqlite): void {
  const row = db.get('SELECT * FROM runs WHERE id = ?', turn.runId);
  if (row === undefined) return;
  const ended = { run: readRun(row), turn, ending, transcript: 'n/a' };
  const words = rawAnnouncement(ended);
  insertAnnouncement(turn, { id: crypto.randomUUID(), ...words, readyAtMs: ending.endedAtMs }, db);
}
