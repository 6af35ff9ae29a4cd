import type { NamesThatDiffer } from '../core/errors/error-names.ts';
import {
  differingNames,
  type ErrorTraits,
  errorSimilarity,
  errorTraits,
  markPhrases,
  mayShareMark,
  namesOf,
} from '../core/errors/similarity.ts';
import type { Db } from './connection.ts';
import type { Row } from './sqlite.ts';
import type { Scope } from './tellable.ts';

/** Of so many errors the newest solved ones are looked at; a search never ranks a large part of the table. */
const FOUND_MAX = 2000;
const CANDIDATES_MAX = 50;
const COMPARED_MAX = 8;
/** So alike that the others need not be compared. */
const SIMILARITY_ENOUGH = 0.95;
/** Anything of the same name is nearer. */
const OTHER_NAME = 0.5;
/** As much as letters of shared words. */
const MARK_SHARED = 50;
const WORDS_SEARCHED = 3;
const WORDS_TOGETHER = 6;
const LINES_SEARCHED = 3;
const NAMES_SEARCHED = 2;
const MARKS_SEARCHED = 24;

type Candidate = { readonly id: number; readonly text: string; readonly useCount: number };

/** A solved error like this one; `differing`: it is only alike, of something of another name. */
export type SimilarError = { readonly id: number; readonly differing: NamesThatDiffer | undefined };

/** The solved error within the scope that is most like this one, first of those of the same names; undefined when none is near enough. */
export function mostSimilarError(asked: ErrorTraits, scope: Scope, db: Db): SimilarError | undefined {
  let best: (SimilarError & { similarity: number; useCount: number }) | undefined;
  for (const { id, text, useCount } of nearest(asked, candidates(asked, scope, db))) {
    if (best !== undefined && best.similarity >= SIMILARITY_ENOUGH) break;
    const known = errorTraits(text);
    const likeness = errorSimilarity(asked, known);
    if (likeness === 0) continue;
    const differing = differingNames(asked, known);
    const similarity = differing === undefined ? likeness : likeness * OTHER_NAME;
    const isBetter =
      best === undefined ||
      similarity > best.similarity ||
      (similarity === best.similarity && useCount > best.useCount);
    if (isBetter) best = { id, differing, similarity, useCount };
  }
  return best;
}

/** The errors with a mark of this one, then those that share most of its words: a close comparison costs. */
function nearest(asked: ErrorTraits, rows: readonly Row[]): Candidate[] {
  const words = [...asked.words, namesOf(asked).map((name) => name.toLowerCase())];
  const found: { known: Candidate; shared: number }[] = [];
  for (const row of rows) {
    const known = { id: Number(row.id), text: String(row.text), useCount: Number(row.use_count ?? 0) };
    const text = known.text.toLowerCase();
    let shared = mayShareMark(asked, known.text) ? MARK_SHARED : 0;
    for (const group of words) for (const word of group) if (text.includes(word)) shared += word.length;
    found.push({ known, shared });
  }
  found.sort((left, right) => right.shared - left.shared);
  return found.slice(0, COMPARED_MAX).map(({ known }) => known);
}

/**
 * Errors with two of the longest words, with the longest words of one of several lines, or with the same code or cause
 * in other words. Where there are too many, also those of the same names, and those with all words of a line.
 */
function candidates(asked: ErrorTraits, scope: Scope, db: Db): Row[] {
  const all: string[] = [];
  const several: (readonly string[])[] = [];
  for (const words of asked.words) {
    all.push(...words);
    if (words.length > 1 && several.length < LINES_SEARCHED) several.push(words);
  }
  const expressions = pairsOf(longestOf(all, WORDS_SEARCHED));
  if (several.length > 1)
    for (const words of several) expressions.push(together(longestOf(words, WORDS_SEARCHED)));
  for (const phrases of markPhrases(asked).slice(0, MARKS_SEARCHED))
    expressions.push(`${together(phrases)}*`); // Korean and Japanese words go on behind what is searched for.
  const rows = search(expressions, scope, db);
  if (rows.length < CANDIDATES_MAX) return rows;
  const named = namesOf(asked).slice(0, NAMES_SEARCHED).map(asPhrase);
  const whole = several.map((words) => together(words.slice(0, WORDS_TOGETHER)));
  const nearer = [...search(named, scope, db), ...search(whole, scope, db), ...rows];
  return [...new Map(nearer.map((row) => [row.id, row])).values()];
}

/** Long words are rare words. */
function longestOf(words: readonly string[], most: number): string[] {
  const distinct: string[] = [];
  for (const word of words) if (!distinct.includes(word)) distinct.push(word);
  return distinct.sort((left, right) => right.length - left.length).slice(0, most);
}

/** Any two of the words; the one when there is no other. */
function pairsOf(words: readonly string[]): string[] {
  if (words.length < 2) return [...words].map(asPhrase);
  const pairs: string[] = [];
  for (let index = 0; index < words.length - 1; index++) {
    const others = words
      .slice(index + 1)
      .map(asPhrase)
      .join(' OR ');
    pairs.push(`${asPhrase(words[index] as string)} AND (${others})`);
  }
  return pairs;
}

/** The newest solved errors that fit any of the expressions. */
function search(expressions: readonly string[], scope: Scope, db: Db): Row[] {
  if (expressions.length === 0) return [];
  return db.sqlite.all(
    `SELECT id, use_count, COALESCE(error_raw, error_normalized) AS text
     FROM (SELECT rowid AS found FROM error_kb_text WHERE error_kb_text MATCH ? ORDER BY rowid DESC LIMIT ?)
     CROSS JOIN error_kb ON id = found WHERE typeof(resolution) = 'text' AND ${scope.sql} LIMIT ?`,
    `{error raw} : ((${expressions.join(') OR (')}))`,
    FOUND_MAX,
    scope.value,
    CANDIDATES_MAX,
  );
}

function together(phrases: readonly string[]): string {
  return phrases.map(asPhrase).join(' AND ');
}

function asPhrase(text: string): string {
  return `"${text.replaceAll('"', ' ')}"`;
}
