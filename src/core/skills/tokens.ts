import { englishEntry } from './english.ts';
import { lexicon } from './lexicon.ts';

/** What a text is cut into before its words are looked up. */
export type Token = {
  readonly is: 'english' | 'korean' | 'name' | 'break';
  readonly text: string;
  /** Nothing stands between it and the token before. */
  readonly isGlued: boolean;
};

const TOKENS_MAX = 3000;
const LATIN_LENGTH_MAX = 100;

/** A blank in front says that the token before has ended. */
const TOKEN = / ?(?:[A-Za-z0-9_@/.:#'’\\=~+-]{0,100}[A-Za-z0-9_]|[가-힣ㄱ-ㅎ]+|[^ ])/g;
const LOWER_CASE = /^[a-z]+$/;
const BREAKS = ',.;:!?()[]{}|、。…—–-';
const PLAIN_WORD = /^[A-Za-z]+(?:['’][a-z]{1,2})?$/;
/** Paths, addresses, calls, options, numbers, `camelCase`. */
const NAME = /[/\\@=_:]|[A-Za-z0-9]\.[A-Za-z0-9]|^--|^#|\d|[a-z][A-Z]/;
const HTTP_METHOD = /^(?:GET|POST|PUT|PATCH|DELETE)$/;

/** The tokens of a text; what is neither a word nor a break is left out. */
export function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.replace(/\s+/g, ' ').match(TOKEN) ?? []) {
    if (tokens.length >= TOKENS_MAX) break;
    const isGlued = match.charCodeAt(0) !== 0x20;
    const piece = isGlued ? match : match.slice(1);
    const code = piece.charCodeAt(0);
    if (code >= 0x3131 && code <= 0xd7a3) tokens.push({ is: 'korean', text: piece, isGlued });
    else if (LOWER_CASE.test(piece)) tokens.push({ is: 'english', text: piece, isGlued: false });
    else if (/[A-Za-z0-9]/.test(piece)) splitLatin(piece, tokens);
    else if (BREAKS.includes(piece)) tokens.push({ is: 'break', text: piece, isGlued });
  }
  return tokens;
}

function englishToken(word: string): Token {
  const text = HTTP_METHOD.test(word) ? 'http_method' : plain(word);
  return { is: 'english', text, isGlued: false };
}

/** `pre-prod` and `request/response` are words, `src/a.ts` and `useState` are names. */
function splitLatin(piece: string, tokens: Token[]): void {
  if (PLAIN_WORD.test(piece) && !/[a-z][A-Z]/.test(piece)) {
    tokens.push(englishToken(piece));
    return;
  }
  const { entries } = lexicon();
  const text = piece.slice(0, LATIN_LENGTH_MAX).replace(/^[.:'’#~+-]+(?=[A-Za-z])/, '');
  const lower = plain(text);
  const parts = text.split(/[-/]/, 5);
  const isKnown = (part: string) => englishEntry(part.toLowerCase()) !== undefined;
  const isWords =
    parts.length > 1 && parts.length < 5 && parts.every((part) => PLAIN_WORD.test(part) || isKnown(part));
  if (!entries.has(lower) && isWords && (!text.includes('/') || parts.every(isKnown))) {
    for (const part of parts) tokens.push(englishToken(part));
    return;
  }
  const isName = englishEntry(lower) === undefined && NAME.test(text);
  tokens.push({ is: isName ? 'name' : 'english', text: lower, isGlued: false });
}

function plain(word: string): string {
  const lower = word.toLowerCase().replace('’', "'");
  return lower.endsWith("'s") && lower !== "let's" ? lower.slice(0, -2) : lower;
}
