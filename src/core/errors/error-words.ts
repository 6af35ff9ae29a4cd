/** The words of an error's lines, and how much each tells. */

/** Names: what is other in one place than in the next. */
const QUOTED = /"[^"\n]*"|`[^`\n]*[`']|‘[^’\n]*’|“[^”\n]*”|(?<![A-Za-z\d])'[^'\n]*'/g;
/** Quoted, but part of the message: keywords, and whole sentences. */
const SAID =
  /^.(?:null|undefined|none|nonetype|string|number|never|unknown|any|void|boolean|object|await|default).$|(?:\S+ ){3}/i;
/** Addresses and paths. */
const PLACE = /\S*[/\\]\S*/g;
const WORD = /[A-Za-z_$\u00aa-\u1fff\u3040-\ud7a3][\w$.\u00aa-\u1fff\u3040-\ud7a3]*/g;
const IDENTIFIER = /[a-z\d][_.$][a-z\d]|\d|[a-z][A-Z]/;
/** Words of every text, and of our own placeholders; looked up as ` word `. */
const SILENT =
  ' path a an the to of in is are was were be been at for and or with from by on as it its this that has have had will' +
  ' would you your we can if then there here but so into than out up via per all any some please try run running see' +
  ' more details information about also does do did when while during which because using use used str n redacted line bash zsh sh dash ksh eval ';
/** Words of most errors, as keyOf() gives them. */
const FAINT =
  ' error err failed failur fail cannot could unable fatal warnin except uncaug unhand caused code exit' +
  ' statu info messag reason file not no npm stack trace main thread follow found such direct' +
  ' permis denied access respon daemon makefi open 오류 에러 실패 없습 있습 않습 합니 입니 됩니 니다 파일 때문 해당 다음 또는 대한 경우 ';
const FAINT_WEIGHT = 0.3;
const NAME_WEIGHT = 0.3;
const EXCEPTION_WEIGHT = 0.6;
const LONE_EXCEPTION_WEIGHT = 2;
const HINT_FACTOR = 0.3;
/** What to do, and what is no failure: it stands beside many errors. */
const HINT =
  /^(?:hint|힌트|warning|note|please|try |to |you |if |see |see:|run |or |instead|more details|more info|update the|it is likely|make sure|alternatively|the operation was rejected|404 (?:note|tarball))/i;
const STEM_LENGTH = 6;
const HANGUL_FIRST = 0xac00;
const HANGUL_STEM_LENGTH = 2;

/** Adds the words of a line to the weights; gives the words to search for. */
export function weighWords(line: string, weights: Map<string, number>): string[] {
  const message = withoutNames(line);
  const words = message.match(WORD) ?? [];
  const factor = isHint(line) ? HINT_FACTOR : 1;
  const telling: string[] = [];
  const faint: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const { key, word, weight: most, isIdentifier } = weigh(words[index] as string, words.length);
    if (most === 0) continue;
    const isName =
      index === 0 ? isSpeaker(message, word) : index === words.length - 1 && isObject(message, word);
    const weight = (isName ? Math.min(most, NAME_WEIGHT) : most) * factor;
    weights.set(key, Math.max(weights.get(key) ?? 0, weight));
    if (weight >= 1) telling.push(word);
    else if (!isName && !isIdentifier) faint.push(word);
  }
  return telling.length > 0 ? telling : faint;
}

function withoutNames(line: string): string {
  const hasQuotes = line.includes('"') || line.includes("'") || line.includes('`') || line.includes('“');
  const said =
    hasQuotes || line.includes('‘')
      ? line.replace(QUOTED, (quoted) => (SAID.test(quoted) ? quoted : ' '))
      : line;
  return said.includes('/') || said.includes('\\') ? said.replace(PLACE, ' ') : said;
}

/** Whether a line only says what to do. */
export function isHint(line: string): boolean {
  return HINT.test(line);
}

/** `psql: …`, but not `KeyError: …`. */
function isSpeaker(message: string, word: string): boolean {
  return !isException(word) && message[word.length] === ':' && message[word.length + 1] === ' ';
}

/** `undefined: require`, `No such container: web`. */
function isObject(message: string, word: string): boolean {
  const text = message.trimEnd();
  return text.endsWith(': ', text.length - word.length);
}

/** A word in lower case, and as it is compared. */
type Word = {
  readonly word: string;
  readonly key: string;
  readonly weight: number;
  readonly isIdentifier: boolean;
};

function weigh(text: string, wordCount: number): Word {
  const bare = withoutEnd(text);
  const word = bare.toLowerCase();
  const key = keyOf(word);
  if (word.length < 2 || SILENT.includes(` ${word} `)) return { word, key, weight: 0, isIdentifier: false };
  if (FAINT.includes(` ${key} `)) return { word, key, weight: FAINT_WEIGHT, isIdentifier: false };
  if (isException(word)) {
    const weight = wordCount <= 2 ? LONE_EXCEPTION_WEIGHT : EXCEPTION_WEIGHT;
    return { word, key: word.slice(word.lastIndexOf('.') + 1), weight, isIdentifier: false };
  }
  if (IDENTIFIER.test(bare)) return { word, key: word, weight: NAME_WEIGHT, isIdentifier: true };
  return { word, key, weight: 1, isIdentifier: false };
}

/** The beginning of a word, which its forms share: two syllables in Korean, six letters else, never a plural's `s`. */
function keyOf(word: string): string {
  if (word.charCodeAt(0) >= HANGUL_FIRST) return word.slice(0, HANGUL_STEM_LENGTH);
  const isPlural = word.length > 4 && word.endsWith('s') && !word.endsWith('ss');
  return (isPlural ? word.slice(0, -1) : word).slice(0, STEM_LENGTH);
}

/** The end of a sentence is no part of its last word. */
function withoutEnd(word: string): string {
  let end = word.length;
  while (end > 0 && '.$_'.includes(word[end - 1] as string)) end--;
  return word.slice(0, end);
}

function isException(word: string): boolean {
  return word.endsWith('rror') ? word.length > 5 : word.endsWith('xception') && word.length > 9;
}
