import { readRecord } from '../../core/guards.ts';
import { cutText } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { recordIn, textIn } from '../../database/sqlite.ts';

/** Lessons that are told no more: why, and how they come back. */

/**
 * `contradiction`: what it says fails, or what it warns of works. `gone`: what it names is not there any more. `statistics`:
 * telling it prevents nothing. `user`: a person said so. `model`: calls speak against what the model wrote.
 */
export type WithdrawalReason = 'contradiction' | 'gone' | 'statistics' | 'user' | 'model';

/** `detail`: the evidence, in English. `ts`: now, if none is given. */
export type WithdrawalNote = {
  readonly reason: WithdrawalReason;
  readonly detail: string;
  readonly ts?: string;
};

const DETAIL_LENGTH_MAX = 500;

/** Notes that what is told of an error will not be any more, before it is taken away; nothing where nothing is told. */
export function noteWithdrawal(id: number, { reason, detail, ts }: WithdrawalNote, db: Db): void {
  db.sqlite.run(
    `INSERT INTO withdrawals(ts, error_id, reason, detail, resolution, resolved_by)
     SELECT COALESCE(?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), id, ?, ?, resolution, COALESCE(resolved_by, '')
     FROM error_kb WHERE id = ? AND typeof(resolution) = 'text'`,
    ...[ts ?? null, reason, cutText(detail, DETAIL_LENGTH_MAX), id],
  );
}

export type Withdrawal = Readonly<ReturnType<typeof listWithdrawals>>[number];

/** What is withdrawn and has not been restored nor learnt anew, newest first. Undefined: of every project. */
export function listWithdrawals(projects: readonly string[] | undefined, db: Db) {
  const rows = db.sqlite.all(
    `SELECT withdrawals.ts, error_id, reason, detail, withdrawals.resolution, error_normalized, said, error_kb.project_path,
         COALESCE(repository, error_kb.project_path) AS place
       FROM withdrawals JOIN error_kb ON error_kb.id = error_id
       LEFT JOIN repositories ON repositories.project_path = error_kb.project_path
     WHERE withdrawals.id IN (SELECT MAX(id) FROM withdrawals GROUP BY error_id) AND restored_ts IS NULL
       AND typeof(error_kb.resolution) <> 'text' AND (?1 IS NULL OR error_kb.project_path IN (SELECT value FROM json_each(?1)))
     ORDER BY withdrawals.ts DESC, withdrawals.id DESC`,
    projects === undefined ? null : JSON.stringify(projects),
  );
  return rows.map((row) => ({
    id: Number(row.error_id),
    ts: String(row.ts),
    reason: String(row.reason) as WithdrawalReason,
    detail: String(row.detail),
    /** The resolution column, as it was. */
    resolution: String(row.resolution),
    key: String(row.error_normalized),
    said: textIn(row.said) || String(row.error_normalized),
    project: String(row.project_path),
    /** As a failure group names it. */
    place: String(row.place),
  }));
}

/**
 * Tells a withdrawn lesson again. What it was withdrawn for counts no more, only what happens from now on. False: nothing of
 * this error is withdrawn, or something is told of it by now.
 */
export function restoreLesson(id: number, ts: string, db: Db): boolean {
  const row = db.sqlite.get(
    `SELECT withdrawals.id, withdrawals.resolution, withdrawals.resolved_by, evidence
       FROM withdrawals JOIN error_kb ON error_kb.id = error_id
     WHERE error_id = ? AND restored_ts IS NULL AND typeof(error_kb.resolution) <> 'text' ORDER BY withdrawals.id DESC LIMIT 1`,
    id,
  );
  if (row === undefined) return false;
  const { withdrawnBy: _, model, ...evidence } = recordIn(row.evidence);
  // What contradicts a model's lesson is looked for since it was written.
  const restored = model === undefined ? {} : { model: { ...readRecord({ model }, 'model'), ts } };
  db.sqlite.run(
    `UPDATE error_kb SET resolution = ?, resolved_by = NULLIF(?, ''), state = 'open', quiet = 0, evidence = ? WHERE id = ?`,
    ...[String(row.resolution), String(row.resolved_by), JSON.stringify({ ...evidence, ...restored }), id],
  );
  db.sqlite.run(
    'UPDATE withdrawals SET restored_ts = ? WHERE error_id = ? AND restored_ts IS NULL',
    ...[ts, id],
  );
  return true;
}

/** When what is told of an error was restored last; null where it never was. */
export function restoredAt(id: number, db: Db): string | null {
  const row = db.sqlite.get('SELECT MAX(restored_ts) AS ts FROM withdrawals WHERE error_id = ?', id);
  return textIn(row?.ts) || null;
}

/** Pins what is told of an error, or takes that back: it is never held out nor quiet. False: there is no such error. */
export function setPinned(id: number, isPinned: boolean, db: Db): boolean {
  const sql = isPinned
    ? 'UPDATE error_kb SET pinned = 1, quiet = 0 WHERE id = ?'
    : 'UPDATE error_kb SET pinned = 0 WHERE id = ?';
  return db.sqlite.run(sql, id).changes > 0;
}
