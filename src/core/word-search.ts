/**
 * A person's words against texts that have several columns: which texts match, and in what order. The store looks for
 * candidates with its index; what is said of them here does not depend on how they were found.
 */

export type SearchWord = {
  /** As the index is asked for it: letters, digits and blanks. */
  readonly text: string;
  /** Its parts in lower case and without accents: `Src/db.ts` has three. */
  readonly parts: readonly string[];
  /** Whether it may be the beginning of a longer word. */
  readonly isOpen: boolean;
};

const TEXT_LENGTH_MAX = 1000;
const WORDS_MAX = 10;

/** The words of a search. Any characters are allowed; what has neither letters nor digits is no word. */
export function parseSearch(search: string): SearchWord[] {
  const words = new Map<string, SearchWord>();
  for (const given of search.slice(0, TEXT_LENGTH_MAX).normalize('NFC').split(/\s+/)) {
    const text = given.replace(/[^\p{L}\p{N}\p{M}\p{Co}]+/gu, ' ').trim();
    const parts = fold(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
    const key = parts.join(' ');
    if (key !== '' && !words.has(key)) words.set(key, { text, parts, isOpen: isOpen(given, parts) });
    if (words.size === WORDS_MAX) break;
  }
  return [...words.values()];
}

/** An extension is whole, and so is a single letter: half of all words begin with it. Not so a syllable of Hangul. */
function isOpen(given: string, parts: readonly string[]): boolean {
  return !/\w\.\w{1,4}$/.test(given) && !/^[\x00-\u024f]$/.test(parts.at(-1) ?? '');
}

/** In lower case and without accents. */
function fold(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
    .toLowerCase();
}

export type Candidate = {
  readonly id: number;
  /** Of the project that is asked about. */
  readonly isOwn: boolean;
  /** In the order of the weights. */
  readonly columns: readonly string[];
};

export type Ranking = {
  /** How much a word counts in each column. */
  readonly weights: readonly number[];
  /** So many are compared with each other; when so many have all words, no further text is looked at. */
  readonly comparedMax: number;
};

/**
 * The ids of the texts that have at least one of the words, best first: what has all words before what has some, then
 * the words in their order and next to each other, then the own project, then BM25 with weights, then the newest. The
 * same texts always come in the same order. Texts that come earlier are preferred when there are too many.
 */
export function rankTexts(
  words: readonly SearchWord[],
  candidates: Iterable<Candidate>,
  { weights, comparedMax }: Ranking,
): number[] {
  const matches = likeliest(presences(words, candidates, comparedMax), words.length, comparedMax)
    .map(({ candidate }) => matchOf(words, candidate, weights))
    // The end of one column and the beginning of the next may have looked like `a/b`.
    .filter(({ counts }) => counts.some((count) => count > 0));
  const scores = bm25(matches, words.length);
  const score = ({ id }: Match) => scores.get(id) ?? 0;
  return matches
    .sort(
      (left, right) =>
        Number(right.hasAll) - Number(left.hasAll) ||
        Number(right.hasPhrase) - Number(left.hasPhrase) ||
        Number(right.isOwn) - Number(left.isOwn) ||
        score(right) - score(left) ||
        right.id - left.id,
    )
    .map(({ id }) => id);
}

/** Which words a text has at all: cheap, so that it can be asked of many. */
type Presence = { readonly candidate: Candidate; readonly has: readonly boolean[]; readonly hasAll: boolean };

function presences(
  words: readonly SearchWord[],
  candidates: Iterable<Candidate>,
  comparedMax: number,
): Presence[] {
  const found: Presence[] = [];
  let whole = 0;
  for (const candidate of candidates) {
    const text = fold(candidate.columns.join('\n'));
    const has = words.map((word) => countWord(word, text, 1) > 0);
    if (!has.includes(true)) continue;
    const hasAll = !has.includes(false);
    found.push({ candidate, has, hasAll });
    if (hasAll && ++whole >= comparedMax) break;
  }
  return found;
}

/** Those with all words, then those with the rarest. */
function likeliest(found: readonly Presence[], wordCount: number, most: number): readonly Presence[] {
  if (found.length <= most) return found;
  const rarity = rarities(
    found.map(({ has }) => has),
    wordCount,
  );
  const value = ({ has }: Presence) =>
    has.reduce((sum, isThere, index) => sum + (isThere ? (rarity[index] ?? 0) : 0), 0);
  return found
    .toSorted((left, right) => Number(right.hasAll) - Number(left.hasAll) || value(right) - value(left))
    .slice(0, most);
}

/** For each word how rare it is among the texts, as in BM25. */
function rarities(texts: readonly (readonly boolean[])[], wordCount: number): number[] {
  return Array.from({ length: wordCount }, (_, index) => {
    let having = 0;
    for (const has of texts) if (has[index]) having++;
    return Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
  });
}

type Match = {
  readonly id: number;
  readonly isOwn: boolean;
  readonly hasAll: boolean;
  readonly hasPhrase: boolean;
  /** For each word how often it occurs, weighted by column. */
  readonly counts: readonly number[];
  readonly length: number;
};

function matchOf(
  words: readonly SearchWord[],
  { id, isOwn, columns }: Candidate,
  weights: readonly number[],
): Match {
  const texts = columns.map(fold);
  const counts = words.map((word) =>
    texts.reduce((sum, text, index) => sum + (weights[index] ?? 1) * countWord(word, text), 0),
  );
  const hasAll = counts.every((count) => count > 0);
  const parts = words.flatMap((word) => word.parts);
  const phrase = { parts, isOpen: words.at(-1)?.isOpen === true };
  return {
    id,
    isOwn,
    hasAll,
    hasPhrase: hasAll && words.length > 1 && texts.some((text) => countWord(phrase, text, 1) > 0),
    counts,
    length: texts.reduce((sum, text) => sum + text.length, 0),
  };
}

/** A longer word that begins like the one that was looked for is worth half of it. */
const BEGINNING = 0.5;

/** How often the word occurs; it need not be counted further than to `enough`. */
function countWord(
  { parts, isOpen }: Pick<SearchWord, 'parts' | 'isOpen'>,
  text: string,
  enough = Number.POSITIVE_INFINITY,
): number {
  const [first = '', ...others] = parts;
  let count = 0;
  for (let at = text.indexOf(first); at >= 0 && count < enough; at = text.indexOf(first, at + first.length)) {
    if (isWordAt(text, at - 1)) continue;
    let end: number | undefined = at + first.length;
    for (const part of others) end = end === undefined ? undefined : endOfNext(part, text, end);
    if (end === undefined) continue;
    if (!isWordAt(text, end)) count++;
    else if (isOpen) count += BEGINNING;
  }
  return count;
}

/** Where the next word ends if it is, or begins with, this one; `from` is where the last one ended. */
function endOfNext(part: string, text: string, from: number): number | undefined {
  let at = from;
  while (at < text.length && !isWordAt(text, at)) at++;
  return at > from && text.startsWith(part, at) ? at + part.length : undefined;
}

/** Whether a letter or digit stands there: a loop over characters, because each expression is dear at its first use. */
function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x80) return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
  if (code >= 0xac00 && code <= 0xd7a3) return true; // Hangul
  if (!(code >= 0x80)) return false; // Outside of the text.
  const isSecondHalf = code >= 0xdc00 && code <= 0xdfff;
  return /^[\p{L}\p{N}\p{Co}]/u.test(text.slice(isSecondHalf ? at - 1 : at, at + 2));
}

const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;

/** BM25 among the matches: a word that few of them have counts more. */
function bm25(matches: readonly Match[], wordCount: number): Map<number, number> {
  const meanLength = matches.reduce((sum, { length }) => sum + length, 0) / Math.max(1, matches.length);
  const rarity = rarities(
    matches.map(({ counts }) => counts.map((count) => count > 0)),
    wordCount,
  );
  return new Map(
    matches.map(({ id, counts, length }) => {
      const norm = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / meanLength);
      const parts = counts.map(
        (count, index) => ((rarity[index] ?? 0) * count * (SATURATION + 1)) / (count + norm),
      );
      return [id, parts.reduce((sum, part) => sum + part, 0)];
    }),
  );
}
