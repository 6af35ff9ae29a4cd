import { type Entry, lexicon } from './lexicon.ts';

/** English words by their stems. */

const TYPO_LENGTH_MIN = 4;
const TYPO_LENGTH_MAX = 16;
const VOWELS = 'aeiouy';
const OFTEN_MISSED = 'aeiouynrtslcm';

/** The glossary's entry of a word in any of its regular shapes: `deploying`, `libraries`. */
export function englishEntry(word: string): Entry | undefined {
  const { entries } = lexicon();
  const known = entries.get(word);
  if (known !== undefined) return known;
  for (const shape of baseForms(word)) {
    const entry = entries.get(shape);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** What the regular shapes of an unknown word share: `reimbursed`, `vouchers`. */
export function englishStem(word: string): string {
  const singular = word.endsWith('s') ? (baseForms(word)[0] ?? word) : word;
  const base = /(?:ing|ed)$/.test(singular) ? (baseForms(singular)[0] ?? singular) : singular;
  return base.endsWith('e') && base.length > 4 ? base.slice(0, -1) : base;
}

/** Shorter words that this may be a shape of; the shortest regular one first. */
function baseForms(word: string): string[] {
  if (word.length < 4) return [];
  if (word.endsWith("'s")) return [word.slice(0, -2)];
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`, word.slice(0, -1)];
  if (word.endsWith('es') && !word.endsWith('ses')) return [word.slice(0, -1), word.slice(0, -2)];
  if (word.endsWith('s') && !word.endsWith('ss') && !word.endsWith('us'))
    return [word.slice(0, -1), word.slice(0, -2)];
  for (const suffix of ['ing', 'ed', 'er', 'ers', 'ly', 'ment', 'able']) {
    if (!word.endsWith(suffix) || word.length < suffix.length + 3) continue;
    const stem = word.slice(0, -suffix.length);
    const single = stem.at(-1) === stem.at(-2) ? [stem.slice(0, -1)] : [];
    const soft = stem.endsWith('i') ? [`${stem.slice(0, -1)}y`] : [];
    return [...single, stem, `${stem}e`, ...soft];
  }
  if (word.startsWith('re') && word.length > 6) return [word.slice(2)];
  return [];
}

/** The entry of the word that was probably meant: two letters swapped, one too many, one missing, a wrong vowel. */
export function misspelledEntry(word: string): Entry | undefined {
  if (word.length < TYPO_LENGTH_MIN || word.length > TYPO_LENGTH_MAX) return undefined;
  for (const shape of [word, ...baseForms(word)]) {
    const entry = correctedEntry(shape);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** The first letter is nearly always right. Short words have too many neighbours, so that only swaps count there. */
function correctedEntry(word: string): Entry | undefined {
  const { length } = word;
  for (let at = 1; at < length; at++) {
    const before = word.slice(0, at);
    const [here = '', next = ''] = word.slice(at, at + 2);
    const rest = word.slice(at + 1);
    let entry = next === '' ? undefined : correctEntry(before + next + here + rest.slice(1));
    if (entry === undefined && length >= 5)
      entry = correctEntry(before + rest) ?? correctEntry(before + here + here + rest);
    if (entry === undefined && length >= 6) entry = entryWithOther(before, here, rest);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function entryWithOther(before: string, here: string, rest: string): Entry | undefined {
  const isVowel = VOWELS.includes(here);
  for (const letter of OFTEN_MISSED) {
    const entry =
      correctEntry(before + letter + here + rest) ??
      (isVowel && VOWELS.includes(letter) ? correctEntry(before + letter + rest) : undefined);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function correctEntry(word: string): Entry | undefined {
  const entry = word.length < TYPO_LENGTH_MIN ? undefined : lexicon().entries.get(word);
  return entry?.kind === 'empty' ? undefined : entry;
}
