import type { Db } from './connection.ts';
import { type ErrorFilter, filterCondition } from './error-entries.ts';

/** Searching errors for a person: the index of SQLite finds and ranks. */

export type ErrorSearch = {
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
        expression,
        ...values,
        JSON.stringify(found),
        phrase,
        JSON.stringify(ownProject),
        left,
      )
      .map((row) => Number(row.id));
  const all = matching(words.map(termOf).join(' AND '), limit, []);
  if (all.length >= limit || words.length === 1) return all;
  return [...all, ...matching(words.map(termOf).join(' OR '), limit - all.length, all)];
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
