import { readTexts } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { fingerprint } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { forgetInLedger } from '../../database/ledger.ts';
import { type Row, recordIn, sqliteErrorCode, type Value } from '../../database/sqlite.ts';

/**
 * Deletes an error, known by its normalised text, in every project, and makes sure that it is not recorded again: what
 * stays is a fingerprint. All of it or nothing; returns how much of each kind. The bytes of what was deleted are
 * overwritten; see eraseTraces().
 */
export function forgetError(error: string, ts: string, db: Db) {
  const { sqlite } = db;
  sqlite.exec('PRAGMA secure_delete = ON');
  return sqlite.transaction(() => {
    const wordings = wordingsOf(error, db);
    const forgotten = 'INSERT OR IGNORE INTO forgotten_errors(fingerprint, ts) VALUES (?, ?)';
    sqlite.run(forgotten, fingerprint(error), ts);
    forgetInLedger(error, db);
    return {
      errors: sqlite.run('DELETE FROM error_kb WHERE error_normalized = ?', error).changes,
      events: sqlite.run(`DELETE FROM events WHERE ${IS_EVENT_OF}`, error).changes,
      /** Of sessions that named it; they are kept without it. */
      summaries: cleanSummaries(wordings, db),
      /** Notes of what agents were given that quoted it. */
      contexts: deleteContexts(wordings, db),
      /** Answers of an analysis that quoted it, and suggested lessons of it. */
      analyses:
        sqlite.run(`DELETE FROM suggestions WHERE ${OF_LESSON}`, error).changes +
        deleteAnalyses(wordings, db),
    };
  });
}

const IS_EVENT_OF = `type = 'tool_error' AND CASE WHEN json_valid(data) THEN json_extract(data, '$.error') END = ?`;

/** The error as it is recognised, and the lines that were printed when it happened: those are what others quote. */
function wordingsOf(error: string, { sqlite }: Db): string[] {
  const rows = sqlite.all(
    `SELECT said FROM error_kb WHERE error_normalized = ?
     UNION SELECT json_extract(data, '$.said') FROM events WHERE ${IS_EVENT_OF}`,
    ...[error, error],
  );
  return [error, ...readTexts(rows.map(({ said }) => said)).filter(Boolean)];
}

/** Those that have one of them as JSON writes it, and so also inside a longer text. */
function deleteAnalyses(wordings: readonly string[], { sqlite }: Db): number {
  const written = wordings.map((wording) => JSON.stringify(wording).slice(1, -1));
  const sql = `DELETE FROM analysis_cache
    WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE instr(analysis, value) > 0)`;
  return sqlite.run(sql, JSON.stringify(written)).changes;
}

/** What a model proposed to tell of it. */
const OF_LESSON = "type = 'lesson' AND json_extract(details, '$.lesson.errorKey') = ?";

const BATCH_ROWS = 500;

/** All rows of a query that takes the id after which to begin, and how many rows; so that a few are held at once. */
function* inBatches(sql: string, { sqlite }: Db): Generator<Row> {
  for (let after = -1; ; ) {
    const rows = sqlite.all(sql, after, BATCH_ROWS);
    yield* rows;
    if (rows.length < BATCH_ROWS) return;
    after = Number(rows.at(-1)?.id);
  }
}

/** Events cannot be changed: each is deleted and written again at its place without the error. */
function cleanSummaries(wordings: readonly string[], db: Db): number {
  let changed = 0;
  const summaries = "SELECT * FROM events WHERE type = 'session_summary' AND id > ? ORDER BY id LIMIT ?";
  for (const { id, v, ts, session_id, project, project_path, data } of inBatches(summaries, db)) {
    const summary = recordIn(data);
    if (!Array.isArray(summary.uniqueErrors)) continue;
    const uniqueErrors = summary.uniqueErrors.filter((one) => !wordings.includes(one));
    if (uniqueErrors.length === summary.uniqueErrors.length) continue;
    db.sqlite.run('DELETE FROM events WHERE id = ?', Number(id));
    db.sqlite.run(
      `INSERT INTO events(id, v, type, ts, session_id, project, project_path, data)
       VALUES (?, ?, 'session_summary', ?, ?, ?, ?, ?)`,
      ...([
        id,
        v,
        ts,
        session_id,
        project,
        project_path,
        JSON.stringify({ ...summary, uniqueErrors }),
      ] as Value[]),
    );
    changed++;
  }
  return changed;
}

function deleteContexts(wordings: readonly string[], db: Db): number {
  let deleted = 0;
  const contexts = 'SELECT id, text FROM given_contexts WHERE id > ? ORDER BY id LIMIT ?';
  for (const { id, text } of inBatches(contexts, db))
    if (wordings.some((wording) => quotesError(String(text), wording)))
      deleted += db.sqlite.run('DELETE FROM given_contexts WHERE id = ?', Number(id)).changes;
  return deleted;
}

/** Less of an error than this says nothing of it. */
const QUOTE_LENGTH_MIN = 12;
/** A context quotes no more of it. */
const QUOTE_LENGTH_MAX = 200;

/** Returns true if one of the lines is `- ` and the error, whole or cut off, as contexts quote it. */
function quotesError(text: string, error: string): boolean {
  const wanted = inertText(error, QUOTE_LENGTH_MAX);
  return text.split('\n').some((line) => {
    const quoted = inertText(line.replace(/^- /, ''), line.length);
    if (quoted.startsWith(wanted)) return true;
    return quoted.endsWith('…') && quoted.length > QUOTE_LENGTH_MIN && wanted.startsWith(quoted.slice(0, -1));
  });
}

type Erased = { readonly kind: 'erased' } | { readonly kind: 'failed'; readonly reason: string };

/**
 * Removes what is left in the file of rows that were deleted or changed before, by whom and when ever: words in the
 * search index, which only loses them when its parts are joined, unused pages, the log. Takes seconds for a large
 * database; hooks that come meanwhile leave what they have in the spool.
 */
export function eraseTraces({ sqlite }: Db): Erased {
  try {
    for (const name of ['error_kb_text', 'event_text'])
      sqlite.run(`INSERT INTO ${name}(${name}) VALUES ('optimize')`);
    sqlite.exec('VACUUM');
    const [log] = sqlite.all('PRAGMA wal_checkpoint(TRUNCATE)');
    return log?.busy === 0 ? { kind: 'erased' } : { kind: 'failed', reason: 'another program is reading it' };
  } catch (error) {
    if (sqliteErrorCode(error) === undefined) throw error;
    return { kind: 'failed', reason: (error as Error).message };
  }
}
