import { sharedStart } from '../core/text.ts';
import { isAssignment, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** How alike two commands are, and what messages about one rule share. */

/** What messages about one rule share; what differs becomes `…`. */
export function sharedWords(messages: readonly string[]): string {
  const [first = '', ...others] = [...new Set(messages)].map((message) => message.split(' '));
  if (first === '') return '';
  const sharedWith = (words: readonly string[]) => first.filter((word) => words.includes(word)).length;
  const [most] = others.sort((left, right) => sharedWith(right) - sharedWith(left));
  if (most === undefined || sharedWith(most) < 3) return withoutNames(first);
  return withoutNames(first.map((word) => (most.includes(word) ? word : '…')));
}

const NAME_LENGTH_MAX = 32;

/** Long names are of the place at which the rule was broken. */
function withoutNames(words: readonly string[]): string {
  const told = words.map((word) => (word.length > NAME_LENGTH_MAX ? '…' : word));
  const text = told.join(' ').replace(/…(?: …)+/g, '…');
  return text.replace(/\([^()…]*…(?![^(]*\))/g, '$&)'); // What would have closed the bracket may be left out.
}

/** How much one command is another way to say the same: 0 to 1. */
export function likeness(left: SimpleCommand, right: SimpleCommand): number {
  if (isSameWork(left, right)) return 0.95;
  const [words, others] = withSameCode(wordsOf(left), wordsOf(right));
  if (words.length === 0 || others.length === 0) return 0;
  // Code that was written anew is no correction of what stood there.
  if (isCode(longest(words)) && longest(words) !== longest(others)) return 0;
  const shared = sharedInOrder(words, others);
  const ratio = shared / Math.max(words.length, others.length);
  if (shared === Math.min(words.length, others.length) && (shared >= 2 || isAroundOne(words, others)))
    return 0.6 + 0.4 * ratio;
  if (isOnlyReordered(words, others)) return 0.9;
  const isSameProgram = programOf(left) === programOf(right);
  const isSameKind = isSameProgram && subcommandOf(words) === subcommandOf(others);
  if (isSameKind || (shared >= 3 && ratio >= 0.75)) return 0.3 + 0.6 * ratio;
  const rest = argumentsOf(words).join(' ');
  return !isSameProgram && rest !== '' && rest === argumentsOf(others).join(' ') ? 0.8 : 0;
}

/** A program alone, run by another one or with an option. */
function isAroundOne(words: readonly string[], others: readonly string[]): boolean {
  return others.at(-1) === words[0] || (others[0] === words[0] && others[1]?.startsWith('-') === true);
}

/** The same words in another order, or with a blank for a hyphen: `docker-compose up`, `docker compose up`. */
function isOnlyReordered(words: readonly string[], others: readonly string[]): boolean {
  const apart = (list: readonly string[]) => list.join(' ').replaceAll('-', ' ');
  return words.toSorted().join(' ') === others.toSorted().join(' ') || apart(words) === apart(others);
}

/** How much one command puts another right about which something was said: 0 to 1. `blamed`: its words of which it was. */
export function correctness(
  left: SimpleCommand,
  right: SimpleCommand,
  { said, blamed }: { readonly said: string; readonly blamed: readonly string[] },
): number {
  const [words, others] = [wordsOf(left), wordsOf(right)];
  if (isOtherSubject(words, others, said)) return 0;
  return Math.max(likeness(left, right), mended(words, others, blamed));
}

/** The words that are blamed are gone, and what is left stands in the other as well. */
function mended(words: readonly string[], others: readonly string[], blamed: readonly string[]): number {
  if (blamed.length === 0 || others.some((word) => blamed.includes(word))) return 0;
  const rest = words.filter((word, index) => {
    const before = words[index - 1] ?? '';
    const isValue = before.startsWith('-') && blamed.includes(before) && !others.includes(word);
    return !blamed.includes(word) && !isValue;
  });
  const isShort = rest.length < 2 && others.length !== words.length;
  return isShort || sharedInOrder(rest, others) < rest.length ? 0 : 0.6 + (0.4 * rest.length) / others.length;
}

/**
 * The last word is another name, or gone, and the message does not say that it should have been this one: then the
 * commands are about two things.
 */
function isOtherSubject(words: readonly string[], others: readonly string[], said: string): boolean {
  const [word, other] = [words.at(-1) ?? '', others.at(-1) ?? ''];
  const rest = words.slice(0, -1).join(' ');
  if (word === other) return false;
  const isBlamed = word.split(/[,=:]/).some((part) => part.length > 1 && said.includes(part));
  const isOption = word.startsWith('-');
  if (rest === others.join(' ')) return isBlamed && !isOption && !/[./]/.test(word);
  if (rest !== others.slice(0, -1).join(' ') || isCode(word)) return false;
  if (isOption || other.startsWith('-')) return isBlamed && isOption !== other.startsWith('-');
  return !((isBlamed || /[*?]|\.{3}/.test(word)) && areAlike(word, other));
}

/** One is the other with something before, behind or between, or with its letters in another order. */
export function areAlike(left: string, right: string): boolean {
  const [short = '', long = ''] = [left.toLowerCase(), right.toLowerCase()].sort(
    (a, b) => a.length - b.length,
  );
  if ([...short].sort().join('') === [...long].sort().join('')) return true;
  const start = sharedStart(short, long);
  const backwards = (text: string) => text.split('').reverse().join('');
  const end = Math.min(sharedStart(backwards(short), backwards(long)), short.length - start);
  return start + end >= short.length * 0.7;
}

/** The same words, wherever they run. */
export function isSameWork(left: SimpleCommand, right: SimpleCommand): boolean {
  return wordsOf(left).join(' ') === wordsOf(right).join(' ');
}

const wordsOf = ({ words }: SimpleCommand): string[] => words.map(unquoted);

function argumentsOf(words: readonly string[]): readonly string[] {
  return words.slice(words.findIndex((word) => !isAssignment(word)) + 1);
}

const subcommandOf = (words: readonly string[]) => argumentsOf(words).find((word) => !word.startsWith('-'));

/** How many words stand in both, in the same order. */
export function sharedInOrder(left: readonly string[], right: readonly string[]): number {
  let row = new Array<number>(right.length + 1).fill(0);
  for (const word of left) {
    const next = [0];
    right.forEach((other, index) => {
      next.push(word === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}

const CODE_LENGTH_MIN = 12;
/** Of longer code names and texts that came in say that it does something else. */
const SHORT_CODE_LENGTH_MAX = 40;
const CODE_KEPT_MIN = 0.7;
const TOKENS_MAX = 200;
const SAME_CODE = '\0';

/** Code in an argument (`jq`, `python -c`) of which most has stayed counts as one word that both have. */
function withSameCode(words: string[], others: string[]): [string[], string[]] {
  const [code, other] = [longest(words), longest(others)];
  const isSame = isCode(code) && isCode(other) && keptOf(code, other) >= CODE_KEPT_MIN;
  const masked = (list: string[], one: string) => list.map((word) => (word === one ? SAME_CODE : word));
  return isSame && code !== other ? [masked(words, code), masked(others, other)] : [words, others];
}

const isCode = (word: string): boolean => word.length >= CODE_LENGTH_MIN && /[\s{}()|;]/.test(word);

/** How much of the code has stayed. */
function keptOf(code: string, other: string): number {
  const [tokens = [], others = []] = [code, other].map((one) =>
    (one.match(/\w+|[^\w\s]/g) ?? []).slice(0, TOKENS_MAX),
  );
  const isLong = Math.max(code.length, other.length) >= SHORT_CODE_LENGTH_MAX;
  if (isLong && others.some((token) => /^[A-Za-z]\w/.test(token) && !tokens.includes(token))) return 0;
  return sharedInOrder(tokens, others) / Math.max(tokens.length, others.length);
}

function longest(words: readonly string[]): string {
  return words.reduce((found, word) => (word.length > found.length ? word : found), '');
}
