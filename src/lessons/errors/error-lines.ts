/** The lines of an output that say what went wrong, without what programs print around them. */

const LINES_MAX = 200;
const KEPT_MAX = 8;
const LINE_LENGTH_MAX = 400;

/** First words of lines that are about something else: stacks, what ran, how often it failed. Looked up as ` word `. */
const OTHER_FIRST_WORDS =
  ' at goroutine Traceback Emitted throw raise return Node.js ... ❯ --> LINE 줄 위치 $ + # -- --- info INFO INFO: [notice]' +
  ' Checking Updating Compiling Downloading Building collect2: cc1: 컴파일이 FAILURE: FAIL FAILED' +
  ' FAILED: Tests Tests: Snapshots: Time: note: help: ';
/** Longer beginnings of such lines. */
const OTHER_BEGINNINGS = (
  'File "|from /|from <|created by |stack backtrace|Stack trace|Require stack|During handling of|' +
  'The above exception|make: *** [|make: Entering|make: Leaving|make: Verzeichnis|make: 디렉터리|ninja: build stopped|Picked up |' +
  'Unable to find image|Command failed|Process finished|error Command failed|' +
  'error: failed to push some refs|error: could not compile|error: aborting due|error: linking with|' +
  'clang: error: linker command|error: test failed|error: failed to run custom build command|' +
  "process didn't exit successfully|ERROR: failed to solve: process|warning: build failed|" +
  'compilation terminated|BUILD FAIL|What went wrong|Execution failed for task|Test suite|Test Suites|' +
  'Test Files|For more information|Ran all|Found 1 error|While resolving|Found: |Try:|Run with --|Get more help|To see the full stack|Re-run Maven|' +
  '[Help 1]|A complete log'
).split('|');
/** The same behind `npm ERR!` and `gyp ERR!`. */
const OTHER_OF_NPM = ' errno path cwd command syscall Lifecycle A build System node not ';

const TAG = 'tool_use_error>';
const OF_NPM = /^(?:npm|gyp) (?:ERR!|error) (?:stack )?/;
/** How deep make calls itself says nothing. */
const OF_MAKE = /^g?make(?:\[\d+\])?: /;
/** Who says it, and when: log times, levels, process numbers, bullets, pytest's margin. */
const PREFIX =
  /^(?:E {2,}|FAILED \S+ - |#\d+ [\d.]+ +|[>*●×✖›⠿] |\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z| ?[+-]\d{4})?\]? *|\[\d[\d:.]*\] *|\d\d:\d\d:\d\d[\d.,]* +|\[[A-Za-z]{4,5}\]:? *|\(node:\d+\) |remote: )+/;
/** `12 | let x`, `> 12 | let x`, ` | ^^^`, `#8 [4/6] COPY`, `3 errors`. */
const CODE_OR_COUNT =
  /^(?:=+ .* =+$|>? ?\d* ?\||#?\d+ (?:\[|errors?\b|warnings?\b|problems?\b|failing\b|passing\b))/;
const TELLING =
  /^peer |error|exception|fatal|fail|cannot|can't|could ?n[o']t|unable|denied|not |invalid|missing|unexpected|undefined|refused|panic|no such|already|오류|실패|없|못/i;

/**
 * The telling lines of an output, at most eight; the lines as they are when none is left. Plain loops, and expressions
 * only where a first letter calls for them: a hook pays for each that it uses once.
 */
export function tellingLines(output: string): string[] {
  const lines = ends(withoutTags(output).split('\n'), LINES_MAX);
  const start = behindScript(lines);
  const kept: string[] = [];
  let codeDepth = Number.POSITIVE_INFINITY;
  for (let index = start; index < lines.length; index++) {
    const line = lines[index] as string;
    const text = line.trim();
    if (text === '') continue;
    const depth = line.indexOf(text);
    // Below each place of a stack Python prints a line of code, further in.
    if (text.startsWith('File "')) codeDepth = depth + 1;
    else if (depth < codeDepth) codeDepth = Number.POSITIVE_INFINITY;
    if (depth < codeDepth) keepIfTelling(text, kept);
  }
  if (kept.length > 0) return kept.length <= KEPT_MAX ? kept : mostTelling(kept);
  return lines.slice(start, start + KEPT_MAX).map((line) => line.trim().slice(0, LINE_LENGTH_MAX));
}

function withoutTags(text: string): string {
  return text.includes(TAG) ? text.replaceAll(`<${TAG}`, '').replaceAll(`</${TAG}`, '') : text;
}

/** The first and the last of the lines. */
function ends(lines: string[], most: number): string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most / 2), ...lines.slice(-most / 2)];
}

/** The exit code comes first, then the lines in which a package manager repeats the script. */
function behindScript(lines: readonly string[]): number {
  let start = 0;
  while (start < lines.length - 1) {
    const text = (lines[start] as string).trim();
    if (text !== '' && !text.startsWith('> ') && !text.startsWith('Exit code ')) break;
    start++;
  }
  return start;
}

function keepIfTelling(text: string, kept: string[]): void {
  const isOfNpm = text.startsWith('npm ') || text.startsWith('gyp ');
  const said = isOfNpm ? text.replace(OF_NPM, '') : text.replace(OF_MAKE, 'make: ');
  const message = mayHavePrefix(said) ? said.replace(PREFIX, '') : said;
  if (!hasWord(message) || isOther(message, isOfNpm)) return;
  kept.push(message.slice(0, LINE_LENGTH_MAX));
}

function mayHavePrefix(text: string): boolean {
  if (!isLetter(text.charCodeAt(0))) return true;
  return text.startsWith('E ') || text.startsWith('FAILED ') || text.startsWith('remote: ');
}

function isOther(text: string, isOfNpm: boolean): boolean {
  const blank = text.indexOf(' ');
  const firstWord = ` ${blank < 0 ? text : text.slice(0, blank)} `;
  if (OTHER_FIRST_WORDS.includes(firstWord)) return true;
  if (isOfNpm && (OTHER_OF_NPM.includes(firstWord) || text.startsWith('code ELIFECYCLE'))) return true;
  if (!isLetter(text.charCodeAt(0)) && CODE_OR_COUNT.test(text)) return true;
  for (const beginning of OTHER_BEGINNINGS) if (text.startsWith(beginning)) return true;
  return false;
}

function isLetter(code: number): boolean {
  const isLatin = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return isLatin || (code >= 0xc0 && code < 0x2000) || (code >= 0x3040 && code < 0xd7a4);
}

/** Two letters in a row: not `^^^^`, `---`, `x = 1`. */
function hasWord(text: string): boolean {
  for (let index = 1; index < text.length; index++) {
    if (isLetter(text.charCodeAt(index)) && isLetter(text.charCodeAt(index - 1))) return true;
  }
  return false;
}

/** Those that sound like an error. */
function mostTelling(lines: string[]): string[] {
  const telling = lines.filter((line) => TELLING.test(line));
  return ends(telling.length > 0 ? telling : lines, KEPT_MAX);
}

/** Names: what is other in one place than in the next. */
const QUOTED = /"[^"\n]*"|`[^`\n]*[`']|‘[^’\n]*’|“[^”\n]*”|(?<![A-Za-z\d])'[^'\n]*'/g;
const QUOTES = '"\'`“‘';
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
  let hasQuotes = false;
  for (const mark of QUOTES) hasQuotes ||= line.includes(mark);
  const said = hasQuotes ? line.replace(QUOTED, (quoted) => (SAID.test(quoted) ? quoted : ' ')) : line;
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
function weigh(text: string, wordCount: number) {
  // The end of a sentence is no part of its last word.
  let end = text.length;
  while (end > 0 && '.$_'.includes(text[end - 1] as string)) end--;
  const bare = text.slice(0, end);
  const word = bare.toLowerCase();
  const plain = { word, key: keyOf(word), weight: 1, isIdentifier: false };
  if (word.length < 2 || SILENT.includes(` ${word} `)) return { ...plain, weight: 0 };
  if (FAINT.includes(` ${plain.key} `)) return { ...plain, weight: FAINT_WEIGHT };
  if (isException(word)) {
    const weight = wordCount <= 2 ? LONE_EXCEPTION_WEIGHT : EXCEPTION_WEIGHT;
    return { ...plain, key: word.slice(word.lastIndexOf('.') + 1), weight };
  }
  return IDENTIFIER.test(bare) ? { word, key: word, weight: NAME_WEIGHT, isIdentifier: true } : plain;
}

/** The beginning of a word, which its forms share: two syllables in Korean, six letters else, never a plural's `s`. */
function keyOf(word: string): string {
  if (word.charCodeAt(0) >= HANGUL_FIRST) return word.slice(0, HANGUL_STEM_LENGTH);
  const isPlural = word.length > 4 && word.endsWith('s') && !word.endsWith('ss');
  return (isPlural ? word.slice(0, -1) : word).slice(0, STEM_LENGTH);
}

function isException(word: string): boolean {
  return word.endsWith('rror') ? word.length > 5 : word.endsWith('xception') && word.length > 9;
}
