import type { Json } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { NewAnnouncement } from '../../core/runs/announcement.ts';
import { canFollow, type Ending, isTerminal, type Stop, type Turn } from '../../core/runs/turn.ts';
import type { Sqlite } from '../sqlite.ts';
import { scheduleArchive } from './archive.ts';
import { insertAnnouncement } from './outbox.ts';
import { IS_ACTIVE, readReader, readTurn } from './run-rows.ts';
import { type Columns, identityColumns, stopColumns, usageColumns } from './turn-columns.ts';

/** Turns, and how they go on: every change is a compare-and-set on the version, and what has ended stays as it is. */

export type NewTurn = {
  readonly runId: string;
  readonly kind: 'send' | 'announce';
  readonly announces: number | null;
  readonly message: string;
  readonly nowMs: number;
  /** `starting`: by the supervisor that looks after the run already, in the slot that it has. */
  readonly state: 'queued' | 'starting';
};

export type TurnChanges = Partial<
  Pick<
    Turn,
    | 'state'
    | 'claimedAtMs'
    | 'startedAtMs'
    | 'deadlineAtMs'
    | 'stop'
    | 'owner'
    | 'launchedAtMs'
    | 'process'
    | 'offsetBytes'
    | 'usage'
    | 'notes'
  >
> & { readonly reader?: Json };

/** Adds a turn to a run. @throws Error when there is no such run, or it is archived: then nothing can be resumed. */
export function appendTurn(turn: NewTurn, db: Sqlite): Turn {
  return db.transaction(() => {
    const run = db.get('SELECT archived_at FROM runs WHERE id = ?', turn.runId);
    if (run === undefined) throw new Error(`Cannot add a turn to run "${turn.runId}": there is no such run`);
    if (run.archived_at !== null) throw new Error(`Cannot add a turn to run "${turn.runId}": it is archived`);
    const row = db.get(
      `INSERT INTO turns(run_id, number, kind, announces, state, message, queued_at, claimed_at)
       SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM turns WHERE run_id = ? RETURNING *`,
      turn.runId,
      turn.kind,
      turn.announces,
      turn.state,
      turn.message,
      turn.nowMs,
      turn.state === 'starting' ? turn.nowMs : null,
      turn.runId,
    );
    scheduleArchive(turn.runId, db);
    return readTurn(row ?? {});
  });
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

/** What the reader of the turn's output knew at the stored offset. */
export function readerState(runId: string, number: number, db: Sqlite): Json | undefined {
  return readReader(db.get('SELECT reader FROM turns WHERE run_id = ? AND number = ?', runId, number));
}

/**
 * Changes a turn that is still as it was read; undefined when somebody was faster. @throws Error when the state cannot
 * follow, or is an end: that is endTurn()'s.
 */
export function changeTurn(turn: Turn, changes: TurnChanges, db: Sqlite): Turn | undefined {
  const { state } = changes;
  if (state !== undefined && (!canFollow(turn.state, state) || isTerminal(state))) {
    throw new Error(
      `Cannot change turn ${turn.number} of run "${turn.runId}" to "${state}": its state is "${turn.state}"`,
    );
  }
  return setColumns(turn, columnsOf(changes), db);
}

/**
 * Ends a turn and writes what it has to tell, at once; undefined when it has ended already. The version does not matter
 * here, so that an end is never lost to somebody else's change; but a stop that was asked for before and that the
 * caller did not know of makes it a stopped one, and the requester who asked is told nothing more. The caller has to
 * look at the state that comes back.
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
    const ended = setColumns(
      now,
      {
        state: outcome,
        ended_at: ending.endedAtMs,
        result: ending.result === null ? null : redactSecrets(ending.result),
        error: ending.error === null ? null : redactSecrets(ending.error),
        notes: JSON.stringify(ending.notes),
        exit_code: ending.exit?.code ?? null,
        exit_signal: ending.exit?.signal ?? null,
        ...usageColumns(ending.usage),
      },
      db,
    );
    if (ended !== undefined && announcement !== null && !isStopNews) {
      insertAnnouncement(ended, announcement, db);
    }
    scheduleArchive(turn.runId, db);
    return ended;
  });
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
      `SELECT DISTINCT turns.run_id FROM turns JOIN runs ON runs.id = turns.run_id
       WHERE turns.${IS_ACTIVE} AND runs.requester = ?`,
      requester,
    );
    return new Map(rows.map((row) => [String(row.run_id), requestStop(String(row.run_id), stop, db)]));
  });
}

/** The first stop counts. */
function stopTurn(turn: Turn, stop: Stop, db: Sqlite): Turn {
  const first = turn.stop ?? stop;
  if (turn.state !== 'queued') {
    return turn.stop === null ? (setColumns(turn, stopColumns(first), db) ?? turn) : turn;
  }
  const ended = setColumns(
    turn,
    {
      ...stopColumns(first),
      state: 'stopped',
      ended_at: stop.atMs,
      error: `Stopped before it started: ${stop.by}`,
    },
    db,
  );
  if (ended !== undefined && stop.reason !== 'requested') {
    insertAnnouncement(
      ended,
      {
        id: crypto.randomUUID(),
        status: 'error',
        result: '(not available)',
        notes: `- Stopped before it started: ${stop.by}`,
        stats: '',
        readyAtMs: stop.atMs,
      },
      db,
    );
  }
  return ended ?? turn;
}

function columnsOf(changes: TurnChanges): Columns {
  const columns: Columns = {};
  if (changes.state !== undefined) columns.state = changes.state;
  if (changes.claimedAtMs !== undefined) columns.claimed_at = changes.claimedAtMs;
  if (changes.startedAtMs !== undefined) columns.started_at = changes.startedAtMs;
  if (changes.deadlineAtMs !== undefined) columns.deadline_at = changes.deadlineAtMs;
  if (changes.launchedAtMs !== undefined) columns.launched_at = changes.launchedAtMs;
  if (changes.offsetBytes !== undefined) columns.offset_bytes = changes.offsetBytes;
  if (changes.notes !== undefined) columns.notes = JSON.stringify(changes.notes);
  if (changes.reader !== undefined) columns.reader = JSON.stringify(changes.reader);
  if (changes.stop !== undefined) Object.assign(columns, stopColumns(changes.stop));
  if (changes.owner !== undefined) Object.assign(columns, identityColumns('owner_', changes.owner));
  if (changes.process !== undefined) Object.assign(columns, identityColumns('', changes.process));
  if (changes.usage !== undefined) Object.assign(columns, usageColumns(changes.usage));
  return columns;
}

/** The names of the columns are ours, each of them a constant of this program. */
function setColumns(turn: Turn, columns: Columns, db: Sqlite): Turn | undefined {
  const assignments = [...Object.keys(columns).map((name) => `${name} = ?`), 'version = version + 1'];
  const row = db.get(
    `UPDATE turns SET ${assignments.join(', ')} WHERE run_id = ? AND number = ? AND version = ? RETURNING *`,
    ...Object.values(columns),
    turn.runId,
    turn.number,
    turn.version,
  );
  return row && readTurn(row);
}
