import { fingerprint } from '../core/fingerprint.ts';
import { isInformative } from '../core/normalize-error.ts';
import type { Db } from './connection.ts';
import { textIn } from './sqlite.ts';

export type PersonsFix = {
  readonly ts: string;
  readonly projectPath: string | null;
  /** In words. */
  readonly summary: string;
};

/** Stores how a person says an error is solved. Nothing that is learnt replaces it. */
export function recordPersonsFix(key: string, { ts, projectPath, summary }: PersonsFix, db: Db): void {
  const resolution = JSON.stringify({ summary, resolvedBy: 'user' });
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, use_count, last_used, project_path, resolution, resolved_by)
     VALUES (?, ?, 1, ?, ?, ?, 'user')
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET ts = excluded.ts, last_used = excluded.last_used,
       use_count = MAX(use_count, 1), resolution = excluded.resolution, resolved_by = 'user', state = NULL`,
    ts,
    key,
    ts,
    projectPath ?? '',
    resolution,
  );
}

/**
 * Stores a person's own words for how a known error is solved. They stay until a person writes again, and the error is no
 * longer forgotten. False when there is none of this id.
 */
export function resolveError(id: number, { summary, ts }: { summary: string; ts: string }, db: Db): boolean {
  return db.sqlite.transaction(() => {
    const known = db.sqlite.get(
      'SELECT error_normalized, project_path, last_used FROM error_kb WHERE id = ?',
      id,
    );
    if (known === undefined) return false;
    const error = String(known.error_normalized);
    const lastUsed = textIn(known.last_used) ?? '';
    db.sqlite.run('DELETE FROM forgotten_errors WHERE fingerprint = ?', fingerprint(error));
    // What comes in late does not replace what is newer; but a person means now, whatever the clock was before.
    const when = lastUsed > ts ? lastUsed : ts;
    recordPersonsFix(error, { ts: when, projectPath: String(known.project_path), summary }, db);
    return true;
  });
}

export type Seen = {
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
    ts,
    key,
    said,
    errorRaw,
    projectPath ?? '',
  );
}

/** Whether a person wanted this error forgotten: then it is neither recorded nor told. */
export function isForgotten(normalizedError: string, db: Db): boolean {
  const sql = 'SELECT 1 FROM forgotten_errors WHERE fingerprint = ?';
  return db.sqlite.get(sql, fingerprint(normalizedError)) !== undefined;
}

/** Counts that an agent was told the resolution. */
export function countShown(kbId: number, ts: string, db: Db): void {
  db.sqlite.run('UPDATE error_kb SET shown_count = shown_count + 1, last_used = ? WHERE id = ?', ts, kbId);
}

/** Whether this session has been told it: by the events of its failures, `told` of which is the row. */
export function wasShown(kbId: number, sessionId: string, db: Db): boolean {
  if (!db.shape.has('error_kb', 'state')) return false;
  const row = db.sqlite.get(
    `SELECT 1 FROM events WHERE session_id = ? AND type = 'tool_error'
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.told') END = ? LIMIT 1`,
    sessionId,
    kbId,
  );
  return row !== undefined;
}
