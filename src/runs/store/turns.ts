import { redactSecrets } from '../../core/redact.ts';
import { type Row, type Sqlite, textIn } from '../../database/sqlite.ts';
import { type NewAnnouncement, rawAnnouncement } from '../model/announcement.ts';
import { lineOf } from '../model/part.ts';
import type { Run, TurnName } from '../model/run.ts';
import {
  canFollow,
  type Ending,
  isTerminal,
  NOTHING_SAID,
  type Stop,
  type Turn,
  type TurnState,
  type Usage,
} from '../model/turn.ts';
import { dismissAnnouncements, insertAnnouncement } from './outbox.ts';
import {
  ACTIVE_TURNS,
  assigned,
  IS_ACTIVE,
  LIVENESS_COLUMNS,
  partIn,
  readLiveness,
  readRun,
  readTurn,
  scheduleArchive,
  type TurnLiveness,
  turnColumns,
} from './rows.ts';

export type { TurnLiveness } from './rows.ts';

/** What may change of a turn that goes on, always by a compare-and-set on its version. */
export type TurnChanges = Partial<
  Pick<Turn, 'state' | 'owner' | 'process' | 'stop' | 'usage' | 'notes'> &
    Pick<Turn, 'launchedAtMs' | 'startedAtMs' | 'deadlineAtMs'>
>;

/** `session` and `permissions`: of who asks; otherwise the run's. */
export type NewTurn = Pick<Turn, 'runId' | 'announces' | 'message'> &
  Partial<Pick<Turn, 'session' | 'permissions' | 'name' | 'ahead'>> & {
    readonly kind: 'send' | 'announce';
    readonly nowMs: number;
    /** `starting`: added by the run's own supervisor, in the slot that it has. */
    readonly state: 'queued' | 'starting';
  };

/** Adds a turn to a run; stopped already if all of a session were stopped after it was asked for. @throws Error if it is archived, or none. */
export function appendTurn(turn: NewTurn, db: Sqlite): Turn {
  return db.transaction(() => {
    const run = runOf(turn.runId, db);
    if (run.archivedAtMs !== null)
      throw new Error(`Cannot add a turn to run "${turn.runId}": it is archived`);
    const { requester } = run;
    const row = db.get(
      `INSERT INTO turns(run_id, number, kind, announces, state, message, session, permissions, name, ahead,
         queued_at, claimed_at)
       SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM turns WHERE run_id = ? RETURNING *`,
      ...[turn.runId, turn.kind, turn.announces, turn.state, turn.message, turn.session ?? null],
      turn.permissions == null ? null : JSON.stringify(turn.permissions),
      ...[turn.name ?? null, turn.ahead === true ? 1 : 0],
      ...[turn.nowMs, turn.state === 'starting' ? turn.nowMs : null, turn.runId],
    );
    const added = readTurn(row ?? {});
    const last = lastStopOfAll(requester.key, [turn.session ?? requester.session, requester.session], db);
    const isLate = added.state === 'queued' && last !== undefined && turn.nowMs < last.atMs;
    const by = 'all were stopped after it was asked for';
    const result = isLate ? stopTurn(added, { reason: 'requested', by, ...last }, db) : added;
    scheduleArchive(turn.runId, db);
    return result;
  });
}

/** The turn of a run that was asked for by this name. */
export function turnNamed(runId: string, name: string, db: Sqlite): Turn | undefined {
  const row = db.get('SELECT * FROM turns WHERE run_id = ? AND name = ?', runId, name);
  return row && readTurn(row);
}

const BETWEEN_MESSAGES = '\n\n---\n\n';

/**
 * Adds a message to the newest turn of its run that waits; undefined, and nothing is changed, where none waits that the
 * same session has asked for with the same permissions, or both are longer than that together.
 */
export function joinTurn(
  { runId, message, session = null, permissions = null }: NewTurn,
  lengthMax: number,
  db: Sqlite,
): Turn | undefined {
  const row = db.get(
    "SELECT * FROM turns WHERE run_id = ? AND kind <> 'announce' AND state = 'queued' ORDER BY number DESC LIMIT 1",
    runId,
  );
  const waiting = row && readTurn(row);
  if (waiting === undefined) return undefined;
  const isSame =
    (waiting.session ?? runOf(runId, db).requester.session ?? '') === session &&
    JSON.stringify(waiting.permissions) === JSON.stringify(permissions);
  const joined = `${waiting.message}${BETWEEN_MESSAGES}${message}`;
  if (!isSame || joined.length > lengthMax) return undefined;
  if (waiting.kind === 'task') db.run('UPDATE runs SET task = ? WHERE id = ?', joined, runId);
  return writeTurn(waiting, { message: joined }, db);
}

function runOf(runId: string, db: Sqlite): Run {
  const row = db.get('SELECT * FROM runs WHERE id = ?', runId);
  if (row === undefined) throw new Error(`Cannot add a turn to run "${runId}": there is no such run`);
  return readRun(row);
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

/** The turns of the requester's sub-agents that have not ended, but for announce steps, each with the sessions that it belongs to. */
export function awaitedTurns(requester: string, db: Sqlite) {
  const rows = db.all(
    `SELECT turns.*, runs.requester_session
     FROM ${ACTIVE_TURNS} AND runs.requester = ? AND runs.part IS NULL AND turns.kind <> 'announce'
     ORDER BY turns.position`,
    requester,
  );
  return rows.map((row) => ({
    runId: String(row.run_id),
    turn: Number(row.number),
    sessions: [textIn(row.requester_session) ?? '', textIn(row.session)],
  }));
}

/** The liveness of all active turns, which is cheaper to read. */
export function activeLiveness(db: Sqlite): TurnLiveness[] {
  return db
    .all(`SELECT ${LIVENESS_COLUMNS} FROM turns WHERE ${IS_ACTIVE} ORDER BY position`)
    .map(readLiveness);
}

/**
 * Changes a turn that is still as it was read; undefined when another process has changed it. Before a client is started,
 * `launchedAtMs` has to be set by this, so that no stop is overlooked. @throws Error when the state cannot follow, or is
 * terminal, which takes endTurn()
 */
export function changeTurn(turn: Turn, changes: TurnChanges, db: Sqlite): Turn | undefined {
  const { state } = changes;
  if (state !== undefined && isTerminal(state)) throw cannotChange(turn, state, 'it has to be ended');
  if (state !== undefined) assertFollows(turn, state);
  return writeTurn(turn, changes, db);
}

/**
 * Ends a turn and adds its announcement in one transaction; undefined when it has ended already. The version is not compared,
 * so that an end is never lost to another change; but a stop that the caller did not know of makes it a stopped turn: check
 * the returned state. Usage that the ending does not know stays as it was.
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
    const end = isStopNews ? ({ ...ending, outcome: 'stopped' } as const) : ending;
    assertFollows(now, end.outcome);
    const ended = writeTurn(now, endOf(end, now.usage), db);
    if (ended !== undefined && announcement !== null) {
      if (isStopNews) announceEnd(ended, end, db);
      else insertAnnouncement(ended, announcement, db);
    }
    if (ended !== undefined)
      endAskedFor([turn.runId], { by: 'the end of its plan run', atMs: ending.endedAtMs }, db);
    scheduleArchive(turn.runId, db);
    return ended;
  });
}

/** Updates the turn if its version is still the same; else undefined. */
function writeTurn(turn: Turn, changes: Partial<Turn>, db: Sqlite): Turn | undefined {
  const [assignments, values] = assigned(turnColumns(changes));
  const row = db.get(
    `UPDATE turns SET ${[...assignments, 'version = version + 1']}
     WHERE run_id = ? AND number = ? AND version = ? RETURNING *`,
    ...[...values, turn.runId, turn.number, turn.version],
  );
  return row && readTurn(row);
}

/** What an ending changes, with secrets redacted. */
function endOf({ outcome, endedAtMs, exit, ...ending }: Ending, before: Usage): Partial<Turn> {
  const { costUsd, costSource, ...said } = ending.usage;
  const known = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
  return {
    state: outcome,
    endedAtMs,
    exit,
    result: ending.result && redactSecrets(ending.result),
    error: ending.error && redactSecrets(ending.error),
    notes: ending.notes.map(redactSecrets),
    usage: { ...before, ...known, ...(costUsd !== null && { costUsd, costSource }) },
  };
}

function assertFollows(turn: Turn, state: TurnState): void {
  if (!canFollow(turn.state, state)) throw cannotChange(turn, state, `its state is "${turn.state}"`);
}

function cannotChange({ runId, number }: Turn, state: TurnState, reason: string): Error {
  return new Error(`Cannot change turn ${number} of run "${runId}" to "${state}": ${reason}`);
}

/** Stops a run, and what it has asked for: what waits ends at once, what runs by its supervisor. Returns the turns that were active, as they are now. */
export function requestStop(runId: string, stop: Stop, db: Sqlite): Turn[] {
  const rows = `turns WHERE run_id = ? AND ${IS_ACTIVE}`;
  return db.transaction(() => [
    ...stopTurns(db.all(`SELECT * FROM ${rows} ORDER BY position`, runId), stop, db),
    ...endAskedFor([runId], stop, db),
  ]);
}

/**
 * Stops what is at work in the line of a run, with `all` also what waits there; `others`: not the run's own. Returns those
 * turns, as they are now.
 */
export function requestStopOfLine(
  { id, part, requester }: Run,
  which: 'at work' | 'all',
  stop: Stop,
  db: Sqlite,
  whose: 'any' | 'others' = 'any',
): Turn[] {
  const line = lineOf(id, part);
  const rows = db.all(
    `SELECT turns.*, runs.part FROM ${ACTIVE_TURNS} AND runs.requester = ? AND turns.kind <> 'announce'
     ORDER BY turns.position`,
    requester.key,
  );
  const isMeant = (row: Row) =>
    lineOf(String(row.run_id), partIn(row)) === line &&
    (which === 'all' || row.state !== 'queued') &&
    (whose === 'any' || row.run_id !== id);
  return stopTurns(rows.filter(isMeant), stop, db);
}

/** Stops one turn, with `waiting` only if it has no slot yet. Returns it as it is now; undefined when it had ended, or begun. */
export function requestStopOfTurn(
  { runId, turn: number }: TurnName,
  which: 'any' | 'waiting',
  stop: Stop,
  db: Sqlite,
): Turn | undefined {
  const turn = getTurn(runId, number, db);
  if (turn === undefined || isTerminal(turn.state)) return undefined;
  if (which === 'waiting' && turn.state !== 'queued') return undefined;
  const stopped = stopTurn(turn, stop, db);
  scheduleArchive(runId, db);
  return stopped;
}

/**
 * Stops the runs and messages of a session, or of the whole requester (`session`: WHOLE_PROJECT). No client starts after
 * this for what was asked for before: a run that is inserted later is refused by insertRun() through the time of the stop,
 * a turn that was claimed before is `starting`, and its supervisor sees the stop before it launches the client. Returns
 * the turns that were active, as they are now.
 */
export function requestStopAll(requester: string, session: string, stop: Stop, db: Sqlite): Turn[] {
  return db.transaction(() => {
    noteStopOfAll(requester, { session, atMs: stop.atMs }, db);
    const rows = db.all(
      `SELECT turns.* FROM ${ACTIVE_TURNS} AND runs.requester = ?
         AND (? = '${WHOLE_PROJECT}' OR ? IN (COALESCE(runs.requester_session, ''), turns.session))
       ORDER BY turns.position`,
      ...[requester, session, session],
    );
    const asking = rows.map((row) => String(row.run_id));
    return [...stopTurns(rows, stop, db), ...endAskedFor(asking, stop, db)];
  });
}

/** Stops what these runs have asked for, and drops what of that nobody has taken in: there is nobody else to be told. */
function endAskedFor(runIds: readonly string[], { by, atMs }: Pick<Stop, 'by' | 'atMs'>, db: Sqlite): Turn[] {
  const isAsking = "id IN (SELECT value FROM json_each(?)) AND json_extract(profile, '$.kind') = 'plan'";
  const keys = db.all(`SELECT child_key FROM runs WHERE ${isAsking}`, JSON.stringify(runIds));
  return keys.flatMap(({ child_key }) => {
    const key = String(child_key);
    const turns = requestStopAll(key, WHOLE_PROJECT, { reason: 'requested', by, atMs, session: '' }, db);
    dismissAnnouncements('all', key, atMs, db);
    return turns;
  });
}

/** How many runs of the requester work or wait, and nobody has asked for their end. */
export function unstoppedRuns(requester: string, db: Sqlite): number {
  const rows = `${ACTIVE_TURNS} AND runs.requester = ? AND turns.stop_at IS NULL`;
  return Number(db.get(`SELECT COUNT(DISTINCT turns.run_id) AS n FROM ${rows}`, requester)?.n);
}

function stopTurns(rows: readonly Row[], stop: Stop, db: Sqlite): Turn[] {
  const turns = rows.map((row) => stopTurn(readTurn(row), stop, db));
  for (const runId of new Set(turns.map((turn) => turn.runId))) scheduleArchive(runId, db);
  return turns;
}

/** Only the first stop of a turn is stored. */
function stopTurn(turn: Turn, stop: Stop, db: Sqlite): Turn {
  if (turn.state !== 'queued') return (turn.stop === null && writeTurn(turn, { stop }, db)) || turn;
  const error = `Stopped before it started: ${stop.by}`;
  const ending: Ending = { ...NOTHING_SAID, outcome: 'stopped', error, endedAtMs: stop.atMs };
  const ended = writeTurn(turn, { stop, ...endOf(ending, turn.usage) }, db) ?? turn;
  announceEnd(ended, ending, db);
  return ended;
}

/** Adds an announcement that is made of the turn's rows alone; see insertAnnouncement(). */
export function announceEnd(turn: Turn, ending: Ending, db: Sqlite): void {
  const words = rawAnnouncement({ run: runOf(turn.runId, db), turn, ending, transcript: 'n/a' });
  insertAnnouncement(turn, { id: crypto.randomUUID(), ...words, readyAtMs: ending.endedAtMs }, db);
}

/** In place of a session: all sessions of the requester. */
export const WHOLE_PROJECT = '*';

/** What was asked for before such a stop does not start any more. */
type StopOfAll = { readonly session: string; readonly atMs: number };

/** Stores the time of such a stop, unless a later one is stored. */
function noteStopOfAll(requester: string, { session, atMs }: StopOfAll, db: Sqlite): void {
  db.run(
    `INSERT INTO stops(requester, session, stopped_at) VALUES (?, ?, ?)
     ON CONFLICT(requester, session) DO UPDATE SET stopped_at = MAX(stopped_at, excluded.stopped_at)`,
    ...[requester, session, atMs],
  );
}

/** The last such stop for one of these sessions. */
export function lastStopOfAll(
  requester: string,
  sessions: readonly (string | null)[],
  db: Sqlite,
): StopOfAll | undefined {
  const meant = JSON.stringify([WHOLE_PROJECT, ...sessions.map((session) => session ?? '')]);
  const row = db.get(
    `SELECT session, stopped_at FROM stops
     WHERE requester = ? AND session IN (SELECT value FROM json_each(?)) ORDER BY stopped_at DESC LIMIT 1`,
    requester,
    meant,
  );
  return row && { session: String(row.session), atMs: Number(row.stopped_at) };
}
