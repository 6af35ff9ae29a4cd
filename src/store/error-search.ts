import { type Candidate, rankTexts, type SearchWord } from '../core/word-search.ts';
import type { Db } from './connection.ts';
import { type ErrorFilter, filterCondition } from './error-entries.ts';
import type { Value } from './sqlite.ts';

/**
 * Searching errors for a person, fast on 100,000 rows. SQLite's own ranking reads every row that has the word, which
 * can be all of them, and so does its search for beginnings of words. Here the index is only asked for what it gives
 * one row after the other, the newest first, and only for a bounded number; those texts are ranked by
 * core/word-search.ts.
 */

/** Columns of error_kb_text, and how much a word in them counts. */
const WEIGHTS = { error: 8, files: 4, raw: 2, fix: 1 } as const;
const CANDIDATES_MAX = 60;
/**
 * How many matches are held against the filter one by one: as many as it should take to find enough, judging by how
 * many of the newest rows fit it. Above the most, what fits it is collected first, which reads an index of all rows.
 */
const SAMPLE_ROWS = 1000;
const LOOKED_AT_MIN = 1000;
const LOOKED_AT_MAX = 8000;
const MARGIN = 2;
/** So few texts are looked through without the index. */
const DIRECT_MAX = 1000;
/** A phrase of frequent words that never stand together would be looked for in every row. */
const PHRASE_ROWS_MAX = 20_000;
/** As many words of the index as may stand for the beginning of one; see beginning(). */
const TERMS_MAX = 30;

export type ErrorSearch = {
  readonly words: readonly SearchWord[];
  readonly filter: ErrorFilter;
  /** Spellings of the project whose errors come first. */
  readonly ownProject: readonly string[];
  readonly limit: number;
};

/** The ids of the errors that match, best first. */
export function searchErrors(search: ErrorSearch, db: Db): number[] {
  const { words, ownProject, limit } = search;
  const candidates = readCandidates(gather(search, db), ownProject, db);
  const ranking = { weights: Object.values(WEIGHTS), comparedMax: Math.max(CANDIDATES_MAX, limit) };
  return rankTexts(words, candidates, ranking).slice(0, limit);
}

/** Candidates in steps, until there are enough: all words whole, all words as beginnings, then each for itself. */
function gather(search: ErrorSearch, db: Db): readonly number[] {
  const { words, limit } = search;
  if (words.length === 0) return [];
  const index = new Index(search, db);
  const few = index.fewAtAll();
  if (few !== undefined) return few;
  const ids = new Set<number>();
  const add = (found: readonly number[]) => {
    for (const id of found) ids.add(id);
  };
  if (words.length > 1) add(index.recent(`"${words.map(({ text }) => text).join(' ')}"`));
  add(index.matching(words.map(whole).join(' AND ')));
  if (ids.size < limit && words.some(({ isOpen }) => isOpen)) {
    add(index.matching(words.map((word) => beginning(word, db)).join(' AND ')));
  }
  if (ids.size >= limit || words.length === 1) return [...ids];
  const share = Math.ceil((2 * CANDIDATES_MAX) / words.length);
  for (const word of words) {
    const found = index.matching(whole(word));
    add(found.slice(0, share));
    if (found.length < limit && word.isOpen) add(index.matching(beginning(word, db)).slice(0, share));
  }
  return [...ids];
}

function whole({ text }: SearchWord): string {
  return `"${text}"`;
}

/**
 * The word, or what begins with it. For a star the index collects all places of all those words before it gives the
 * first row, a hundred thousand for `err`; the words that there are, put one beside the other, it walks through.
 */
function beginning(word: SearchWord, db: Db): string {
  const last = word.parts.at(-1) ?? '';
  if (!word.isOpen || last === '') return whole(word);
  const terms = termsFrom(last, db);
  if (terms.length > TERMS_MAX) return `${whole(word)}*`;
  const before = word.parts.slice(0, -1).map((part) => `${part} `);
  return `(${[whole(word), ...terms.map((term) => `"${before.join('')}${term}"`)].join(' OR ')})`;
}

/** The words of the index that begin with this, one more than are wanted at most. */
function termsFrom(beginning: string, db: Db): string[] {
  // Each place of each word is a row of this view, so that one can leap from a word to the next without counting.
  db.sqlite.exec(
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.error_kb_terms USING fts5vocab('main', 'error_kb_text', 'instance')",
  );
  const terms: string[] = [];
  for (let from = beginning; terms.length <= TERMS_MAX; ) {
    const row = db.sqlite.get(
      'SELECT term FROM temp.error_kb_terms WHERE term >= ? AND term < ? LIMIT 1',
      from,
      `${beginning}\u{10ffff}`,
    );
    if (row === undefined) break;
    terms.push(String(row.term));
    from = `${row.term}\u0001`;
  }
  return terms;
}

/** The search index, seen through a filter. */
class Index {
  readonly #filter: { sql: string; values: Value[] };
  readonly #own: readonly string[];
  readonly #enough: number;
  readonly #most: number;
  readonly #db: Db;
  readonly #lookedAt: number;
  #fitting: readonly number[] | undefined;

  constructor({ filter, ownProject, limit }: ErrorSearch, db: Db) {
    this.#filter = filterCondition(filter);
    this.#own = ownProject;
    this.#enough = limit;
    this.#most = Math.max(CANDIDATES_MAX, limit);
    this.#db = db;
    this.#lookedAt = Math.max(LOOKED_AT_MIN, Math.ceil((MARGIN * limit) / this.#share()));
  }

  /** Which part of the newest rows fits the filter. */
  #share(): number {
    const row = this.#db.sqlite.get(
      `SELECT COUNT(*) AS looked, COUNT(*) FILTER (WHERE ${this.#filter.sql}) AS fitting
       FROM (SELECT project_path, resolution FROM error_kb ORDER BY id DESC LIMIT ?)`,
      ...this.#filter.values,
      SAMPLE_ROWS,
    );
    return Number(row?.looked) === 0 ? 1 : Number(row?.fitting) / Number(row?.looked);
  }

  /** Everything that fits the filter, the newest first, when that is little. */
  fewAtAll(): readonly number[] | undefined {
    if (this.#lookedAt <= LOOKED_AT_MAX) return undefined;
    this.#fitting = this.#fittingAtAll();
    return this.#fitting.length <= DIRECT_MAX ? this.#fitting : undefined;
  }

  /** The newest that match, those of the own project first. */
  matching(expression: string): readonly number[] {
    if (this.#fitting === undefined) {
      const { ids, isComplete } = this.#look(expression, 0);
      if (isComplete || ids.length >= this.#enough) return ids;
      this.#fitting = this.#fittingAtAll();
    }
    return this.#db.sqlite
      .all(
        `SELECT rowid AS id FROM error_kb_text
         WHERE error_kb_text MATCH ? AND +rowid IN (SELECT value FROM json_each(?)) ORDER BY rowid DESC LIMIT ?`,
        expression,
        JSON.stringify(this.#fitting),
        this.#most,
      )
      .map(({ id }) => Number(id));
  }

  /** Those that match among the newest rows. */
  recent(expression: string): readonly number[] {
    const newest = Number(this.#db.sqlite.get('SELECT MAX(id) AS id FROM error_kb')?.id ?? 0);
    return this.#look(expression, newest - PHRASE_ROWS_MAX).ids;
  }

  /** Answers in one row: a row for each match would cost more than finding them. */
  #look(expression: string, after: number): { ids: number[]; isComplete: boolean } {
    const lookedAt = Math.min(this.#lookedAt, LOOKED_AT_MAX);
    const own = `project_path IN (${this.#own.map(() => '?').join(', ') || 'NULL'})`;
    const row = this.#db.sqlite.get(
      `SELECT COUNT(*) AS looked, json_group_array(id) FILTER (WHERE ${this.#filter.sql} AND ${own}) AS own,
         json_group_array(id) FILTER (WHERE ${this.#filter.sql} AND NOT ${own}) AS others FROM
         (SELECT rowid AS found FROM error_kb_text WHERE error_kb_text MATCH ? AND rowid > ? ORDER BY rowid DESC LIMIT ?)
       CROSS JOIN error_kb ON id = found`,
      ...this.#filter.values,
      ...this.#own,
      ...this.#filter.values,
      ...this.#own,
      expression,
      after,
      lookedAt,
    );
    const ids = [row?.own, row?.others].flatMap((list) => JSON.parse(String(list)) as number[]);
    return { ids: ids.slice(0, this.#most), isComplete: Number(row?.looked) < lookedAt };
  }

  #fittingAtAll(): number[] {
    return this.#db.sqlite
      .all(`SELECT id FROM error_kb WHERE ${this.#filter.sql}`, ...this.#filter.values)
      .map(({ id }) => Number(id))
      .sort((left, right) => right - left);
  }
}

/** Read as far as they are looked at. */
function* readCandidates(
  ids: readonly number[],
  ownProject: readonly string[],
  db: Db,
): Generator<Candidate, void> {
  const columns = Object.keys(WEIGHTS);
  for (let from = 0; from < ids.length; from += CANDIDATES_MAX) {
    const rows = db.sqlite.all(
      `SELECT k.id, k.project_path, ${columns.map((name) => `t.${name}`).join(', ')}
       FROM json_each(?) AS wanted CROSS JOIN error_kb AS k ON k.id = wanted.value
       CROSS JOIN error_kb_text AS t ON t.rowid = k.id`,
      JSON.stringify(ids.slice(from, from + CANDIDATES_MAX)),
    );
    for (const row of rows) {
      yield {
        id: Number(row.id),
        isOwn: ownProject.includes(String(row.project_path)),
        columns: columns.map((name) => String(row[name] ?? '')),
      };
    }
  }
}
