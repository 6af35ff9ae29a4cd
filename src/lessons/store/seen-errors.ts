import type { Db } from '../../database/connection.ts';
import { isInformative } from '../errors/normalize-error.ts';

/** What hooks note of errors: that one happened, and that its resolution was told. */

type Seen = {
  readonly ts: string;
  readonly projectPath: string | null;
  /** The telling line. */
  readonly said: string;
  readonly errorRaw: string;
};

/**
 * Counts that an error happened: from its first time on it has a row, with or without a fix. One that is solved keeps the
 * text for which it was: another with the same key may be of another file, and the fix is not known to be its own.
 */
export function recordSeen(key: string, { ts, projectPath, said, errorRaw }: Seen, db: Db): void {
  if (!isInformative(key)) return;
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, said, error_raw, project_path, seen_count) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET
       seen_count = seen_count + 1, ts = MAX(ts, excluded.ts),
       said = CASE WHEN resolution IS NULL OR error_raw IS NULL THEN excluded.said ELSE said END,
       error_raw = CASE WHEN resolution IS NULL THEN excluded.error_raw ELSE COALESCE(error_raw, excluded.error_raw) END`,
    ...[ts, key, said, errorRaw, projectPath ?? ''],
  );
}

/** Counts that an agent was told the resolution. */
export function countShown(kbId: number, ts: string, db: Db): void {
  db.sqlite.run('UPDATE error_kb SET shown_count = shown_count + 1, last_used = ? WHERE id = ?', ts, kbId);
}

/**
 * Returns true if this session has been told it, or it was held out: by the events of its failures, `told` or `held` of which
 * is the row. What is asked a second time must not depend on the arm.
 */
export function wasDecided(kbId: number, sessionId: string, db: Db): boolean {
  if (!db.shape.has('error_kb', 'state')) return false;
  const sql = `SELECT 1 FROM events WHERE session_id = ? AND type = 'tool_error'
    AND CASE WHEN json_valid(data) THEN ? IN (json_extract(data, '$.told'), json_extract(data, '$.held')) END LIMIT 1`;
  return db.sqlite.get(sql, sessionId, kbId) !== undefined;
}
