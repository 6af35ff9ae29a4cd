import type { Sqlite } from '../../database/sqlite.ts';
import type { Run } from '../model/run.ts';
import { IS_ACTIVE, readRun } from './rows.ts';

/** When runs are archived: a column that is computed from the rows, so that no end of a process loses it. */

const IS_IDLE = `NOT EXISTS (SELECT 1 FROM turns WHERE run_id = runs.id AND turns.${IS_ACTIVE})
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE run_id = runs.id AND outbox.state IN ('pending', 'leased'))`;

/**
 * Computes the time again: none while a turn is active or an announcement is not delivered; then as long after the last of
 * these as the run says, and at once for `delete`.
 */
export function scheduleArchive(runId: string, db: Sqlite): void {
  db.run(
    `UPDATE runs SET archive_at = CASE
       WHEN NOT (${IS_IDLE}) THEN NULL
       WHEN cleanup = 'delete' THEN ${LAST_CHANGE}
       WHEN archive_after_ms > 0 THEN ${LAST_CHANGE} + archive_after_ms
     END WHERE id = ? AND archived_at IS NULL`,
    runId,
  );
}

const LAST_CHANGE = `MAX(created_at,
  COALESCE((SELECT MAX(ended_at) FROM turns WHERE run_id = runs.id), 0),
  COALESCE((SELECT MAX(settled_at) FROM outbox WHERE run_id = runs.id), 0))`;

/** The runs that are due, the longest first, and still idle. */
export function dueArchives(nowMs: number, limit: number, db: Sqlite): Run[] {
  const isDue = `archived_at IS NULL AND archive_at IS NOT NULL AND archive_at <= ? AND ${IS_IDLE}`;
  const sql = `SELECT * FROM runs WHERE ${isDue} ORDER BY archive_at LIMIT ?`;
  return db.all(sql, nowMs, limit).map(readRun);
}

/** Postpones a run that could not be archived, so that it does not block the others. */
export function postponeArchive(runId: string, untilMs: number, db: Sqlite): void {
  db.run(
    'UPDATE runs SET archive_at = ? WHERE id = ? AND archived_at IS NULL AND archive_at < ?',
    ...[untilMs, runId, untilMs],
  );
}

/** Marks a run as archived; false if it is no longer idle. Can be repeated. */
export function setArchived(runId: string, nowMs: number, db: Sqlite): boolean {
  db.run(`UPDATE runs SET archived_at = ? WHERE id = ? AND archived_at IS NULL AND ${IS_IDLE}`, nowMs, runId);
  return typeof db.get('SELECT archived_at FROM runs WHERE id = ?', runId)?.archived_at === 'number';
}
