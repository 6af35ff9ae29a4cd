import { clientOfCall } from '../../core/call-client.ts';
import { type Json, parseJson, readString, readTexts } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { fingerprint } from '../../core/text.ts';
import { resolutionText } from '../../core/told-texts.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn, textIn, type Value } from '../../database/sqlite.ts';
import type { Evidence } from '../lesson.ts';
import { type KnownError, knownError, MAY_BE_TOLD, type Scope, tellableScopes } from './told-lessons.ts';

/** Errors as a person sees them: never on a hook's path. */
export type ErrorEntry = Readonly<ReturnType<typeof readEntry>>;

export type FixEvidence = Pick<Evidence, 'sessions' | 'agents' | 'helped' | 'first' | 'last'>;

export type ErrorFilter = {
  /** Spellings of the project's path; undefined: every project. */
  readonly projects: readonly string[] | undefined;
  readonly state: 'any' | 'open' | 'solved';
  /** Only what may be told within this scope. */
  readonly told?: Scope;
};

/** The newest errors. */
export function listErrors(filter: ErrorFilter, limit: number, db: Db): ErrorEntry[] {
  const { sql, values } = filterCondition(filter);
  const newest = `SELECT * FROM error_kb WHERE ${sql} ORDER BY ts DESC, id DESC LIMIT ?`;
  return db.sqlite.all(newest, ...values, limit).map(readEntry);
}

/** How many errors have a known fix. */
export function countFixes(db: Db): number {
  const row = db.sqlite.get('SELECT COUNT(*) AS count FROM error_kb WHERE resolution IS NOT NULL');
  return Number(row?.count ?? 0);
}

/** The errors of these ids, in their order. */
export function findErrors(ids: readonly number[], db: Db): ErrorEntry[] {
  const sql = 'SELECT error_kb.* FROM json_each(?) JOIN error_kb ON error_kb.id = value ORDER BY key';
  return db.sqlite.all(sql, JSON.stringify([...new Set(ids)])).map(readEntry);
}

type ErrorSearch = {
  readonly text: string;
  readonly filter: ErrorFilter;
  /** Spellings of the project whose errors come first. */
  readonly ownProject: readonly string[];
  readonly limit: number;
};

/** Of the columns of error_kb_text, error, raw, fix and files: how much a word in them counts. */
const WEIGHTS = '8, 2, 1, 4';

/**
 * The ids of the errors that match, best first: what has all words before what has some, then the words in their order
 * and next to each other, then the own project, then BM25, then the newest.
 */
export function searchErrors({ text, filter, ownProject, limit }: ErrorSearch, db: Db): number[] {
  const words = wordsOf(text);
  if (words.length === 0) return [];
  const { sql, values } = filterCondition(filter);
  const phrase = termOf(words.join(' '));
  const matching = (expression: string, left: number, found: readonly number[]) =>
    db.sqlite
      .all(
        `SELECT id FROM error_kb_text CROSS JOIN error_kb ON id = error_kb_text.rowid
         WHERE error_kb_text MATCH ? AND ${sql} AND id NOT IN (SELECT value FROM json_each(?))
         ORDER BY id IN (SELECT rowid FROM error_kb_text WHERE error_kb_text MATCH ?) DESC,
           project_path IN (SELECT value FROM json_each(?)) DESC, bm25(error_kb_text, ${WEIGHTS}), id DESC
         LIMIT ?`,
        ...[expression, ...values, JSON.stringify(found), phrase, JSON.stringify(ownProject), left],
      )
      .map((row) => Number(row.id));
  const all = matching(words.map(termOf).join(' AND '), limit, []);
  if (all.length >= limit || words.length === 1) return all;
  return [...all, ...matching(words.map(termOf).join(' OR '), limit - all.length, all)];
}

/** What a project may be told that fits these words, best first, its own before what a person shares of others. */
export function searchTold(text: string, projectPath: string | null, limit: number, db: Db): KnownError[] {
  return tellableScopes(projectPath, db)
    .flatMap((told) => {
      const filter = { projects: undefined, state: 'solved', told } as const;
      const ids = searchErrors({ text, filter, ownProject: [projectPath ?? ''], limit }, db);
      const sql = 'SELECT error_kb.* FROM json_each(?) JOIN error_kb ON error_kb.id = value ORDER BY key';
      return db.sqlite.all(sql, JSON.stringify(ids)).map((row) => knownError(row, told));
    })
    .slice(0, limit);
}

const TEXT_LENGTH_MAX = 1000;
const WORDS_MAX = 10;

/** The words of a search. Any characters are allowed; what has neither letters nor digits is no word. */
function wordsOf(text: string): string[] {
  const words = text
    .slice(0, TEXT_LENGTH_MAX)
    .normalize('NFC')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}\p{Co}]/u.test(word));
  return [...new Set(words)].slice(0, WORDS_MAX);
}

/**
 * As the index is asked: the word, which counts more, or what begins so. An extension is whole, and so is a single letter:
 * half of all words begin with it. Not so a syllable of Hangul.
 */
function termOf(word: string): string {
  const text = word.replace(/[^\p{L}\p{N}\p{M}\p{Co}]+/gu, ' ').trim();
  const isWhole = /\w\.\w{1,4}$/.test(word) || /(?:^| )[\x00-\u024f]$/.test(text);
  return isWhole ? `"${text}"` : `("${text}" OR "${text}"*)`;
}

/** The SQL condition of a filter on rows of error_kb, with its values. */
function filterCondition({ projects, state, told }: ErrorFilter): { sql: string; values: Value[] } {
  const conditions = ['1'];
  if (projects !== undefined)
    conditions.push(`project_path IN (${projects.map(() => '?').join(', ') || 'NULL'})`);
  if (state === 'open') conditions.push("typeof(resolution) <> 'text'");
  if (state === 'solved') conditions.push("typeof(resolution) = 'text'");
  if (told !== undefined) conditions.push(MAY_BE_TOLD, told.sql);
  return { sql: conditions.join(' AND '), values: [...(projects ?? []), ...(told ? [told.value] : [])] };
}

function readEntry(row: Row) {
  const evidence = recordIn(row.evidence);
  const text = (value: unknown) => textIn(value) || null;
  return {
    id: Number(row.id),
    /** The form under which it is recognised. */
    error: String(row.error_normalized),
    /** What happened, as it was printed. */
    said: text(row.said) ?? String(row.error_normalized),
    raw: text(row.error_raw),
    /** Empty when the client named no directory. */
    project: String(row.project_path),
    /** The tool that failed, when it is known. */
    tool: readString(recordIn(row.resolution), 'tool') ?? null,
    seen: Number(row.seen_count),
    solved: Number(row.use_count ?? 0),
    told: Number(row.shown_count),
    fix: typeof row.resolution === 'string' ? resolutionText(row.resolution) : null,
    resolvedBy: text(row.resolved_by),
    /** Told in every project, because a person wants it so. */
    isShared: typeof row.resolution === 'string' && row.shared === row.resolution,
    /** `withdrawn`: what was told turned out wrong. Null when nobody has looked. */
    state: text(row.state),
    /** What the fix rests on; null where nothing was counted. */
    evidence: readEvidence(evidence),
    /** In which clients what is told was learnt. */
    clients: clientsOf(['failedCalls', 'helpedCalls'].flatMap((key) => readTexts(evidence[key]))),
    /** When it was solved last; of an open error, when it happened last. */
    ts: String(row.ts),
  };
}

function clientsOf(callIds: readonly string[]): readonly string[] {
  return [...new Set(callIds.map(clientOfCall))].sort();
}

function readEvidence(evidence: Json): FixEvidence | null {
  const { sessions, agents = 0, helped, first = '', last = '' } = evidence;
  if (typeof sessions !== 'number' || typeof helped !== 'number') return null;
  return { sessions, agents: Number(agents), helped, first: String(first), last: String(last) };
}

/** Everything that is known of one error. */
export type ErrorStory = Readonly<NonNullable<ReturnType<typeof tellError>>>;

/** One error with its whole story; undefined when there is none of this id. */
export function tellError(id: number, db: Db) {
  const row = db.sqlite.get('SELECT * FROM error_kb WHERE id = ?', id);
  if (row === undefined) return undefined;
  const entry = readEntry(row);
  const tellings = tellingsOf(entry, db);
  // The failure that was answered with it first is none that came back.
  const seen = occurrences(entry, tellings[0]?.ts ?? NEVER, db);
  return {
    ...entry,
    tool: entry.tool ?? textIn(seen?.tool),
    /** Those in which it happened are among them, as far back as events are kept. */
    clients: [...new Set([...entry.clients, ...clientsOf(readTexts(parseJson(String(seen?.ids))))])].sort(),
    /** Null when the events of that time are gone. */
    firstSeen: textIn(seen?.first),
    lastSeen: textIn(seen?.last) ?? (entry.fix === null ? entry.ts : null),
    /** When it was solved or told last. */
    lastUsed: textIn(row.last_used),
    /** To whom it was told, oldest first, and how often it happened again after the first time. */
    tellings,
    cameBack: Number(seen?.after ?? 0),
  };
}

/** Behind every time. */
const NEVER = '~';
const TELLINGS_MAX = 50;

/** As far back as events and notes are kept; `where`: a sub-agent's type, or that the agent had just met the error. */
function tellingsOf({ id, project, said }: ErrorEntry, db: Db) {
  const rows = db.sqlite.all(
    `SELECT ts, 'after the error' AS place FROM events
       WHERE project_path IS ?1 AND type = 'tool_error' AND CASE WHEN json_valid(data) THEN json_extract(data, '$.told') END = ?2
     UNION ALL
     SELECT ts, COALESCE(agent_type, 'sub-agent') FROM given_contexts WHERE project_path = ?3 AND instr(text, ?4) > 0
     ORDER BY ts LIMIT ?5`,
    ...[project || null, id, project, `- ${inertText(said, SAID_TOLD_MAX)} (`, TELLINGS_MAX],
  );
  return rows.map(({ ts, place }) => ({ ts: String(ts), where: String(place) }));
}

/** So much of what happened is told. */
const SAID_TOLD_MAX = 200;

/** The beginning of a call's id that names its client. */
const CLIENT_PART =
  "substr(json_extract(data, '$.toolUseId'), 1, instr(json_extract(data, '$.toolUseId'), ':'))";

/** When it happened, in which clients, and how often after a time, as far back as events are kept. */
function occurrences({ error, project }: ErrorEntry, after: string, db: Db): Row | undefined {
  return db.sqlite.get(
    `SELECT MIN(ts) AS first, MAX(ts) AS last, SUM(ts > ?) AS after, json_extract(data, '$.tool') AS tool,
       json_group_array(DISTINCT ${CLIENT_PART}) AS ids FROM events
     WHERE project_path IS ? AND type = 'tool_error'
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.error') END = ?`,
    ...[after, project || null, error],
  );
}

/** Stores how a person says, in words, an error is solved. Nothing that is learnt replaces it. */
export function recordPersonsFix(
  key: string,
  { ts, projectPath, summary }: { ts: string; projectPath: string | null; summary: string },
  db: Db,
): void {
  const resolution = JSON.stringify({ summary, resolvedBy: 'user' });
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, use_count, last_used, project_path, resolution, resolved_by)
     VALUES (?, ?, 1, ?, ?, ?, 'user')
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET ts = excluded.ts, last_used = excluded.last_used,
       use_count = MAX(use_count, 1), resolution = excluded.resolution, resolved_by = 'user', state = NULL`,
    ...[ts, key, ts, projectPath ?? '', resolution],
  );
}

/**
 * Stores a person's own words for how a known error is solved. They stay until a person writes again, and the error is no
 * longer forgotten. False when there is none of this id.
 */
export function resolveError(id: number, { summary, ts }: { summary: string; ts: string }, db: Db): boolean {
  return db.sqlite.transaction(() => {
    const sql = 'SELECT error_normalized, project_path, last_used FROM error_kb WHERE id = ?';
    const known = db.sqlite.get(sql, id);
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
