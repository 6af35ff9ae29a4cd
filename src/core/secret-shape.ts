/** What a value has to look like to be a secret, and how cheaply its surroundings are looked for. */
import { DOUBTFUL_WORDS, HARMLESS_NAME, SECRET_STEMS, SECRET_WORDS } from './secret-rules.ts';

/** Whether what a name names is a secret: surely, or only when it looks like one. */
type NameKind = 'sure' | 'doubtful' | undefined;

/** Judges `DB_PW`, `--client-secret`, `spring.datasource.password`, `비밀번호는`. */
export function nameKind(name: string): NameKind {
  const kind = kindByWords(name);
  return kind === undefined || isHarmless(name) ? undefined : kind;
}

function kindByWords(name: string): NameKind {
  const squashed = name.toLowerCase().replace(/[^a-z0-9가-힣]+/g, '');
  for (const stem of SECRET_STEMS) if (squashed.includes(stem)) return 'sure';
  const words = wordsOf(name);
  if (words.some((word) => SECRET_WORDS.has(word)) || /pass$|(?:^|:)_auth$/i.test(name)) return 'sure';
  return words.some((word) => DOUBTFUL_WORDS.has(word)) ? 'doubtful' : undefined;
}

/** Whether a text may have such names in it: mostly the only look that it costs. */
export function mayNameSecrets(searched: SearchedText): boolean {
  const isIn = (word: string) => searched.hasInAnyCase(word);
  if (isIn('key') || isIn('pass') || isIn('비밀')) return true;
  if (SECRET_STEMS.some(isIn) || isIn('connection') || isIn('phrase')) return true;
  for (const words of [SECRET_WORDS, DOUBTFUL_WORDS]) for (const word of words) if (isIn(word)) return true;
  return false;
}

let harmless: RegExp | undefined;

function isHarmless(name: string): boolean {
  harmless ??= new RegExp(HARMLESS_NAME, 'i');
  return harmless.test(name.replace(/(?<=[a-z])(?=[A-Z])/g, '_'));
}

/** `DB_PW`, `dbPw` and `db-pw2` are `db` and `pw`. */
function wordsOf(name: string): string[] {
  return name
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toLowerCase()
    .split(/[^a-z가-힣]+/);
}

export const REDACTED = '[REDACTED]';

const WORD_LENGTH_MIN = 3;

/** Whether the letters change their case as seldom as in words, paths and identifiers. */
export function isWordy(run: string): boolean {
  const words = run.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g) ?? [];
  return words.join('').length >= words.length * WORD_LENGTH_MIN;
}

/** Values that point at a secret, or say what there is instead of one. */
export function isReference(value: string): boolean {
  return /^(?:\$(?:[A-Za-z_({]|\[REDACTED|\d(?![\w$]))|%[A-Za-z_]+%|%[sdvr@]|\{\{|\{[A-Za-z_.]{0,40}(?:\}|$)|<[A-Za-z _-]{0,60}(?:>|$)|\*{2,}|x{3,}$|\.{3}|\.{1,2}[\\/]|\[(?:REDACTED|PRIVATE|SENSITIVE)|process\.env|os\.environ|env\.|https?:(?:\/\/|\[REDACTED)|[\^~>=v]{0,2}\d{1,4}\.\d{1,4}\.\d{1,6}(?!\w)|(?:null|undefined|none|nil|true|false|include|same-origin|omit)(?![\w-]))/i.test(
    value,
  );
}

/** What follows a name in a sentence: `--password is required`, `API_KEY: not set`. */
export function isSmallWord(value: string): boolean {
  return /^(?:an?|and|are|argument|as|by|can|cannot|did|does|empty|expired|flag|for|from|given|has|in|instead|invalid|is|may|missing|must|needs?|not|of|on|option|or|parameter|required|requires|set|should|the|to|unset|value|was|were|when|will|with)[.:!?]?$/i.test(
    value,
  );
}

/** Source text: `getToken(`, `ENV[`, `req.headers.authorization`, `await`. */
export function isCode(value: string, afterBlank: boolean): boolean {
  if (/^[A-Za-z_$][A-Za-z_$.]{0,64}[([]/.test(value)) return true;
  return (
    afterBlank && /^(?:await|new|async|function|[A-Za-z_$]{2,40}(?:\??\.[A-Za-z_$]{2,40})+)$/.test(value)
  );
}

const MADE_LENGTH_MIN = 8;
/** So often letters follow digits, or digits letters, in no name. */
const TURNS_MIN = 5;

/** Whether nobody would choose this as a name: letters and digits in turn, no path, version, date or UUID. */
export function isMade(value: string): boolean {
  if (!/^[\w+/=.~:,%@!#$^&*-]+$/.test(value)) return false;
  if (value.length < MADE_LENGTH_MIN || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value) || /^v?\d+\.\d/.test(value)) return false;
  if (/^(?:\d{4}-\d{2}|[./~]|[A-Za-z]:[\\/])|\.[a-z]{1,5}$|[([{}]/.test(value)) return false;
  const bare = value.replace(/^(?:sha(?:1|256|512)|v\d|t)[=:,]/i, '');
  const segments = bare
    .split(/[/_.:-]/)
    .filter((segment) => segment.length >= 3 && /^[A-Za-z]+$/.test(segment));
  if (/^[0-9a-f]{32,}$/i.test(bare)) return true;
  const turns = bare.match(/\d[A-Za-z]|[A-Za-z](?=\d)/g) ?? [];
  return (!isWordy(bare) || turns.length >= TURNS_MIN) && segments.filter(isWordy).length < 2;
}

/** Whether this is a password as people make them, in the middle of a sentence or a command: `Tiger-4821!x`. */
export function isPasswordLike(value: string): boolean {
  if (value.length < 6 || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^(?:[./~$<>{([]|[A-Za-z]:[\\/])|:\/\/|^v?\d+\.\d|\.[a-z]{1,5}$|[=({[]/.test(value)) return false;
  return /[!#%^&*?+~@$]/.test(value) || isMade(value);
}

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
