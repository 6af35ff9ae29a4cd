import { type Causes, causesIn, mayName, wordingsOf } from './error-causes.ts';
import { tellingLines } from './error-lines.ts';
import { codesDiffer, codesIn, equalCodes, missingProgram } from './error-marks.ts';

/**
 * How alike two errors are: no model, no daemon, the same answer every time. Compared are the words of the lines that
 * tell the error; codes, missing programs and causes decide where words cannot. Plain loops: a hook runs this once, and
 * pays for each array method and expression that it uses for the first time.
 */

/** From here on the fix of one error is taken for that of the other. */
export const SIMILARITY_MIN = 0.68;

/** What an error is compared by. */
export type ErrorTraits = {
  readonly lines: readonly string[];
  /** The words of the telling lines, as they are compared, with their weights. */
  readonly weights: ReadonlyMap<string, number>;
  /** The telling words of each line, in lower case, to search for. */
  readonly words: readonly (readonly string[])[];
  /** Identifiers outside quotes, in lower case. */
  readonly names: readonly string[];
};

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
  ' more details information about also does do did when while during which because using use used str n redacted ';
/** Words of most errors. */
const FAINT =
  ' error errors err failed failure fail fails cannot could unable fatal warning exception uncaught unhandled caused' +
  ' code exit status info message reason line file not no npm stack trace main thread following found such directory' +
  ' permission denied access response daemon makefile open ';
const FAINT_WEIGHT = 0.3;
const NAME_WEIGHT = 0.3;
const EXCEPTION_WEIGHT = 0.6;
const LONE_EXCEPTION_WEIGHT = 2;
const HINT_FACTOR = 0.3;
const STEM_LENGTH = 6;
const HANGUL_FIRST = 0xac00;
const HANGUL_STEM_LENGTH = 2;
/** Less than this in common is little, however little else there is. */
const SHARED_MIN = 2.3;
/** What the longer remainder counts against the shorter one. */
const LONGER_FACTOR = 0.06;

/** What the text of an error is compared by. */
export function errorTraits(text: string): ErrorTraits {
  const lines = tellingLines(text);
  const weights = new Map<string, number>();
  const words: string[][] = [];
  const names: string[] = [];
  for (const line of lines) words.push(weighWords(line, weights, names));
  return { lines, weights, words, names };
}

/** Adds the words of a line to the weights and its identifiers to the names; gives the words to search for. */
function weighWords(line: string, weights: Map<string, number>, names: string[]): string[] {
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
    else if (isIdentifier) names.push(word);
    else if (!isName) faint.push(word);
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

function isHint(line: string): boolean {
  return line.startsWith('hint') || line.startsWith('힌트') || line.startsWith('warning');
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
  if (word.length < 2 || SILENT.includes(` ${word} `))
    return { word, key: word, weight: 0, isIdentifier: false };
  if (FAINT.includes(` ${word} `)) return { word, key: word, weight: FAINT_WEIGHT, isIdentifier: false };
  if (isException(word)) {
    const key = word.slice(word.lastIndexOf('.') + 1);
    return {
      word,
      key,
      weight: wordCount <= 2 ? LONE_EXCEPTION_WEIGHT : EXCEPTION_WEIGHT,
      isIdentifier: false,
    };
  }
  if (word.charCodeAt(0) >= HANGUL_FIRST)
    return { word, key: word.slice(0, HANGUL_STEM_LENGTH), weight: 1, isIdentifier: false };
  if (IDENTIFIER.test(bare)) return { word, key: word, weight: NAME_WEIGHT, isIdentifier: true };
  const isPlural = word.length > 4 && word.endsWith('s') && !word.endsWith('ss');
  const key = (isPlural ? word.slice(0, -1) : word).slice(0, STEM_LENGTH);
  return { word, key, weight: 1, isIdentifier: false };
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

/**
 * How alike two errors are, 0 to 1. A cause that both name, a missing program or a code of both makes them alike;
 * other causes, programs or codes make them different: then 0.
 */
export function errorSimilarity(left: ErrorTraits, right: ErrorTraits): number {
  const byWords = wordSimilarity(left.weights, right.weights);
  const marks = marksOf(left);
  // Most errors are far apart, and looking for all causes is what costs.
  if (byWords < SIMILARITY_MIN && !mayShareMark(marks, right)) return byWords;
  return similarityOfMarks(marks, marksOf(right), byWords);
}

/** Whether codes, programs or causes say that these are different errors, however alike the words. */
export function areDifferent(left: ErrorTraits, right: ErrorTraits): boolean {
  return contradict(marksOf(left), marksOf(right));
}

type Marks = {
  readonly causes: Causes;
  readonly codes: ReadonlySet<string>;
  readonly program: string | undefined;
};

const marksOfTraits = new WeakMap<ErrorTraits, Marks>();

function marksOf(traits: ErrorTraits): Marks {
  const known = marksOfTraits.get(traits);
  if (known) return known;
  const text = traits.lines.join('\n');
  const marks = { causes: causesIn(text), codes: codesIn(text), program: missingProgram(text) };
  marksOfTraits.set(traits, marks);
  return marks;
}

function mayShareMark({ causes, codes, program }: Marks, { lines }: ErrorTraits): boolean {
  const text = lines.join('\n');
  if (program !== undefined && text.includes(program)) return true;
  return mayName(text, causes.telling) || (codes.size > 0 && shares(codes, codesIn(text)));
}

function similarityOfMarks(left: Marks, right: Marks, byWords: number): number {
  if (contradict(left, right)) return 0;
  if (left.program !== undefined && left.program === right.program) return 0.9 + byWords / 10;
  const mine = left.causes.telling;
  const others = right.causes.telling;
  if (shares(mine, others) && (isWithin(mine, others) || isWithin(others, mine))) return 0.7 + 0.3 * byWords;
  return shares(left.codes, right.codes) ? Math.max(byWords, 0.5 + 0.5 * byWords) : byWords;
}

function contradict(left: Marks, right: Marks): boolean {
  if (left.program !== undefined && right.program !== undefined) return left.program !== right.program;
  if (codesDiffer(left.codes, right.codes)) return true;
  if (shares(left.causes.telling, right.causes.telling)) return false;
  if (left.causes.telling.size > 0 && right.causes.telling.size > 0) return true;
  if (left.causes.telling.size !== right.causes.telling.size) return namesCause(left) && namesCause(right);
  return namesCause(left) && namesCause(right) && !shares(left.causes.general, right.causes.general);
}

function namesCause({ causes }: Marks): boolean {
  return causes.telling.size + causes.general.size > 0;
}

function shares<T>(left: ReadonlySet<T>, right: ReadonlySet<T>): boolean {
  for (const item of left) if (right.has(item)) return true;
  return false;
}

function isWithin<T>(left: ReadonlySet<T>, right: ReadonlySet<T>): boolean {
  for (const item of left) if (!right.has(item)) return false;
  return true;
}

/**
 * What both say, against what each says alone. The shorter remainder counts, the longer hardly does: one output may
 * have more around the same error, but where both say something else they are about different things.
 */
function wordSimilarity(left: ReadonlyMap<string, number>, right: ReadonlyMap<string, number>): number {
  let shared = 0;
  let onlyLeft = 0;
  let onlyRight = 0;
  for (const [word, weight] of left) {
    const other = right.get(word);
    if (other === undefined) onlyLeft += weight;
    else shared += Math.max(weight, other);
  }
  if (shared === 0) return 0;
  for (const [word, weight] of right) if (!left.has(word)) onlyRight += weight;
  if (onlyLeft + onlyRight === 0) return 1;
  const shorter = Math.min(onlyLeft, onlyRight);
  const longer = Math.max(onlyLeft, onlyRight);
  return (shared / (shared + shorter + LONGER_FACTOR * longer)) * Math.min(1, shared / SHARED_MIN);
}

/**
 * Phrases of the same error in other words, those in one list together: codes and missing programs, or else the other
 * wordings of its causes.
 */
export function markPhrases(traits: ErrorTraits): string[][] {
  const { causes, codes, program } = marksOf(traits);
  if (program !== undefined)
    return [
      [program, 'found'],
      [program, 'such'],
      [program, 'recognized'],
    ];
  const phrases: string[][] = [];
  for (const code of codes) for (const equal of equalCodes(code)) phrases.push([equal]);
  for (const cause of causes.telling) phrases.push(...wordingsOf(cause));
  return phrases;
}
