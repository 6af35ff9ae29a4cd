import type { Sqlite } from '../sqlite.ts';

/** When all that somebody had asked for was stopped: what was asked for before it does not start any more. */

/** In place of a session: whoever asked. */
export const WHOLE_PROJECT = '*';

export type StopOfAll = { readonly session: string; readonly atMs: number };

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
