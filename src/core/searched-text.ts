/**
 * A text in which hundreds of words are looked for. One walk along it notes which pairs of characters it has; most words
 * that do not occur have a pair that it lacks, and cost no search of their own. Words are of ASCII or of letters without case.
 */
export class SearchedText {
  readonly text: string;
  readonly #lowerCase: string;
  readonly #pairs = new Uint8Array(PAIRS);

  constructor(text: string) {
    this.text = text;
    this.#lowerCase = text.toLowerCase();
    let before = 0;
    for (let at = 0; at < this.#lowerCase.length; at++) {
      const code = folded(this.#lowerCase.charCodeAt(at));
      this.#pairs[before * CODES + code] = 1;
      before = code;
    }
  }

  has(word: string): boolean {
    return this.#mayHave(word, 0, word.length) && this.text.includes(word);
  }

  /** `word`: in lower case. */
  hasInAnyCase(word: string): boolean {
    return this.#mayHave(word, 0, word.length) && this.#lowerCase.includes(word);
  }

  /** Whether it has one of the alternatives, which `|` parts. */
  hasOne(alternatives: string): boolean {
    for (let from = 0; from <= alternatives.length; ) {
      const bar = alternatives.indexOf('|', from);
      const end = bar < 0 ? alternatives.length : bar;
      if (this.#mayHave(alternatives, from, end) && this.text.includes(alternatives.slice(from, end)))
        return true;
      from = end + 1;
    }
    return false;
  }

  #mayHave(words: string, from: number, end: number): boolean {
    for (let at = from + 1; at < end; at++) {
      const pair = folded(words.charCodeAt(at - 1)) * CODES + folded(words.charCodeAt(at));
      if (this.#pairs[pair] === 0) return false;
    }
    return true;
  }
}

const CODES = 64;
const PAIRS = CODES * CODES;

/** The same for both cases of a letter. Other characters share a number too: then the search is made. */
function folded(code: number): number {
  return (code & 31) | ((code >> 1) & 32);
}
