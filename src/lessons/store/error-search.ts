import type { Db } from '../../database/connection.ts';
import type { Row } from '../../database/sqlite.ts';
import { isInformative } from '../errors/normalize-error.ts';
import * as alike from '../errors/similarity.ts';
import { findResolution, type KnownError, knownError, type Scope, tellableScopes } from './told-lessons.ts';

/** Which known error a failing call is, or is like: what hooks look for. */

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

/** The solved error within the scope that is most like this one, first of those of the same names; undefined when none is near enough. */
function mostSimilarError(asked: alike.ErrorTraits, scope: Scope, db: Db) {
  type Similar = Pick<KnownError, 'id' | 'useCount' | 'differing'> & { readonly similarity: number };
  let best: Similar | undefined;
  for (const { id, text, useCount } of nearest(asked, candidates(asked, scope, db))) {
    if (best !== undefined && best.similarity >= SIMILARITY_ENOUGH) break;
    const known = alike.errorTraits(text);
    const likeness = alike.errorSimilarity(asked, known);
    if (likeness === 0) continue;
    const differing = alike.differingNames(asked, known);
    const similarity = differing === undefined ? likeness : likeness * OTHER_NAME;
    const ahead = similarity - (best?.similarity ?? 0) || useCount - (best?.useCount ?? 0);
    if (ahead > 0) best = { id, differing, similarity, useCount };
  }
  return best;
}

/** The errors with a mark of this one, then those that share most of its words: a close comparison costs. */
function nearest(asked: alike.ErrorTraits, rows: readonly Row[]) {
  if (rows.length === 0) return []; // As mostly: then its names need not be looked for.
  const words = [...asked.words, alike.namesOf(asked).map((name) => name.toLowerCase())];
  const found = rows.map(({ id, text, use_count }) => {
    const [said, lower] = [String(text), String(text).toLowerCase()];
    let shared = alike.mayShareMark(asked, said) ? MARK_SHARED : 0;
    for (const group of words) for (const word of group) if (lower.includes(word)) shared += word.length;
    return { id: Number(id), text: said, useCount: Number(use_count ?? 0), shared };
  });
  return found.sort((left, right) => right.shared - left.shared).slice(0, COMPARED_MAX);
}

/**
 * Errors with two of the longest words, with the longest words of one of several lines, or with the same code or cause
 * in other words. Where there are too many, also those of the same names, and those with all words of a line.
 */
function candidates(asked: alike.ErrorTraits, scope: Scope, db: Db): Row[] {
  const several = asked.words.filter(({ length }) => length > 1).slice(0, LINES_SEARCHED);
  const expressions = pairsOf(longestOf(asked.words.flat(), WORDS_SEARCHED));
  if (several.length > 1)
    for (const words of several) expressions.push(together(longestOf(words, WORDS_SEARCHED)));
  for (const phrases of alike.markPhrases(asked).slice(0, MARKS_SEARCHED))
    expressions.push(`${together(phrases)}*`); // Korean and Japanese words go on behind what is searched for.
  const rows = search(expressions, scope, db);
  if (rows.length < CANDIDATES_MAX) return rows;
  const named = alike.namesOf(asked).slice(0, NAMES_SEARCHED).map(asPhrase);
  const whole = several.map((words) => together(words.slice(0, WORDS_TOGETHER)));
  const nearer = [...search(named, scope, db), ...search(whole, scope, db), ...rows];
  return [...new Map(nearer.map((row) => [row.id, row])).values()];
}

/** Long words are rare words. */
function longestOf(words: readonly string[], most: number): string[] {
  return [...new Set(words)].sort((left, right) => right.length - left.length).slice(0, most);
}

/** Any two of the words; the one when there is no other. */
function pairsOf(words: readonly string[]): string[] {
  const phrases = words.map(asPhrase);
  if (phrases.length < 2) return phrases;
  return phrases
    .slice(0, -1)
    .map((phrase, index) => `${phrase} AND (${phrases.slice(index + 1).join(' OR ')})`);
}

/** The newest solved errors that fit any of the expressions. */
function search(expressions: readonly string[], scope: Scope, db: Db): Row[] {
  if (expressions.length === 0) return [];
  return db.sqlite.all(
    `SELECT id, use_count, COALESCE(error_raw, error_normalized) AS text
     FROM (SELECT rowid AS found FROM error_kb_text WHERE error_kb_text MATCH ? ORDER BY rowid DESC LIMIT ?)
     CROSS JOIN error_kb ON id = found WHERE typeof(resolution) = 'text' AND ${scope.sql} LIMIT ?`,
    `{error raw} : ((${expressions.join(') OR (')}))`,
    ...[FOUND_MAX, scope.value, CANDIDATES_MAX],
  );
}

const together = (phrases: readonly string[]): string => phrases.map(asPhrase).join(' AND ');

const asPhrase = (text: string): string => `"${text.replaceAll('"', ' ')}"`;

const KB_COLUMNS = 'id, error_normalized, said, resolution, resolved_by, use_count, project_path, pinned';
const SAME_MAX = 8;
/** So much of an error's text a row has. */
const TEXT_STORED = 2000;

/**
 * The resolution that is known of this error (REQ-RA-002): of the one with the same normalised text, else of the most
 * similar one, first of those of the same names; what the project's own repository knows, else what a person shares of
 * another. `text` is the error as it was printed, redacted: it has the names and numbers that the normalised text masks,
 * and what lies behind its end. Null when nothing is near enough or the error says too little.
 */
export function searchErrorKB(
  normalizedError: string,
  projectPath: string | null,
  db: Db,
  text: string = normalizedError,
): KnownError | null {
  if (normalizedError === '' || !isInformative(normalizedError)) return null;
  if (!db.shape.has('error_kb_text', 'raw')) return findResolution(normalizedError, projectPath, db) ?? null;
  for (const scope of tellableScopes(projectPath, db)) {
    const same = sameError(normalizedError, text, scope, db);
    if (same !== undefined && same.differing === undefined) return same;
    const similar = alikeError(normalizedError, text, scope, db);
    const known = similar?.differing === undefined ? (similar ?? same) : (same ?? similar);
    if (known !== undefined) return known;
  }
  return null;
}

function alikeError(normalizedError: string, text: string, scope: Scope, db: Db): KnownError | undefined {
  const { id, differing } = mostSimilarError(alike.errorTraits(text), scope, db) ?? {};
  if (id === undefined) return undefined;
  const row = db.sqlite.get(`SELECT ${KB_COLUMNS} FROM error_kb WHERE id = ?`, id);
  const isOne = row !== undefined && isOfProgram(normalizedError, String(row.error_normalized));
  return isOne ? { ...knownError(row, scope), differing } : undefined;
}

/** Between what was printed and what was called in a key; see lessons/failure.ts. */
const BESIDE = ' · ';

/** A failure's key where nobody says what was called. */
export function keyOfText(key: string): string {
  return key.split(BESIDE, 1)[0] ?? key;
}

/** What helped one program helps no other, however alike what they print. */
function isOfProgram(key: string, other: string): boolean {
  const [program, known] = [key, other].map((one) => one.split(BESIDE)[1]?.split(' ', 1)[0]);
  return program === undefined || known === undefined || program === known;
}

/**
 * As findResolution(), but not what only looks the same because what differs is masked: `status code <N>`, `<STR> is
 * not recognized`; where that is a name, it is similar. Of a long error only what is stored can be compared.
 */
function sameError(normalizedError: string, text: string, scope: Scope, db: Db): KnownError | undefined {
  const rows = db.sqlite.all(
    `SELECT ${KB_COLUMNS}, error_raw FROM error_kb WHERE error_normalized = ? AND typeof(resolution) = 'text'
       AND ${scope.sql} ORDER BY use_count DESC LIMIT ?`,
    ...[normalizedError, scope.value, SAME_MAX],
  );
  let similar: KnownError | undefined;
  for (const row of rows) {
    const known = knownError(row, scope);
    if (row.error_raw === null || text.startsWith(String(row.error_raw))) return known;
    const stored = alike.errorTraits(String(row.error_raw));
    const asked = alike.errorTraits(text.slice(0, TEXT_STORED));
    if (alike.areDifferent(asked, stored)) continue;
    const differing = alike.differingNames(asked, stored);
    if (differing === undefined) return known;
    similar ??= { ...known, differing };
  }
  return similar;
}
