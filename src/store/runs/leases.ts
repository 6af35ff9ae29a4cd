import type { Sqlite } from '../sqlite.ts';

/** Who holds announcements, apart from the order in which they are handed out. */

/** Who holds what is handed out to this requester. */
export function leaseOwners(requester: string, db: Sqlite): string[] {
  return db
    .all(
      `SELECT DISTINCT lease_owner FROM outbox WHERE requester = ? AND state IN ('pending', 'leased') AND lease_owner IS NOT NULL`,
      requester,
    )
    .map((row) => String(row.lease_owner));
}

/** Hands out what one turn has to tell, ready or not, unless it was or is not for this session. */
export function leaseTurn(
  { runId, turn }: { readonly runId: string; readonly turn: number },
  { owner, untilMs, session }: { owner: string; untilMs: number; session: string | null },
  db: Sqlite,
): boolean {
  const { changes } = db.run(
    `UPDATE outbox SET state = 'leased', lease_owner = ?, lease_until = ?, attempts = attempts + 1
     WHERE run_id = ? AND turn = ? AND state = 'pending' AND (requester_session IS NULL OR requester_session IS ?)`,
    owner,
    untilMs,
    runId,
    turn,
    session,
  );
  return changes > 0;
}

/** What one holds is held by another until then. What was given to somebody else meanwhile stays there. */
export function passOn(
  holder: string,
  { owner, untilMs }: { readonly owner: string; readonly untilMs: number },
  db: Sqlite,
): void {
  db.run(
    `UPDATE outbox SET lease_owner = ?, lease_until = ? WHERE state = 'leased' AND lease_owner = ?`,
    owner,
    untilMs,
    holder,
  );
}
