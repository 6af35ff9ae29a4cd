import type { ClientName } from '../../core/client-name.ts';
import type { Row, Sqlite } from '../../database/sqlite.ts';
import type { ProcessIdentity } from '../../system/process-identity.ts';
import { ACTIVE_TURNS, PROCESS, read } from './rows.ts';

/** Through which processes the sessions of clients hear of their runs, and what there is to hear. */

type Listener = {
  /** `server`: of our tools, as long as the client lives. `waiter`: the hook behind a turn, until there is news. */
  readonly kind: 'server' | 'waiter';
  readonly session: string;
  /** The key. */
  readonly requester: string;
  readonly client: ClientName | null;
  readonly process: ProcessIdentity;
};

const KEPT_MS = 30 * 86_400_000;

/** Writes down who listens for the session now; how often it was woken stays. */
export function enterListener(listener: Listener, nowMs: number, db: Sqlite): void {
  const { kind, session, requester, client, process } = listener;
  db.run(
    `INSERT INTO listeners(kind, session, requester, client, pid, pid_start, pid_boot, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT(kind, session) DO UPDATE SET requester = excluded.requester, client = excluded.client,
       pid = excluded.pid, pid_start = excluded.pid_start, pid_boot = excluded.pid_boot, at = excluded.at`,
    ...[kind, session, requester, client, process.pid, process.start, process.boot, nowMs],
  );
  db.run('DELETE FROM listeners WHERE at < ?', nowMs - KEPT_MS);
}

/** Who waits for the session, or did last. */
export function waiterOf(session: string, db: Sqlite): (Listener & { readonly wakes: number }) | undefined {
  const row = db.get("SELECT * FROM listeners WHERE kind = 'waiter' AND session = ?", session);
  return row && { ...readListener(row), wakes: Number(row.wakes) };
}

/** The server that the session has, or had last. */
export function serverOf(session: string, db: Sqlite): Listener | undefined {
  const row = db.get("SELECT * FROM listeners WHERE kind = 'server' AND session = ?", session);
  return row && readListener(row);
}

/** The servers that this client has or had for this requester. */
export function serversOf(requester: string, client: ClientName, db: Sqlite): Listener[] {
  return db
    .all("SELECT * FROM listeners WHERE kind = 'server' AND requester = ? AND client = ?", requester, client)
    .map(readListener);
}

/** The session is over: whoever waits for it sees that it need not. */
export function removeWaiter(session: string, db: Sqlite): void {
  db.run("DELETE FROM listeners WHERE kind = 'waiter' AND session = ?", session);
}

/** The session was woken once more. */
export function countWake(session: string, db: Sqlite): void {
  db.run("UPDATE listeners SET wakes = wakes + 1 WHERE kind = 'waiter' AND session = ?", session);
}

/** Its user has typed something: it may be woken again. */
export function forgetWakes(session: string, db: Sqlite): void {
  db.run("UPDATE listeners SET wakes = 0 WHERE kind = 'waiter' AND session = ?", session);
}

/** `isReady`: something can be told to the session now. `isComing`: something will be, without anybody asking for it. */
export function newsOf(
  { session, requester }: Pick<Listener, 'session' | 'requester'>,
  nowMs: number,
  db: Sqlite,
): { readonly isReady: boolean; readonly isComing: boolean } {
  const waiting = db.all(
    `SELECT ready_at <= ?1 AND (state = 'pending' OR lease_until <= ?1) AS is_ready FROM outbox
     WHERE requester = ?2 AND requester_session = ?3 AND state IN ('pending', 'leased')`,
    ...[nowMs, requester, session],
  );
  const isOwn = 'runs.requester = ? AND COALESCE(turns.session, runs.requester_session) = ?';
  const isAtWork = db.get(`SELECT 1 FROM ${ACTIVE_TURNS} AND ${isOwn} LIMIT 1`, requester, session);
  return {
    isReady: waiting.some((row) => row.is_ready === 1),
    isComing: isAtWork !== undefined || waiting.some((row) => row.is_ready !== 1),
  };
}

function readListener(row: Row): Listener {
  const columns = { kind: 'kind', session: 'session', requester: 'requester', client: 'client' };
  return { ...read<Omit<Listener, 'process'>>(row, columns), process: read(row, PROCESS) };
}

/** When all that somebody had asked for was stopped: what was asked for before it does not start any more. */

/** In place of a session: whoever asked. */
export const WHOLE_PROJECT = '*';

type StopOfAll = { readonly session: string; readonly atMs: number };

/** Notes that all was stopped; an earlier stop that comes later changes nothing. */
export function noteStopOfAll(requester: string, { session, atMs }: StopOfAll, db: Sqlite): void {
  db.run(
    `INSERT INTO stops(requester, session, stopped_at) VALUES (?, ?, ?)
     ON CONFLICT(requester, session) DO UPDATE SET stopped_at = MAX(stopped_at, excluded.stopped_at)`,
    ...[requester, session, atMs],
  );
}

/** The last one that is for one of these sessions. */
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
