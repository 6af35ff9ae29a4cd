/** What a value has to look like to be a secret, and how cheaply its surroundings are looked for. */
import { DOUBTFUL_WORDS, HARMLESS_NAME, SECRET_STEMS, SECRET_WORDS } from './secret-rules.ts';

/** Secrets that their names give away: headers, settings, options, and sentences. */

/** Takes out what stands behind the name of a secret, wherever that is a value. */
export function redactNamed(searched: SearchedText): string {
  const has = (word: string) => searched.hasInAnyCase(word);
  let safe = searched.text;
  if (['authorization', 'cookie', 'bearer', 'basic'].some(has)) safe = redactHeaders(safe);
  if (!mayNameSecrets(searched)) return safe;
  safe = redactSettings(safe);
  if (has('-')) safe = redactOptions(safe);
  if (SAID_NAMES.some(has)) safe = redactSentences(safe);
  if (has('secret') || has('data:\n')) safe = redactManifest(safe);
  return ['mnemonic', 'seed', 'phrase', 'wallet', '니모닉', '시드', '복구'].some(has)
    ? redactMnemonics(safe)
    : safe;
}

function redactHeaders(text: string): string {
  const authorization =
    /\b((?:proxy-)?authorization\\?["']?\]?[ \t]{0,3}[:=][ \t]{0,3}\\?["']?(?:(?:bearer|basic|token|digest|apikey|[a-z-]{2,24}(?=[ \t]{1,3}(?:\[REDACTED|[^\s"',;]{0,400}\d)))[ \t]{1,3})?)([^\s"',;\\]{4,4000})/gi;
  const cookie =
    /\b((?:set-)?cookie\\?["']?[ \t]{0,3}:[ \t]{0,3}\\?["']?)(?=[^\r\n"';]{0,400}=)[^\r\n"']{3,}[^\r\n"'\\]/gi;
  const bearer = /\b(bearer[ \t]{1,3})(?=[\w.~+/-]{0,400}\d)([\w.~+/=-]{16,4000})/gi;
  const basic = /\b(basic[ \t]{1,3})([A-Za-z0-9+/]{16,4000}={0,2})(?![\w.+/-])/gi;
  const hide = (all: string, before: string, value: string) =>
    isReference(value) || isSmallWord(value) ? all : before + REDACTED;
  return text
    .replace(authorization, hide)
    .replace(cookie, `$1${REDACTED}`)
    .replace(bearer, hide)
    .replace(basic, (all, before: string, value: string) => (isWordy(value) ? all : before + REDACTED));
}

const QUOTED =
  '\\\\"[^"\\n]{1,2000}"?|"(?:[^"\\\\\\n]|\\\\.){1,2000}"?|\\\\\'[^\'\\n]{1,2000}\'?|\'(?:[^\'\\\\\\n]|\\\\.){1,2000}\'?';
const BARE = '[^\\s"\',;&<>)}\\]\\\\][^\\s"\',;&<>)}\\]]{0,2000}|<[\\w -]{0,60}>';
const WORDS_OF_A_MNEMONIC = '(?:[a-z]{3,8}[ ,]{1,2}){8,23}[a-z]{3,8}';

let value: RegExp | undefined;

/** `separator`: what stands between name and value, without blanks; empty between an option and its value. */
type NamedPlace = { readonly name: string; readonly separator: string; readonly isAfterBlank: boolean };

/** Goes from name to name and replaces the values that are secrets. */
function redactBehind(
  text: string,
  names: RegExp,
  placeOf: (found: RegExpExecArray) => NamedPlace | undefined,
): string {
  let kept = '';
  let at = 0;
  for (let found = names.exec(text); found !== null; found = names.exec(text)) {
    const kind = nameKind(found[1] ?? '');
    const place = kind && placeOf(found);
    if (kind === undefined || place === undefined) continue;
    value ??= new RegExp(`${QUOTED}|${WORDS_OF_A_MNEMONIC}|${BARE}`, 'y');
    value.lastIndex = names.lastIndex;
    const typed = value.exec(text)?.[0];
    if (typed === undefined) continue;
    const next = text.slice(value.lastIndex, value.lastIndex + 2);
    const hidden = hiddenValue(typed, kind, place, next);
    if (hidden === undefined) continue;
    kept += text.slice(at, names.lastIndex) + hidden;
    at = names.lastIndex + typed.length;
    names.lastIndex = at;
  }
  return at === 0 ? text : kept + text.slice(at);
}

/** `NAME=value`, `"name": "value"`, `<name>value</name>`, `name: NAME, value: x`, and a value on the next line of YAML. */
function redactSettings(text: string): string {
  if (!/[=:：＝>|]|value/.test(text)) return text;
  const names =
    /(?<![\w가-힣.-])([\w가-힣.-]{1,160})(?:\\?["'`]?\]?|\)(?==)|[ \t]{0,40}\[\w{0,20}\])(?:[ \t]{0,40}(=>|<-|->|:=|[=:：＝→])[ \t]{0,40}(?:(?:[|>][+-]?\d?[ \t]{0,8})?\r?\n[ \t]{1,40}(?:- )?(?![\w."'-]{1,80}["']?[:=](?:\s|$)))?(?:\[\s{0,8}(?=["']))?|(>)|\s{0,40},?\s{0,40}(?:\\?["'])?(value)(?:\\?["'])?\s{0,8}[:=]\s{0,8}|[ \t]{1,8}(\|)[ \t]{1,8}|[,(][ \t]{0,8}(?=["']))/gi;
  return redactBehind(text, names, (found) => {
    const [all, name = '', sign, tag, attribute] = found;
    if (
      tag !== undefined &&
      !/[</]$/.test(text.slice(Math.max(0, found.index - 1), found.index)) &&
      !/["']>$/.test(all)
    )
      return undefined;
    return {
      name,
      separator:
        sign ??
        (tag === undefined ? undefined : all.endsWith('">') ? '">' : tag) ??
        (attribute === undefined ? '|' : '='),
      isAfterBlank: /\s$/.test(all),
    };
  });
}

/** `--name value`, `'--name', 'value'`. */
function redactOptions(text: string): string {
  const names =
    /(?<![\w가-힣.-])(--?[A-Za-z가-힣][\w가-힣.-]{1,80})(?:[ \t]{1,8}|["'],\s{0,40}(?=["']))(?!-)/g;
  return redactBehind(text, names, ([, name = '']) => ({ name, separator: '', isAfterBlank: true }));
}

/** What the names of which sentences speak have in them. */
const SAID_NAMES = 'pass pwd pw secret token api credential 비밀 비번 암호 패스 인증키 토큰 시크릿'.split(
  ' ',
);

/** `the password is X`, `비밀번호는 X`. */
function redactSentences(text: string): string {
  const names =
    /(?<![\w가-힣.-])((?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[ _-]?key|credentials?|pw|비밀 ?번호|비번|암호|패스워드|인증키|토큰|시크릿|비밀키)s?[은는이가을를도로]?)(?: for \S{1,40}?)?(?:[ \t]{1,4}(?:is|was|to|as|are|now|이제|지금)){0,2}(?:[ \t]{0,2}:[ \t]{0,4}|[ \t]{1,4})`?(?=["']?[!-~]{6})/gi;
  return redactBehind(text, names, ([all, name = '']) => ({
    name,
    separator: isSaid(all, name) ? 'is' : ' ',
    isAfterBlank: true,
  }));
}

/** `the password is`, `비밀번호는`: what follows is said to be it. */
function isSaid(all: string, name: string): boolean {
  return all.replace('`', '').trim() !== name || /[은는이가을를도]$/.test(name);
}

/** What is to stand there instead of the value; undefined when it is none. `next`: what follows it. */
function hiddenValue(typed: string, kind: NameKind, place: NamedPlace, next: string): string | undefined {
  const quote = /^\\?["']/.exec(typed)?.[0] ?? '';
  const bare = typed.slice(quote.length).replace(quote === '' ? /$^/ : /\\?["']$/, '');
  if (isReference(bare) || isDirectory(place.name, bare)) return undefined;
  if (/^[^A-Za-z0-9가-힣]{0,3}$/.test(bare)) return undefined;
  const isSecret =
    kind === 'doubtful'
      ? place.separator !== '|' && (isMade(bare) || isKey(bare, place))
      : isSecretHere(bare, place, quote !== '', next);
  if (!isSecret) return undefined;
  const closing = quote === '' ? '' : (/\\?["']$/.exec(typed.slice(quote.length))?.[0] ?? '');
  return `${quote}${REDACTED}${closing}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Of a setting of the environment, and of what can be nothing else, also a UUID or a password as people make them. */
function isKey(bare: string, { name, separator }: NamedPlace): boolean {
  const isSetting =
    separator === '' || (separator === '=' && /^[A-Z0-9_]+$/.test(name) && !/_ID$/.test(name));
  return (
    (isSetting ||
      /sessid$|signature(?:-\d+)?$|hmac$|^x-/i.test(name) ||
      (separator === '=' && /^(?:sid|session|sessionid)$/.test(name))) &&
    (isPasswordLike(bare) || UUID.test(bare) || /^(?=[A-Z]*\d)[A-Z0-9]{16,}$/i.test(bare))
  );
}

/** Whether the value of a name that surely names a secret is one: not in code, in a comparison or in prose. */
function isSecretHere(bare: string, place: NamedPlace, isQuoted: boolean, next: string): boolean {
  const { name, separator, isAfterBlank } = place;
  if (/^(?:[ |→]|->)$/.test(separator)) return isPasswordLike(bare) || UUID.test(bare);
  if (separator === '>' && !next.startsWith('<')) return isPasswordLike(bare);
  if (separator === 'is')
    return isPasswordLike(bare) || /^(?=\D*\d)(?!v?\d+\.?\d*$|\d{1,5}$)[\w`-]{6,80}$/.test(bare);
  if (separator === '=' && /^[=>~]/.test(bare)) return false; // a comparison
  if (separator === '' && !isQuoted && isPlaceholder(bare, name)) return false; // `[--token TOKEN]`
  if (separator === '' && /^(?:id|type|src|env)=/.test(bare)) return false; // `docker build --secret id=x`
  if (!isQuoted && separator !== '=' && isSmallWord(bare)) return false;
  if (!isQuoted && (isCode(bare, isAfterBlank) || next.startsWith('('))) return false;
  if (/pass$/i.test(name) && /^\d{1,5}$/.test(bare)) return false;
  if (name === 'PASS' && separator === ':' && !isQuoted) return isMade(bare);
  const isWord = isWordy(bare) && /^[A-Za-z]{1,24}(?:[.!?]|\[|\|[A-Za-z|]{0,40})?$/.test(bare);
  if (separator === '">') return !isWord;
  // `=` and upper-case names are settings; `name: word` is mostly prose, so there the value must look made.
  const isSetting = !/^(?::=?|=>|：)$/.test(separator) || /^(?:[A-Z0-9_]+$|[Xx]-)/.test(name) || isQuoted;
  if (isSetting) return true;
  if (/[가-힣]/.test(name)) return !/^[가-힣]+[.!?]?$/.test(bare);
  return !isWord && !/^.?[\\/]/.test(bare);
}

/** Stands for a value in a program's help. */
function isPlaceholder(value: string, name: string): boolean {
  const word = /^[A-Z_]{2,}(?=[\]).,]?$)/.exec(value)?.[0];
  return word !== undefined && name.toUpperCase().replaceAll('-', '_').includes(word);
}

/** The `PWD` that is a directory. */
function isDirectory(name: string, value: string): boolean {
  return /^(?:old)?pwd$/i.test(name) && /^[A-Za-z]?:?[\\/]/.test(value);
}

const NO_DATA = /^(?:apiVersion|kind|name|namespace|type|labels?|app|immutable)$/;

/** The values of a Secret of Kubernetes, whatever their names are. */
function redactManifest(text: string): string {
  const isSecret = /kind\\?["']?:\s{0,4}\\?["']?Secret\b/.test(text);
  if (!isSecret && !text.includes('data:\n')) return text;
  const entry =
    /((?:^|[\n{,])[ \t]{0,20}\\?["']?([\w.-]{1,120})\\?["']?:[ \t]{0,8}\\?["']?)([^\s"',{}[\]\\:]{4,8000})(?=\\?["']?[ \t]{0,8}(?:$|[\r\n,}]))/g;
  return text.replace(entry, (all, before: string, name: string, value: string) => {
    const isEncoded =
      value.length % 4 === 0 &&
      /^[A-Za-z0-9+/]{8,}={0,2}$/.test(value) &&
      (/=$/.test(value) || !isWordy(value));
    const isData = !NO_DATA.test(name) && !isReference(value);
    return isData && (isEncoded || (isSecret && /\d|=/.test(value) && /[A-Za-z]/.test(value)))
      ? before + REDACTED
      : all;
  });
}

/** Words that stand in sentences and in no list of words to remember. */
const FUNCTION_WORDS =
  /(?:^| )(?:the|and|for|with|that|this|not|are|was|were|from|have|has|had|but|when|which|then|than|does|did|its|they|your|you|should|would|could)(?: |$)/;

/** Twelve to twenty-four words of a wallet. */
function redactMnemonics(text: string): string {
  return text.replace(
    /(?<![a-z-] |[\w'-])(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}(?![\w'-]| [a-z])/g,
    (words) => (words.split(/[ ,]+/).length % 3 === 0 && !FUNCTION_WORDS.test(words) ? REDACTED : words),
  );
}

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
function mayNameSecrets(searched: SearchedText): boolean {
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
function isCode(value: string, afterBlank: boolean): boolean {
  if (/^[A-Za-z_$][A-Za-z_$.]{0,64}[([]/.test(value)) return true;
  return (
    afterBlank && /^(?:await|new|async|function|[A-Za-z_$]{2,40}(?:\??\.[A-Za-z_$]{2,40})+)$/.test(value)
  );
}

const MADE_LENGTH_MIN = 8;
/** So often letters follow digits, or digits letters, in no name. */
const TURNS_MIN = 5;

/** Whether nobody would choose this as a name: letters and digits in turn, no path, version, date or UUID. */
function isMade(value: string): boolean {
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
