import { isRecord, parseJson } from '../core/guards.ts';
import { normalizeError } from '../core/normalize-error.ts';
import type { Origin, Recording } from '../core/recording.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { apply, applySpool } from './record.ts';
import type { Value } from './sqlite.ts';

/** How far each source of an import has been taken in, by its path. */
export type ImportProgress = Map<string, { readonly head: string; readonly bytesDone: number }>;

/** What is known of earlier imports. */
export function loadProgress(db: Db): ImportProgress {
  const rows = db.sqlite.all('SELECT path, bytes_done, head FROM imports');
  return new Map(
    rows.map((row) => [String(row.path), { head: String(row.head), bytesDone: Number(row.bytes_done) }]),
  );
}

/** How far a file has been taken in. `isElsewhere`: under another path, so that it was moved or copied since. */
export type FileProgress = {
  readonly head: string;
  readonly bytesDone: number;
  readonly isElsewhere?: true;
};

/** Finds a file by its path, and otherwise by its name and how it begins: a directory may be renamed or copied. */
export function progressByFile(
  progress: ImportProgress,
): (path: string, head: string) => FileProgress | undefined {
  const elsewhere = new Map<string, number>();
  for (const [path, { head, bytesDone }] of progress) {
    const key = `${nameOf(path)}\n${head}`;
    elsewhere.set(key, Math.max(bytesDone, elsewhere.get(key) ?? 0));
  }
  return (path, head) => {
    const own = progress.get(path);
    if (own?.head === head) return own;
    const bytesDone = elsewhere.get(`${nameOf(path)}\n${head}`);
    return bytesDone === undefined ? undefined : { head, bytesDone, isElsewhere: true };
  };
}

function nameOf(path: string): string {
  return /[^\\/]*$/.exec(path)?.[0] ?? path;
}

/** Notes how far a source has been taken in. */
function saveProgress(
  { path, head, bytesDone }: Pick<ImportStep, 'path' | 'head' | 'bytesDone'>,
  now: Date,
  db: Db,
): void {
  db.sqlite.run(
    `INSERT INTO imports(path, ts, bytes_done, head) VALUES (?, ?, ?, ?)
     ON CONFLICT(path) DO UPDATE SET ts = excluded.ts, bytes_done = excluded.bytes_done, head = excluded.head`,
    path,
    now.toISOString(),
    bytesDone,
    head,
  );
}

/** How many errors have a known fix. */
export function countFixes(db: Db): number {
  return Number(
    db.sqlite.get('SELECT COUNT(*) AS count FROM error_kb WHERE resolution IS NOT NULL')?.count ?? 0,
  );
}

/** One recording out of the past, or none, and how far its source has been taken in with it. */
export type ImportStep = {
  readonly path: string;
  readonly head: string;
  readonly bytesDone: number;
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
};

/** Another process takes in the same source. */
export class ImportInterference extends Error {}

/**
 * Writes steps of an import. What a hook has recorded already, or an earlier import, is recognised: calls by their id,
 * prompts by their text and time, sub-agents by their id and time. A call that an earlier implementation recorded without
 * its id gets it. Rows and progress go into one transaction, and whether something is known depends on nothing but the
 * database, so that a process may be killed anywhere.
 */
export class ImportWriter {
  readonly #paths: StatePaths;
  readonly #db: Db;
  readonly #progress: ImportProgress;
  #calls: SessionCalls | undefined;

  constructor(progress: ImportProgress, paths: StatePaths, db: Db) {
    this.#progress = progress;
    this.#paths = paths;
    this.#db = db;
  }

  /** Takes as many of the steps as fit into the time, one at least. Throws what SQLite throws, and ImportInterference. */
  write(steps: readonly ImportStep[], options: { now: Date; budgetMs: number }): ImportWritten {
    const { sqlite } = this.#db;
    const deadlineMs = performance.now() + options.budgetMs;
    const { spool, last, ...written } = sqlite.transaction(() => {
      const spool = applySpool(this.#paths, this.#db);
      const newestBefore = newestEvent(this.#db);
      const last = new Map<string, ImportStep>();
      this.#calls?.forget();
      let count = 0;
      let known = 0;
      for (const step of steps) {
        if (count > 0 && performance.now() > deadlineMs) break;
        if (!last.has(step.path)) this.#assertUndisturbed(step.path);
        if (step.recording !== undefined && !this.#take(step.recording, step.delayMsMax ?? 0)) known++;
        last.set(step.path, step);
        count++;
      }
      for (const step of last.values()) saveProgress(step, options.now, this.#db);
      return { spool, last, steps: count, added: countAdded(newestBefore, this.#db), known };
    });
    spool.discard();
    for (const { path, head, bytesDone } of last.values()) this.#progress.set(path, { head, bytesDone });
    return written;
  }

  #assertUndisturbed(path: string): void {
    const row = this.#db.sqlite.get('SELECT bytes_done, head FROM imports WHERE path = ?', path);
    const expected = this.#progress.get(path);
    if (row?.bytes_done === expected?.bytesDone && row?.head === expected?.head) return;
    throw new ImportInterference(`another import takes in "${path}" at the same time`);
  }

  /** False when it is known. */
  #take(recording: Recording, delayMsMax: number): boolean {
    if (this.#isKnown(recording, delayMsMax)) return false;
    apply(recording, this.#db);
    return true;
  }

  #isKnown(recording: Recording, delayMsMax: number): boolean {
    const { at } = recording;
    switch (recording.kind) {
      case 'tool-use':
        return this.#isKnownCall(recording.toolUseId, {
          type: 'tool_use',
          at,
          tool: recording.tool,
          error: undefined,
        });
      case 'tool-errors':
        return recording.errors.every(({ toolUseId, tool, error }) =>
          this.#isKnownCall(toolUseId, { type: 'tool_error', at, tool, error }),
        );
      case 'prompt':
        return isKnownPrompt(recording.text, { at, delayMsMax }, this.#db);
      case 'subagent-stop':
        return isKnownStop({ at, delayMsMax }, this.#db);
      default:
        return false;
    }
  }

  #isKnownCall(
    toolUseId: string | null,
    { at, ...call }: Omit<CallLook, 'ts'> & { readonly at: Origin },
  ): boolean {
    if (toolUseId === null) return false;
    if (this.#calls?.sessionId !== at.sessionId) this.#calls = new SessionCalls(at.sessionId, this.#db);
    return this.#calls.has(toolUseId, { ...call, ts: at.ts }) || isCopiedCall(toolUseId, at, this.#db);
  }
}

/** What a call can be recognised by when one of its records has no id. */
type CallLook = {
  readonly type: unknown;
  readonly ts: string;
  readonly tool: unknown;
  readonly error: unknown;
};

/** How much sooner, and how much later, than the call an implementation that knew no ids recorded it. */
const NAMELESS_SOONER_MS_MAX = 2000;
const NAMELESS_LATER_MS_MAX = 10_000;

/** How surely a record without an id is the one of a call with an id: 0 for not at all. */
function likeness(nameless: CallLook, named: CallLook): number {
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
  return laterMs <= CLOCK_MS_MAX ? 1 : 0;
}

/** The first of those that are most surely the one; undefined when none is. */
function mostLike<T>(candidates: Iterable<T>, likenessOf: (candidate: T) => number): T | undefined {
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
function nameCall(eventId: number, toolUseId: string, { sqlite }: Db): void {
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

/** The calls that are recorded of one session: their ids, and what there is of those that have none. */
class SessionCalls {
  readonly sessionId: string;
  readonly #db: Db;
  readonly #ids = new Set<unknown>();
  readonly #nameless = new Map<number, CallLook>();
  #newest = 0;
  #isCurrent = false;

  constructor(sessionId: string, db: Db) {
    this.sessionId = sessionId;
    this.#db = db;
  }

  has(toolUseId: string, call: CallLook): boolean {
    if (!this.#isCurrent) this.#read();
    if (this.#ids.has(toolUseId)) return true;
    // One that stood twice in what is written now is not read anew: whoever asks writes it.
    this.#ids.add(toolUseId);
    const found = mostLike(this.#nameless, ([, nameless]) => likeness(nameless, call));
    if (found === undefined) return false;
    const [eventId] = found;
    this.#nameless.delete(eventId);
    nameCall(eventId, toolUseId, this.#db);
    return true;
  }

  /** A transaction has ended: hooks may have recorded more. */
  forget(): void {
    this.#isCurrent = false;
  }

  #read(): void {
    const rows = this.#db.sqlite.all(
      `SELECT id, type, ts, json_extract(data, '$.toolUseId') AS toolUseId, json_extract(data, '$.tool') AS tool,
         json_extract(data, '$.error') AS error FROM events
       WHERE session_id = ? AND id > ? AND json_valid(data) ORDER BY id`,
      this.sessionId,
      this.#newest,
    );
    for (const { id, type, ts, toolUseId, tool, error } of rows) {
      if (toolUseId !== null) this.#ids.add(toolUseId);
      else if (tool !== null) this.#nameless.set(Number(id), { type, ts: String(ts), tool, error });
    }
    this.#newest = Math.max(this.#newest, Number(rows.at(-1)?.id ?? 0));
    this.#isCurrent = true;
  }
}

/** A hook's clock and the transcript's differ by what the client does between. */
const CLOCK_MS_MAX = 2000;

/**
 * A session that goes on from another one has a copy of that one's transcript in its own: the same calls at the same
 * times under another session.
 */
function isCopiedCall(toolUseId: string, at: Origin, db: Db): boolean {
  const [from, until] = around(at.ts, CLOCK_MS_MAX, CLOCK_MS_MAX);
  const row = db.sqlite.get(
    `SELECT 1 FROM events WHERE ts BETWEEN ? AND ? AND session_id <> ? AND type IN ('tool_use', 'tool_error')
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END = ? LIMIT 1`,
    from,
    until,
    at.sessionId,
    toolUseId,
  );
  return row !== undefined;
}

/** Nobody types two prompts in this time: then they are the same, although their texts differ a little. */
const SAME_PROMPT_MS = 250;
/** Copies of prompts, as of calls above, have nothing but text and time to be known by. */
const COPIED_PROMPT_MS = 1000;

type Moment = { readonly at: Origin; readonly delayMsMax: number };

function isKnownPrompt(text: string, { at, delayMsMax }: Moment, db: Db): boolean {
  const atMs = Date.parse(at.ts);
  const own = around(at.ts, CLOCK_MS_MAX, delayMsMax);
  const ownPrompts = readPrompts('session_id = ?', [at.sessionId, ...own], db);
  if (ownPrompts.some((prompt) => prompt.text === text || Math.abs(prompt.atMs - atMs) <= SAME_PROMPT_MS))
    return true;
  const near = around(at.ts, COPIED_PROMPT_MS, COPIED_PROMPT_MS);
  return readPrompts('project_path IS ?', [at.projectPath, ...near], db).some(
    (prompt) => prompt.text === text,
  );
}

function readPrompts(where: string, values: Value[], db: Db): { text: unknown; atMs: number }[] {
  return db.sqlite
    .all(`SELECT ts, data FROM events WHERE ${where} AND ts BETWEEN ? AND ? AND type = 'prompt'`, ...values)
    .map((row) => {
      const data = parseJson(String(row.data));
      return { text: isRecord(data) ? data.text : undefined, atMs: Date.parse(String(row.ts)) };
    });
}

function isKnownStop({ at, delayMsMax }: Moment, db: Db): boolean {
  const row = db.sqlite.get(
    `SELECT 1 FROM events WHERE session_id = ? AND ts BETWEEN ? AND ? AND type = 'subagent_stop'
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.agentId') END IS ? LIMIT 1`,
    at.sessionId,
    ...around(at.ts, CLOCK_MS_MAX, delayMsMax),
    at.agentId,
  );
  return row !== undefined;
}

function around(ts: string, beforeMs: number, afterMs: number): [string, string] {
  const atMs = Date.parse(ts);
  return [new Date(atMs - beforeMs).toISOString(), new Date(atMs + afterMs).toISOString()];
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
