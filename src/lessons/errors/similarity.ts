import { isHint, tellingLines, weighWords } from './error-lines.ts';
import * as marks from './error-marks.ts';
import { BESIDE_PROGRAM } from './error-wordings.ts';
import {
  differingIn,
  type NamedLine,
  type NamesThatDiffer,
  OF_THE_SYSTEM,
  shareName,
  wordsAndNames,
} from './names-in-errors.ts';

/**
 * How alike two errors are: no model, no daemon, the same answer every time. Compared are the words of the lines that
 * tell the error; codes, missing programs and causes decide where words cannot. Plain loops: a hook runs this once, and
 * pays for each array method and expression that it uses for the first time.
 */

/** From here on the fix of one error is taken for that of the other. */
const SIMILARITY_MIN = 0.68;

/** What an error is compared by. */
export type ErrorTraits = Readonly<ReturnType<typeof errorTraits>>;

/** Less than this in common is little, however little else there is. */
const SHARED_MIN = 2.3;
/** How alike what both name makes two errors without a word in common: a code alone is not enough. */
const SAME_PROGRAM = 0.9;
const SAME_CAUSE = 0.7;
const SAME_WORDS = 0.85;
const SAME_CODE = 0.5;
/** What the longer remainder counts against the shorter one. */
const LONGER_FACTOR = 0.06;

/** What the text of an error is compared by. */
export function errorTraits(text: string) {
  const lines: readonly string[] = tellingLines(text);
  /** The words of the telling lines, as they are compared. */
  const weights = new Map<string, number>();
  /** The telling words of each line, in lower case, to search for. */
  const words: readonly (readonly string[])[] = lines.map((line) => weighWords(line, weights));
  return { text, lines, weights, words };
}

/**
 * How alike two errors are: up to 1, and 0 when not so much that they have the same fix. A cause that both name, a
 * missing program or a code of both makes them alike; other causes, programs or codes make them different.
 */
export function errorSimilarity(left: ErrorTraits, right: ErrorTraits): number {
  const byWords = wordSimilarity(left.weights, right.weights);
  // Most errors are far apart, and looking for all causes is what costs.
  if (byWords < SIMILARITY_MIN && !mayShareMark(left, right.lines.join('\n'))) return 0;
  const similarity = similarityOfMarks(left, right, byWords);
  return similarity < SIMILARITY_MIN ? 0 : similarity;
}

/**
 * The first names in which two alike errors differ, another module, port or relation: then the fix of one is not known
 * to be that of the other, however alike. Undefined where they name the same, or one names nothing.
 */
export function differingNames(left: ErrorTraits, right: ErrorTraits): NamesThatDiffer | undefined {
  return OF_THE_SYSTEM.test(left.lines.join('\n')) ? undefined : differingIn(linesOf(left), linesOf(right));
}

/** The names of an error, to search for. */
export function namesOf(traits: ErrorTraits): string[] {
  return linesOf(traits).flatMap(({ names }) => names);
}

/** What is found once of each error. */
function once<T extends object>(find: (traits: ErrorTraits) => T): (traits: ErrorTraits) => T {
  const found = new WeakMap<ErrorTraits, T>();
  return (traits) => {
    const known = found.get(traits) ?? find(traits);
    found.set(traits, known);
    return known;
  };
}

const linesOf = once(({ lines }): readonly NamedLine[] =>
  lines.filter((line) => !isHint(line)).map(wordsAndNames),
);

/** Whether codes, programs or causes say that these are different errors, however alike the words. */
export function areDifferent(left: ErrorTraits, right: ErrorTraits): boolean {
  return contradict(marksOf(left), marksOf(right));
}

const marksOf = once(({ lines }) => {
  const told = lines.join('\n');
  return {
    causes: marks.causesIn(told),
    codes: marks.codesIn(told),
    program: marks.missingProgram(told),
  };
});

/** Not with the marks: most errors are compared with none. */
const programsOf = once(({ text }) => marks.programsIn(text));

type Marks = ReturnType<typeof marksOf>;

/** Whether a text may name a cause, code or missing program of this error: cheaper than a comparison. */
export function mayShareMark(traits: ErrorTraits, text: string): boolean {
  const { causes, codes, program } = marksOf(traits);
  if (program !== undefined && text.includes(program)) return true;
  return marks.mayName(text, causes.telling) || (codes.size > 0 && shares(codes, marks.codesIn(text)));
}

function similarityOfMarks(asked: ErrorTraits, known: ErrorTraits, byWords: number): number {
  const [left, right] = [marksOf(asked), marksOf(known)];
  if (contradict(left, right)) return 0;
  if (left.program !== undefined && left.program === right.program)
    return SAME_PROGRAM + (1 - SAME_PROGRAM) * byWords;
  const [mine, others] = [left.causes.telling, right.causes.telling];
  const [programs, otherPrograms] = [programsOf(asked), programsOf(known)];
  const isOfOne = shares(programs, otherPrograms);
  const isOfOthers = !isOfOne && programs.size > 0 && otherPrograms.size > 0;
  // What helped one program against a cause helps no other; only nearly the same words do.
  if (isOfOthers && byWords < SAME_WORDS) return 0;
  const isOfNone = programs.size + otherPrograms.size === 0;
  const isAboutOne = isOfOne || isOfNone || (!isOfOthers && shareName(linesOf(asked), linesOf(known)));
  if (isAboutOne && shares(mine, others) && (isWithin(mine, others) || isWithin(others, mine)))
    return SAME_CAUSE + (1 - SAME_CAUSE) * byWords;
  return shares(left.codes, right.codes) ? SAME_CODE + (1 - SAME_CODE) * byWords : byWords;
}

function contradict(left: Marks, right: Marks): boolean {
  if (left.program !== undefined && right.program !== undefined) return left.program !== right.program;
  if (marks.codesDiffer(left.codes, right.codes)) return true;
  const [mine, others] = [left.causes, right.causes];
  if (shares(mine.telling, others.telling)) return false;
  if (mine.telling.size > 0 && others.telling.size > 0) return true;
  if (shares(left.codes, right.codes) || !namesAny(mine) || !namesAny(others)) return false;
  const isTold = mine.telling.size + others.telling.size > 0;
  return isTold || !shares(mine.general, others.general);
}

const namesAny = ({ telling, general }: marks.Causes): boolean => telling.size + general.size > 0;

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
  let most = 0;
  for (const [word, weight] of left) {
    const other = right.get(word);
    if (other === undefined) continue;
    shared += Math.max(weight, other);
    most = Math.max(most, weight, other);
  }
  if (shared === 0) return 0;
  const [onlyLeft, onlyRight] = [remainder(left, right), remainder(right, left)];
  if (onlyLeft.sum + onlyRight.sum === 0) return 1;
  const shorter = Math.min(onlyLeft.sum, onlyRight.sum);
  const longer = Math.max(onlyLeft.sum, onlyRight.sum);
  // Little in common is enough where nothing but names is left.
  const isSame = most >= 1 && Math.max(onlyLeft.most, onlyRight.most) < 1;
  const share = isSame ? 1 : Math.min(1, shared / SHARED_MIN);
  return (shared / (shared + shorter + LONGER_FACTOR * longer)) * share;
}

function remainder(words: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>) {
  const rest = { sum: 0, most: 0 };
  for (const [word, weight] of words) {
    if (others.has(word)) continue;
    rest.sum += weight;
    rest.most = Math.max(rest.most, weight);
  }
  return rest;
}

/**
 * Phrases of the same error in other words, those in one list together: codes and missing programs, or else the other
 * wordings of its causes.
 */
export function markPhrases(traits: ErrorTraits): string[][] {
  const { causes, codes, program } = marksOf(traits);
  const phrases: string[][] = [];
  if (program !== undefined) for (const word of BESIDE_PROGRAM) phrases.push([program, word]);
  else {
    for (const code of codes) for (const equal of marks.equalCodes(code)) phrases.push([equal]);
    for (const cause of causes.telling) phrases.push(...marks.wordingsOf(cause));
  }
  return phrases;
}
