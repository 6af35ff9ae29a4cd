import { isRecord, parseJson } from '../core/guards.ts';
import { normalizeError } from '../core/normalize-error.ts';
import type { Recording } from '../core/recording.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { apply, applySpool } from './record.ts';
import type { Row } from './sqlite.ts';

/** How far a transcript has been read. */
export type Place = {
  /** By what the file is recognised: how it begins. */
  readonly head: string;
  /** Where the next reading begins: the line of a call without a result, or the end of what was looked at. */
  readonly bytesDone: number;
  /** Up to where it has been looked at. */
  readonly bytesSeen: number;
};

/** The places of many files, by their paths. */
export type ImportProgress = Map<string, Place>;

/** What is known of earlier imports. */
export function loadProgress(db: Db): ImportProgress {
  const rows = db.sqlite.all('SELECT path, bytes_done, bytes_seen, head FROM imports');
  return new Map(rows.map((row) => [String(row.path), placeIn(row)]));
}

/** How far a file has been read. `isElsewhere`: under another path, so that it was moved or copied since. */
export type FileProgress = Place & { readonly isElsewhere?: true };

/** Finds a file by its path, and otherwise by its name and how it begins: a directory may be renamed or copied. */
export function progressByFile(
  progress: ImportProgress,
): (path: string, head: string) => FileProgress | undefined {
  const elsewhere = new Map<string, Place>();
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
export function progressInDatabase(db: Db): (path: string, head: string) => FileProgress | undefined {
  return (path, head) => {
    const own = readPlace(path, db);
    if (own?.head === head) return own;
    const others = db.sqlite.all(
      'SELECT path, bytes_done, bytes_seen, head FROM imports WHERE head = ?',
      head,
    );
    return progressByFile(new Map(others.map((row) => [String(row.path), placeIn(row)])))(path, head);
  };
}

/** How far the file of this path has been read. */
export function readPlace(path: string, db: Db): Place | undefined {
  const row = db.sqlite.get('SELECT bytes_done, bytes_seen, head FROM imports WHERE path = ?', path);
  return row && placeIn(row);
}

function placeIn({ head, bytes_done: done, bytes_seen: seen }: Row): Place {
  return { head: String(head), bytesDone: Number(done), bytesSeen: Number(seen ?? done) };
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
    path,
    now.toISOString(),
    bytesDone,
    bytesSeen,
    head,
    fileBytes,
  );
}

/** How many errors have a known fix. */
export function countFixes(db: Db): number {
  return Number(
    db.sqlite.get('SELECT COUNT(*) AS count FROM error_kb WHERE resolution IS NOT NULL')?.count ?? 0,
  );
}

/** A file, and how far it has been read. */
export type ReadFile = Place & {
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

export type ImportWritten = {
  /** How many of the steps have been taken; the others did not fit into the time. */
  readonly steps: number;
  /** New rows of `events`, by type. */
  readonly added: Readonly<Record<string, number>>;
  /** How many recordings had a row already. */
  readonly known: number;
  /** Projects of which there are new calls. */
  readonly projects: readonly string[];
};

/**
 * Writes as many of the steps as fit into the time, one at least. What a hook has recorded already, or an earlier
 * reading, is recognised: calls by their id, prompts by their text and time, sub-agents by their id and time. Rows and
 * places go into one transaction, and whether something is known depends on nothing but the database: a process may be
 * killed anywhere, and several may read the same file at the same time. Throws what SQLite throws.
 */
export function writeSteps(
  steps: readonly ImportStep[],
  { now, budgetMs, paths }: { readonly now: Date; readonly budgetMs: number; readonly paths: StatePaths },
  db: Db,
): ImportWritten {
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
        else if (isCall(recording) && recording.at.projectPath !== null)
          projects.add(recording.at.projectPath);
      }
      if (read !== undefined) places.set(read.path, read);
      count++;
    }
    for (const place of places.values()) savePlace(place, now, db);
    return {
      spool,
      steps: count,
      added: countAdded(newestBefore, db),
      known,
      projects: [...projects],
    };
  });
  spool.discard();
  return written;
}

function isCall({ kind }: Recording): boolean {
  return kind === 'tool-use' || kind === 'tool-errors';
}

function newestEvent(db: Db): number {
  return Number(db.sqlite.get('SELECT MAX(id) AS id FROM events')?.id ?? 0);
}

function countAdded(newestBefore: number, db: Db): Record<string, number> {
  const rows = db.sqlite.all(
    'SELECT type, COUNT(*) AS count FROM events WHERE id > ? GROUP BY type',
    newestBefore,
  );
  return Object.fromEntries(rows.map((row) => [String(row.type), Number(row.count)]));
}

/** What a call can be recognised by when one of its records has no id. */
export type CallLook = {
  readonly type: unknown;
  readonly ts: string;
  readonly tool: unknown;
  readonly error: unknown;
};

/** How much sooner, and how much later, than the call an implementation that knew no ids recorded it. */
const NAMELESS_SOONER_MS_MAX = 2000;
export const NAMELESS_LATER_MS_MAX = 10_000;

/** How surely a record without an id is the one of a call with an id: 0 for not at all. */
export function likeness(nameless: CallLook, named: CallLook): number {
  if (nameless.type !== named.type || typeof named.tool !== 'string' || nameless.tool !== named.tool)
    return 0;
  const laterMs = Date.parse(nameless.ts) - Date.parse(named.ts);
  // A time that cannot be read is near to none.
  if (!(laterMs >= -NAMELESS_SOONER_MS_MAX && laterMs <= NAMELESS_LATER_MS_MAX)) return 0;
  if (named.type === 'tool_use') return 3;
  if (named.type !== 'tool_error') return 0;
  if (nameless.error === named.error) return 3;
  if (typeof nameless.error !== 'string') return 0;
  if (normalizeError(nameless.error) === named.error) return 2;
  // It was normalised in another way than today.
  return laterMs <= NAMELESS_SOONER_MS_MAX ? 1 : 0;
}

/** The first of those that are most surely the one; undefined when none is. */
export function mostLike<T>(candidates: Iterable<T>, likenessOf: (candidate: T) => number): T | undefined {
  let found: T | undefined;
  let most = 0;
  for (const candidate of candidates) {
    const one = likenessOf(candidate);
    if (one <= most) continue;
    found = candidate;
    most = one;
  }
  return found;
}

/**
 * Notes the id of a call that was recorded without: from then on it is known by that, and by no other. Events cannot be
 * changed: it is deleted and written again at its place.
 */
export function nameCall(eventId: number, toolUseId: string, { sqlite }: Db): void {
  const row = sqlite.get('SELECT * FROM events WHERE id = ?', eventId);
  const data = parseJson(String(row?.data));
  if (!isRecord(data)) return;
  const { v, type, ts, session_id, project, project_path } = row as Record<string, string | null>;
  sqlite.run('DELETE FROM events WHERE id = ?', eventId);
  sqlite.run(
    'INSERT INTO events(id, v, type, ts, session_id, project, project_path, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ...[
      eventId,
      v ?? null,
      type ?? null,
      ts ?? null,
      session_id ?? null,
      project ?? null,
      project_path ?? null,
    ],
    JSON.stringify({ ...data, toolUseId }),
  );
}

/** Notes how far a source that is no transcript has been taken in. */
export function saveProgress(
  { path, head, bytesDone }: { path: string; head: string; bytesDone: number },
  now: Date,
  db: Db,
): void {
  savePlace({ path, head, bytesDone, bytesSeen: bytesDone, fileBytes: bytesDone }, now, db);
}
