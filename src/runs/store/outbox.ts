import type { ClientName } from '../../core/client-name.ts';
import type { Row, Sqlite, Value } from '../../database/sqlite.ts';
import type { ProcessIdentity } from '../../system/process-identity.ts';
import type { Announcement, AnnounceStatus, NewAnnouncement } from '../model/announcement.ts';
import type { TurnName } from '../model/run.ts';
import type { Turn } from '../model/turn.ts';
import { ACTIVE_TURNS, type ColumnsOf, PROCESS, read, scheduleArchive } from './rows.ts';

/** The announcements of ended turns, each leased to a reader and settled by its next call: at-least-once. Nothing expires unread. */

/** A reader of announcements. */
export type Recipient = {
  readonly requester: string;
  readonly session: string | null;
  /** Who holds the lease until its next call shows that the text arrived: `hook:<session>`, `mcp:<connection>`. */
  readonly owner: string;
  /** Who holds the lease before, where several hooks of one session may run at once: see moveLeases(). */
  readonly holder?: string;
  /** A person at a terminal also gets what is meant for a session that may still come. */
  readonly isPerson: boolean;
  /** Sessions that are over, and whose place this one has taken. */
  readonly ended?: readonly string[];
};

type TakeOptions = { readonly nowMs: number; readonly leaseMs: number; readonly limit: number };

/** What an announce step may take: see hasWaiting(). */
const SOON_MS = 120_000;
/** After this time, announcements for one session are delivered to the requester's other sessions too. */
const KEPT_FOR_SESSION_MS = 600_000;

const IS_WAITING = "state IN ('pending', 'leased')";
/** The announcement of a turn for a session, as long as nobody has leased it. */
const IS_TURNS_OWN =
  "run_id = ? AND turn = ? AND state = 'pending' AND (requester_session IS NULL OR requester_session IS ?)";
const WITH_RUN = `SELECT outbox.*, runs.number AS run_number, runs.label AS run_label
  FROM outbox JOIN runs ON runs.id = outbox.run_id WHERE outbox.requester = ? AND outbox.${IS_WAITING}`;
/** Parameters: the owner, and until when. */
const LEASE = "state = 'leased', lease_owner = ?, lease_until = ?, attempts = attempts + 1";

/** Adds the announcement of a turn, unless its run is a part, or its session has stopped the turn itself; in the transaction that ends the turn. */
export function insertAnnouncement(turn: Turn, announcement: NewAnnouncement, db: Sqlite): void {
  const { id, status, result, notes, stats, readyAtMs } = announcement;
  db.run(
    `INSERT INTO outbox(id, position, run_id, turn, requester, requester_session, status, result, notes, stats, state,
       created_at, ready_at)
     SELECT ?, (SELECT COALESCE(MAX(position), 0) + 1 FROM outbox), id, ?, requester,
       NULLIF(COALESCE(?, requester_session), ''), ?, ?, ?, ?, 'pending', ?, ?
     FROM runs WHERE id = ? AND part IS NULL AND ? IS NOT COALESCE(?, requester_session, '')`,
    ...[id, turn.number, turn.session, status, result, notes, stats],
    ...[turn.endedAtMs ?? readyAtMs, readyAtMs, turn.runId],
    ...[turn.stop?.reason === 'requested' ? (turn.stop.session ?? '') : null, turn.session],
  );
}

type Rewording =
  | { readonly result: string; readonly notes: string; readonly nowMs: number }
  | { readonly skip: true; readonly nowMs: number };

/** Replaces the words of a turn's announcement, or skips it; false when it no longer waits for that. */
export function reword(runId: string, turn: number, words: Rewording, db: Sqlite): boolean {
  const isSkip = 'skip' in words;
  const assignments = isSkip ? "state = 'skipped', settled_at = ?" : 'result = ?, notes = ?, ready_at = ?';
  return db.transaction(() => {
    const { changes } = db.run(
      `UPDATE outbox SET ${assignments}
       WHERE run_id = ? AND turn = ? AND state = 'pending' AND attempts = 0 AND ready_at > ?`,
      ...[...(isSkip ? [] : [words.result, words.notes]), words.nowMs, runId, turn, words.nowMs],
    );
    if (changes > 0) scheduleArchive(runId, db);
    return changes > 0;
  });
}

/**
 * Settles what this owner holds, since it has come back, and leases what is ready for it, the oldest first. An owner that
 * comes back after its lease has expired settles as well, unless another one has leased the row meanwhile.
 */
export function takeAnnouncements(recipient: Recipient, options: TakeOptions, db: Sqlite): Announcement[] {
  const { requester, session, owner, holder = owner, isPerson, ended = [] } = recipient;
  const { nowMs, leaseMs, limit } = options;
  // Most calls find nothing, and need no write lock.
  if (undelivered(requester, db) === 0) return [];
  return db.transaction(() => {
    acknowledge(owner, nowMs, db);
    const rows = db.all(
      `${WITH_RUN} AND ready_at <= ? AND (state = 'pending' OR lease_until <= ?)
         AND (outbox.requester_session IS NULL OR outbox.requester_session IS ? OR ? = 1 OR ready_at <= ?
           OR outbox.requester_session IN (SELECT value FROM json_each(?)))
       ORDER BY position LIMIT ?`,
      ...[requester, nowMs, nowMs, session, isPerson ? 1 : 0, nowMs - KEPT_FOR_SESSION_MS],
      ...[JSON.stringify(ended), limit],
    );
    for (const row of rows)
      db.run(`UPDATE outbox SET ${LEASE} WHERE id = ?`, holder, nowMs + leaseMs, String(row.id));
    return rows.map(readAnnouncement).map((one) => ({ ...one, state: 'leased', attempts: one.attempts + 1 }));
  });
}

/** Leases the announcement of one turn, ready or not; false when it was leased before or is for another session. */
export function leaseTurn(
  { runId, turn }: TurnName,
  { owner, untilMs, session }: { owner: string; untilMs: number; session: string | null },
  db: Sqlite,
): boolean {
  const sql = `UPDATE outbox SET ${LEASE} WHERE ${IS_TURNS_OWN}`;
  return db.run(sql, owner, untilMs, runId, turn, session).changes > 0;
}

/** Moves the leases of a holder to another one; null: they are given up, and delivered again, since they may have been seen. */
export function moveLeases(
  holder: string,
  lease: { owner: string; untilMs: number } | null,
  db: Sqlite,
): void {
  db.run(
    "UPDATE outbox SET state = ?, lease_owner = ?, lease_until = ? WHERE state = 'leased' AND lease_owner = ?",
    ...[lease === null ? 'pending' : 'leased', lease?.owner ?? null, lease?.untilMs ?? null, holder],
  );
}

/** Settles what this owner holds; returns the ids. */
export function acknowledge(owner: string, nowMs: number, db: Sqlite): string[] {
  return settle('acked', "state = 'leased' AND lease_owner = ?", [owner], nowMs, db);
}

/** Settles what this session got through its hooks, and through its MCP server if that lives: an answer of a killed one may be lost. */
export function acknowledgeSession(
  { session, serverPid }: { readonly session: string; readonly serverPid: number | undefined },
  nowMs: number,
  db: Sqlite,
): void {
  const where = "state = 'leased' AND requester_session = ? AND (lease_owner = ? OR lease_owner LIKE ?)";
  settle('acked', where, [session, `hook:${session}`, `mcp:${serverPid}:%`], nowMs, db);
}

/** Settles what this owner holds and whose id stands in the text, which proves that it arrived. */
export function acknowledgeNamed(owner: string, text: string, nowMs: number, db: Sqlite): void {
  settle('acked', "state = 'leased' AND lease_owner = ? AND instr(?, id) > 0", [owner, text], nowMs, db);
}

/** The announcements of this requester that are not settled, the oldest first. Leases nothing. */
export function waitingAnnouncements(requester: string, db: Sqlite): Announcement[] {
  return db.all(`${WITH_RUN} ORDER BY position`, requester).map(readAnnouncement);
}

/** How many announcements of this requester are not settled. */
export function undelivered(requester: string, db: Sqlite): number {
  const rows = `outbox WHERE requester = ? AND ${IS_WAITING}`;
  return Number(db.get(`SELECT COUNT(*) AS n FROM ${rows}`, requester)?.n);
}

/** Drops announcements of this requester unread; returns the ids of those that were waiting. */
export function dismissAnnouncements(
  ids: readonly string[] | 'all',
  requester: string,
  nowMs: number,
  db: Sqlite,
): string[] {
  const waits = `requester = ? AND ${IS_WAITING}`;
  if (ids === 'all') return settle('dismissed', waits, [requester], nowMs, db);
  const where = `${waits} AND id IN (SELECT value FROM json_each(?))`;
  const settled = settle('dismissed', where, [requester, JSON.stringify(ids)], nowMs, db);
  return ids.filter((id) => settled.includes(id));
}

/** Whether something of this requester is ready, will be soon, or has to be settled. */
export function hasWaiting(requester: string, nowMs: number, db: Sqlite): boolean {
  const rows = `outbox WHERE requester = ? AND ${IS_WAITING} AND ready_at <= ?`;
  return db.get(`SELECT 1 FROM ${rows} LIMIT 1`, requester, nowMs + SOON_MS) !== undefined;
}

/** The words of a turn's announce step, of a run with a profile the whole last answer; undefined if it did not succeed. */
export function reportedWords(
  runId: string,
  turn: number,
  db: Sqlite,
): Pick<Announcement, 'result' | 'notes'> | undefined {
  const row = db.get(
    `SELECT CASE WHEN runs.profile IS NULL THEN outbox.result ELSE step.result END AS result, outbox.notes
     FROM outbox JOIN runs ON runs.id = outbox.run_id
       JOIN turns AS step ON step.run_id = outbox.run_id AND step.announces = outbox.turn AND step.state = 'success'
     WHERE outbox.run_id = ? AND outbox.turn = ? AND outbox.state <> 'skipped'`,
    runId,
    turn,
  );
  return row && { result: String(row.result ?? ''), notes: String(row.notes) };
}

/** The status in the run's newest announcement that is ready and that nobody has leased yet. */
export function untakenStatus(runId: string, nowMs: number, db: Sqlite): AnnounceStatus | undefined {
  const row = db.get(
    `SELECT status FROM outbox WHERE run_id = ? AND state = 'pending' AND attempts = 0 AND ready_at <= ?
     ORDER BY position DESC LIMIT 1`,
    runId,
    nowMs,
  );
  return row && (String(row.status) as AnnounceStatus);
}

/** Whether the turn's announcement is still being worded. */
export function isAnnouncing(runId: string, turn: number, nowMs: number, db: Sqlite): boolean {
  const where = "run_id = ? AND turn = ? AND state = 'pending' AND ready_at > ?";
  return db.get(`SELECT 1 FROM outbox WHERE ${where}`, runId, turn, nowMs) !== undefined;
}

/** Every requester for which hasWaiting() holds. */
export function waitingRequesters(nowMs: number, db: Sqlite): string[] {
  const sql = `SELECT DISTINCT requester FROM outbox WHERE ${IS_WAITING} AND ready_at <= ? ORDER BY requester`;
  return db.all(sql, nowMs + SOON_MS).map((row) => String(row.requester));
}

function settle(
  state: 'acked' | 'dismissed',
  where: string,
  values: Value[],
  nowMs: number,
  db: Sqlite,
): string[] {
  return db.transaction(() => {
    const sql = `UPDATE outbox SET state = ?, settled_at = ? WHERE ${where} RETURNING id, run_id`;
    const rows = db.all(sql, state, nowMs, ...values);
    for (const runId of new Set(rows.map((row) => String(row.run_id)))) scheduleArchive(runId, db);
    return rows.map((row) => String(row.id));
  });
}

const ANNOUNCEMENT: ColumnsOf<Omit<Announcement, 'isRedelivery'>> = {
  ...{ id: 'id', runId: 'run_id', turn: 'turn', number: 'run_number', label: 'run_label' },
  ...{ requester: 'requester', requesterSession: 'requester_session', status: 'status', result: 'result' },
  ...{ notes: 'notes', stats: 'stats', state: 'state', createdAtMs: 'created_at', attempts: 'attempts' },
};

function readAnnouncement(row: Row): Announcement {
  const known = read(row, ANNOUNCEMENT);
  return { ...known, isRedelivery: known.attempts > 0 };
}

/** A process through which the session of a client gets its announcements. */
type Listener = {
  /** `server`: the MCP server. `waiter`: the hook behind a turn that wakes the session. */
  readonly kind: 'server' | 'waiter';
  readonly session: string;
  readonly requester: string;
  readonly client: ClientName | null;
  readonly process: ProcessIdentity;
};

const KEPT_MS = 30 * 86_400_000;

/** Stores the session's listener; how often it was woken stays. */
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

/** The session's current or last listener of this kind, and how often it was woken. */
export function listenerOf(kind: Listener['kind'], session: string, db: Sqlite) {
  const row = db.get('SELECT * FROM listeners WHERE kind = ? AND session = ?', kind, session);
  return row && { ...readListener(row), wakes: Number(row.wakes) };
}

/** The current and last MCP servers of this client for this requester. */
export function serversOf(requester: string, client: ClientName, db: Sqlite): Listener[] {
  const sql = "SELECT * FROM listeners WHERE kind = 'server' AND requester = ? AND client = ?";
  return db.all(sql, requester, client).map(readListener);
}

/** The session is over: its waiter sees that and ends. */
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

/** `isReady`: something can be delivered to the session now. `isComing`: something will be, from a run that is active. */
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
  const isOwn =
    'runs.requester = ? AND runs.part IS NULL AND COALESCE(turns.session, runs.requester_session) = ?';
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
