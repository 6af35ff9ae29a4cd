import { fingerprint } from '../core/fingerprint.ts';
import { isInformative } from '../core/normalize-error.ts';
import type { ResolutionDetails } from '../core/resolution.ts';
import type { Db } from './connection.ts';
import { type KnownError, knownError } from './find-resolution.ts';

const KB_COLUMNS = 'id, error_normalized, resolution, use_count';
/** A file that everything breaks on has very many: the newest are looked at. */
const FILE_ERRORS_MAX = 500;

/** Past resolutions that had to do with this file of the project, newest first. */
export function findFileResolutions(
  file: string,
  projectPath: string | null,
  limit: number,
  db: Db,
): KnownError[] {
  if (!db.shape.has('error_files', 'file')) return [];
  return db.sqlite
    .all(
      `SELECT ${KB_COLUMNS} FROM error_kb
       WHERE id IN (SELECT kb_id FROM error_files WHERE project_path = ? AND file = ? ORDER BY kb_id DESC LIMIT ${FILE_ERRORS_MAX})
         AND typeof(resolution) = 'text'
       ORDER BY last_used DESC, id DESC LIMIT ?`,
      projectPath ?? '',
      file,
      limit,
    )
    .map(knownError);
}

export type Resolved = {
  readonly ts: string;
  readonly projectPath: string | null;
  /** Files it had to do with, relative to the project. */
  readonly files: readonly string[];
  readonly seenCount: number;
};

/**
 * Stores how an error was solved, or counts one more time and keeps the newer way (REQ-RA-003), also when it is the
 * older one that comes in late; what a person wrote stays until a person writes again. Does nothing for an error that
 * says too little to be recognised.
 */
export function recordResolution(
  normalizedError: string,
  details: ResolutionDetails,
  { ts, projectPath, files, seenCount }: Resolved,
  db: Db,
): void {
  if (!isInformative(normalizedError) || isForgotten(normalizedError, db)) return;
  const row = db.sqlite.get(
    `INSERT INTO error_kb(ts, error_normalized, use_count, last_used, project_path, seen_count)
     VALUES (?, ?, 1, ?, ?, ?)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET
       ts = MAX(ts, excluded.ts), last_used = MAX(COALESCE(last_used, ''), excluded.last_used),
       use_count = use_count + 1
     RETURNING id`,
    ts,
    normalizedError,
    ts,
    projectPath ?? '',
    seenCount,
  );
  const id = Number(row?.id);
  db.sqlite.run(
    `UPDATE error_kb SET error_raw = COALESCE(?, error_raw), resolution = ?, resolved_by = ?, tool_sequence = ?
     WHERE id = ? AND (resolved_by IS NOT 'user' OR ? = 'user') AND (resolution IS NULL OR last_used <= ?)`,
    details.errorRaw ?? null,
    JSON.stringify(details),
    details.resolvedBy ?? null,
    JSON.stringify(details.toolSequence ?? []),
    id,
    details.resolvedBy ?? null,
    ts,
  );
  linkFiles(id, projectPath, files, db);
}

export type Seen = {
  readonly ts: string;
  readonly projectPath: string | null;
  readonly errorRaw: string;
  /** Files it has to do with, relative to the project. */
  readonly files: readonly string[];
};

/** Counts that an error happened: from its first time on it has a row, with or without a fix. */
export function recordSeen(normalizedError: string, seen: Seen, db: Db): void {
  if (!isInformative(normalizedError)) return;
  const row = db.sqlite.get(
    `INSERT INTO error_kb(ts, error_normalized, error_raw, project_path, seen_count) VALUES (?, ?, ?, ?, 1)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET
       seen_count = seen_count + 1, ts = CASE WHEN resolution IS NULL THEN MAX(ts, excluded.ts) ELSE ts END
     RETURNING id, seen_count`,
    seen.ts,
    normalizedError,
    seen.errorRaw,
    seen.projectPath ?? '',
  );
  if (row?.seen_count === 1) linkFiles(Number(row.id), seen.projectPath, seen.files, db);
}

function linkFiles(kbId: number, projectPath: string | null, files: readonly string[], db: Db): void {
  for (const file of new Set(files)) {
    db.sqlite.run(
      'INSERT OR IGNORE INTO error_files(project_path, file, kb_id) VALUES (?, ?, ?)',
      projectPath ?? '',
      file,
      kbId,
    );
  }
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
