import type { FileProgress, TranscriptPlace } from '../clients/claude/transcript-files.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import type { Row, Value } from '../database/sqlite.ts';
import type { Recording } from '../hooks/decision.ts';
import { apply, applySpool } from '../hooks/store/record.ts';
import { newestEvent } from '../lessons/store/lesson-log.ts';

/** The places of many files, by their paths. */
type Places = ReadonlyMap<string, TranscriptPlace>;

function placesWhere(condition: string, values: Value[], db: Db): Places {
  const sql = `SELECT path, bytes_done AS done, bytes_seen AS seen, head FROM imports WHERE ${condition}`;
  const placeIn = ({ head, done, seen }: Row) => {
    return { head: String(head), bytesDone: Number(done), bytesSeen: Number(seen ?? done) };
  };
  return new Map(db.sqlite.all(sql, ...values).map((row) => [String(row.path), placeIn(row)]));
}

type FindProgress = (path: string, head: string) => FileProgress | undefined;

/** What is known of earlier imports. */
export function loadProgress(db: Db): Places {
  return placesWhere('1', [], db);
}

/** Finds a file by its path, and otherwise by its name and how it begins: a directory may be renamed or copied. */
export function progressByFile(progress: Places): FindProgress {
  const elsewhere = new Map<string, TranscriptPlace>();
  for (const [path, place] of progress) {
    const key = `${nameOf(path)}\n${place.head}`;
    if ((elsewhere.get(key)?.bytesSeen ?? -1) < place.bytesSeen) elsewhere.set(key, place);
  }
  return (path, head) => {
    const own = progress.get(path);
    if (own?.head === head) return own;
    const other = elsewhere.get(`${nameOf(path)}\n${head}`);
    return other && { ...other, isElsewhere: true };
  };
}

/** As progressByFile(), for the few files of one session: asks the database for each. */
export function progressInDatabase(db: Db): FindProgress {
  return (path, head) => {
    const own = readPlace(path, db);
    if (own?.head === head) return own;
    return progressByFile(placesWhere('head = ?', [head], db))(path, head);
  };
}

/** How far the file of this path has been read. */
export function readPlace(path: string, db: Db): TranscriptPlace | undefined {
  return placesWhere('path = ?', [path], db).get(path);
}

function nameOf(path: string): string {
  return /[^\\/]*$/.exec(path)?.[0] ?? path;
}

/**
 * Notes how far a file has been read. Where another process has got further meanwhile, its place stays: what is between
 * is known by then, and to read it twice does no harm. `fileBytes`: a place behind the end of the file is of an earlier
 * one.
 */
export function savePlace(
  { path, head, bytesDone, bytesSeen, fileBytes }: ReadFile,
  now: Date,
  db: Db,
): void {
  db.sqlite.run(
    `INSERT INTO imports(path, ts, bytes_done, bytes_seen, head) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT(path) DO UPDATE SET ts = excluded.ts, bytes_done = excluded.bytes_done,
       bytes_seen = excluded.bytes_seen, head = excluded.head
     WHERE head <> excluded.head OR COALESCE(bytes_seen, bytes_done) <= excluded.bytes_seen
       OR COALESCE(bytes_seen, bytes_done) > ?`,
    ...[path, now.toISOString(), bytesDone, bytesSeen, head, fileBytes],
  );
}

/**
 * Removes the calls of a session that an earlier implementation recorded without their ids: nothing but the transcript, which
 * is read now, can tell which they were.
 */
export function forgetNamelessCalls(sessionId: string, db: Db): void {
  db.sqlite.run(
    `DELETE FROM events WHERE session_id = ? AND type IN ('tool_use', 'tool_error')
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') IS NULL END`,
    sessionId,
  );
}

/** A file, and how far it has been read. */
export type ReadFile = TranscriptPlace & {
  readonly path: string;
  /** How long it was when it was looked at. */
  readonly fileBytes: number;
};

/** One recording out of the past, or none, and how far its file has been read with it. */
export type ImportStep = {
  /** Undefined where a part was read that does not count for the place. */
  readonly read: ReadFile | undefined;
  readonly recording?: Recording;
  /** How much later than the recording says its hook may have run. */
  readonly delayMsMax?: number;
};

const IS_CALL = new Set<Recording['kind']>(['tool-use', 'tool-errors']);

/**
 * Writes as many of the steps as fit into the time, one at least. What a hook has recorded already, or an earlier
 * reading, is recognised: calls by their id, prompts by their text and time, sub-agents by their id and time. Rows and
 * places go into one transaction, and whether something is known depends on nothing but the database: a process may be
 * killed anywhere, and several may read the same file at the same time. Throws what SQLite throws. Returns how many `steps`
 * it has taken, what it `added` to `events` by type, how many recordings were `known`, and the `projects` of new calls.
 */
export function writeSteps(
  steps: readonly ImportStep[],
  { now, budgetMs, paths }: { readonly now: Date; readonly budgetMs: number; readonly paths: StatePaths },
  db: Db,
) {
  const deadlineMs = performance.now() + budgetMs;
  const { spool, ...written } = db.sqlite.transaction(() => {
    const spool = applySpool(paths, db);
    const newestBefore = newestEvent(db);
    const places = new Map<string, ReadFile>();
    const projects = new Set<string>();
    let count = 0;
    let known = 0;
    for (const { read, recording, delayMsMax = 0 } of steps) {
      if (count > 0 && performance.now() > deadlineMs) break;
      if (recording !== undefined) {
        const isNew = apply(recording, db, { delayMsMax });
        if (!isNew) known++;
        else if (IS_CALL.has(recording.kind) && recording.at.projectPath !== null)
          projects.add(recording.at.projectPath);
      }
      if (read !== undefined) places.set(read.path, read);
      count++;
    }
    for (const place of places.values()) savePlace(place, now, db);
    const sql = 'SELECT type, COUNT(*) AS count FROM events WHERE id > ? GROUP BY type';
    const counts = db.sqlite.all(sql, newestBefore);
    const added = Object.fromEntries(counts.map((row) => [String(row.type), Number(row.count)]));
    return { spool, steps: count, added, known, projects: [...projects] };
  });
  spool.discard();
  return written;
}
