import { sharedStart } from '../core/text.ts';
import * as lists from './program-lists.ts';
import { isWellKnown } from './programs.ts';
import { isAssignment, programOf, type SimpleCommand, unquoted } from './shell.ts';

/**
 * Which words of a command are told to others: those that explain themselves. Any other word, a password perhaps, becomes
 * `…`, and so does what two commands share and nobody else needs.
 */

const QUOTE_LENGTH_MAX = 80;
const WORD_LENGTH_MAX = 56;
const AROUND_DIFFERENCE = 22;
const GAP = '…';

/** The command as it is told; undefined when too little is left of it to be of use. */
export function quoteCommand(command: SimpleCommand): string | undefined {
  const head = headLength(command);
  return quotation(command, (word, index) => {
    const isClear = index < head || isOption(word) || isPlainName(unquoted(word)) || isInstall(command);
    return isClear ? toldWord(word) : GAP;
  });
}

/** A message in which the project's paths are relative and other people's homes are `~`. */
export function quotePaths(message: string, root: string | null): string {
  const own = root === null || root.length < 2 ? [] : [root, withoutHome(root)];
  return own.slice(1).reduce(withinRoot, withoutHome(own.reduce(withinRoot, message)));
}

function withinRoot(text: string, root: string): string {
  const within = (found: string, at: number, all: string) =>
    /[\w.@-]/.test(all[at - 1] ?? ' ') ? found : '';
  return text.replaceAll(`${root}/`, within).replaceAll(`${root}\\`, within);
}

function withoutHome(text: string): string {
  return text.replace(
    /(?<![\w.@-])(?:\/(?:home|Users)\/[^\s/\\:'"`,;)\]}]+|[A-Za-z]:(?:\\\\?|\/)Users(?:\\\\?|\/)[^\\/:'"`,;)\]}\n]+?(?=[\\/]|['"`:,;)\]}]|$|\s))/g,
    '~',
  );
}

const PLACE_LENGTH_MAX = 60;

/** A directory of the project as it is told; undefined where a part of it does not explain itself. */
export function quotePlace(place: string): string | undefined {
  const isTold = (segment: string) =>
    segment !== '..' && /^[\p{L}\p{N}_@.+-]+$/u.test(segment) && toldSegment(segment) === segment;
  if (place === '') return place;
  return place.length <= PLACE_LENGTH_MAX && place.split('/').every(isTold) ? place : undefined;
}

/** A linter's message without values: what is quoted and is no name, and what does not explain itself, is a gap. */
export function quoteFinding(message: string): string {
  const requoted = (_all: string, mark: string, quoted: string) =>
    `${mark}${isName(quoted) ? quoted : GAP}${CLOSING[mark] ?? mark}`;
  const words = message.replace(QUOTED, requoted).split(/\s+/);
  const isClear = (word: string) => explainsItself(word) && !/\S@\S+\.[a-z]{2,}/i.test(word);
  return oneGap(words.map((word) => (isClear(word) ? word : GAP))).join(' ');
}

/** Gaps that follow one another become one. */
function oneGap(words: readonly string[]): string[] {
  return words.filter((word, index) => word !== GAP || words[index - 1] !== GAP);
}

/** An apostrophe inside a word quotes nothing. */
const QUOTED = /(?<![\p{L}\p{N}])(["'`“‘«])((?:(?!\1)[^”’»])*)(?:["'`”’»](?![\p{L}\p{N}])|$)/gu;
const CLOSING: Readonly<Record<string, string>> = { '“': '”', '‘': '’', '«': '»' };

/** A plain word, or a name of code: `os/exec.Command`, `session.Action`. */
function isName(quoted: string): boolean {
  return /^@?[\p{L}_$]+(?:(?:\.|\/|::)[\p{L}_$]+)*(?:\(\))?$/u.test(quoted) && explainsItself(quoted);
}

const HIDDEN_LENGTH_MIN = 5;

/** A message about commands without the values in them that are not told. */
export function quoteMessage(message: string, commands: readonly SimpleCommand[]): string {
  let told = message;
  for (const command of commands) {
    const said = told;
    const isHidden = (word: string, at: number) => sharesPart(unquoted(word), said) && !isTold(command, at);
    for (const value of command.words.filter(isHidden).flatMap(valuesIn))
      if (value.length >= HIDDEN_LENGTH_MIN && value !== 'localhost') told = told.replaceAll(value, GAP);
  }
  return told;
}

/** Mostly a message repeats nothing of a word; then it does not matter what the word is. */
function sharesPart(value: string, message: string): boolean {
  for (let end = HIDDEN_LENGTH_MIN; end <= value.length; end++)
    if (message.includes(value.slice(end - HIDDEN_LENGTH_MIN, end))) return true;
  return false;
}

/** What an untold word may hold: all of it, what was assigned, what hangs on a letter (`-psecret`), and the parts. */
function valuesIn(word: string): string[] {
  const value = unquoted(word);
  if (/^--[^=]*$/.test(value) || (isElsewhere(value) && !value.includes(':'))) return [];
  const assigned = value.replace(/^(?:--?)?[\p{L}_][\p{L}\d_.-]*\+?=(?=.)/u, '');
  const attached = /^-\w/.test(value) ? [value.slice(2), value.slice(3)] : [value, assigned];
  return [...attached, ...assigned.split(/[=:@/,;&?%\s"'{}[\]()]+/).filter((part) => !part.startsWith('-'))];
}

/** The words of a command, gaps for those that are not told. */
export function toldWords(command: SimpleCommand): string[] {
  return command.words.map((word, index) => (isTold(command, index) ? unquoted(word) : GAP));
}

/** Two commands as they are told, so that the difference is seen: what both share is left out where it says nothing. */
export function quotePair(failing: SimpleCommand, use: SimpleCommand) {
  const shared = new Set(failing.words.filter((word) => use.words.includes(word)));
  const [first, second] = [quoteBeside(failing, use, shared), quoteBeside(use, failing, shared)];
  if (first === undefined || second === undefined) return undefined;
  // What is told has to differ in words that are told.
  return first === second || isVaguer(second, first) ? undefined : { failing: first, use: second };
}

function quoteBeside(command: SimpleCommand, other: SimpleCommand, shared: ReadonlySet<string>) {
  const head = headLength(command);
  const hung = hungOnto(command, other);
  return quotation(command, (word, index) => {
    if (index >= hung) return GAP;
    const isBeside = index >= head && shared.has(word) && !isOption(word);
    if (isBeside && !(isShort(command) && isPlainName(unquoted(word)))) return GAP;
    const partner = word.length > WORD_LENGTH_MAX ? partnerOf(word, other, shared) : undefined;
    return partner === undefined ? toldWord(word) : aroundDifference(word, partner);
  });
}

/**
 * Where the plain words begin that only this command has at its end. Behind a program that not everybody knows such a word
 * may be anything, a password as well.
 */
function hungOnto(command: SimpleCommand, other: SimpleCommand): number {
  const { words } = command;
  let start = words.length;
  const isValue = (word: string) =>
    !other.words.includes(word) && !isOption(word) && /^[\p{L}\p{N}_-]+$/u.test(unquoted(word));
  while (start > 1 && isValue(words[start - 1] as string)) start--;
  const isAdded = words.length > other.words.length && !isWellKnown(command);
  // The value of an option that was added with it is no argument.
  return isAdded && !isOption(words[start - 1] ?? '') ? start : words.length;
}

/** What has to be left out, where that is all of the difference; undefined when it is not, or may not be told. */
export function leftOut(failing: SimpleCommand, use: SimpleCommand): string | undefined {
  if (use.words.length >= failing.words.length) return undefined;
  const left: number[] = [];
  let at = 0;
  failing.words.forEach((word, index) => {
    if (word === use.words[at]) at++;
    else left.push(index);
  });
  if (at < use.words.length || left[0] === 0) return undefined;
  const hung = hungOnto(failing, use);
  if (left.some((index) => index >= hung || !isTold(failing, index))) return undefined;
  const text = left.map((index) => toldWord(failing.words[index] as string)).join(' ');
  return text.length <= QUOTE_LENGTH_MAX ? text : undefined;
}

/** Of a setting in front, and of an option, the name without the value; else a gap. */
function nameOf({ words }: SimpleCommand, index: number): string {
  const isInFront = words.slice(0, index).every(isAssignment);
  const name = (isInFront ? /^[A-Z][A-Z\d_]*=/ : /^--[a-z][a-z-]{2,30}=/).exec(words[index] ?? '')?.[0];
  return name === undefined ? GAP : `${name}${GAP}`;
}

/** Nothing is new in `use` but gaps: then it tells nothing. */
function isVaguer(use: string, failing: string): boolean {
  const wordsOf = (text: string) => text.split(' ').filter((word) => word !== GAP);
  const [words, others] = [wordsOf(use), wordsOf(failing)];
  const isSame = words.every((word) => others.includes(word)) && others.every((word) => words.includes(word));
  return isSame && `${use} ${failing}`.includes(GAP);
}

/** A path, a version, or a word as short as names of services, branches and targets are. */
function isPlainName(value: string): boolean {
  return (
    /^[a-z]{1,12}$|^[a-z]{1,6}\d{1,3}[a-z]?$|^[^\w\s]{1,3}$|^\d+(?:\.\d+)+$/.test(value) ||
    /^[^\s=,;()<>|]*[./][^\s=,;()<>|]*$/.test(value)
  );
}

/** What it installs are names that everybody knows. */
function isInstall({ words }: SimpleCommand): boolean {
  return words.slice(1, 4).some((word) => /^(?:install|add|i)$/.test(word));
}

const isShort = ({ words }: SimpleCommand): boolean => words.join(' ').length <= 64;

/** Program, subcommands and options in front: they say what kind of command it is. */
function headLength(command: SimpleCommand): number {
  const start = command.words.findIndex((word) => !isAssignment(word));
  let index = start + 1;
  while (index < start + 3 && /^[a-z][\w:.-]*$/i.test(unquoted(command.words[index] ?? ''))) index++;
  return index;
}

const isOption = (word: string): boolean => /^--?\p{L}/u.test(word);

/** Joins the words as they are told, gaps as one, as many as fit; undefined when the program itself is a gap. */
function quotation(command: SimpleCommand, tell: (word: string, index: number) => string) {
  const words = oneGap(
    command.words.map((word, index) => (isTold(command, index) ? tell(word, index) : nameOf(command, index))),
  );
  const program = programOf(command);
  if (program === '' || !words.some((word) => unquoted(word).includes(program))) return undefined;
  const whole = words.join(' ');
  if (whole.length <= QUOTE_LENGTH_MAX) return whole;
  let text = '';
  for (const word of words) {
    if (text.length + word.length + 3 > QUOTE_LENGTH_MAX) return text.endsWith(GAP) ? text : `${text} ${GAP}`;
    text += text === '' ? word : ` ${word}`;
  }
  return text;
}

/**
 * A word as it is told; in a path what does not explain itself is left out by itself. Quotes stay where the shell would
 * do something with what they hold.
 */
function toldWord(word: string): string {
  const value = unquoted(word);
  if (!isPath(value)) return shortened(word.replace(/\s+/g, ' '));
  const path = shortened(value.split('/').map(toldSegment).join('/').replace(/\s+/g, ' '));
  const [quote = ''] = /^["'](?=.*["']$)/s.exec(word) ?? [];
  return /[?*[\](){}&;<>|!\s]/.test(path) ? `${quote}${path}${quote}` : path;
}

function shortened(line: string): string {
  return line.length <= WORD_LENGTH_MAX ? line : `${line.slice(0, WORD_LENGTH_MAX - 1)}${GAP}`;
}

/** The word of the other command that this one was written anew from. */
function partnerOf(word: string, other: SimpleCommand, shared: ReadonlySet<string>): string | undefined {
  if (shared.has(word)) return undefined;
  return other.words.find((one) => one.length > WORD_LENGTH_MAX && !shared.has(one));
}

/** The part of a long word around the first place at which it differs from the other. */
function aroundDifference(word: string, other: string): string {
  const [line, otherLine] = [word.replace(/\s+/g, ' '), other.replace(/\s+/g, ' ')];
  const start = Math.max(0, sharedStart(line, otherLine) - AROUND_DIFFERENCE / 2);
  const end = Math.min(line.length, start + WORD_LENGTH_MAX);
  return `${start > 0 ? GAP : ''}${line.slice(start, end)}${end < line.length ? GAP : ''}`;
}

/** Returns true if others may read this word of a command. */
function isTold(command: SimpleCommand, index: number): boolean {
  const word = command.words[index] as string;
  const value = unquoted(word);
  if (isAssignment(word)) {
    const [, name = '', assigned = ''] = /^(\w+)\+?=(.*)$/s.exec(value) ?? [];
    return explainsItself(name) && !isSecretName(name) && isSetting(assigned);
  }
  if (isAfterSecretOption(command, index)) return false;
  if (isOption(word)) {
    const [, name = '', assigned] = /^(--?[\p{L}\d_.:-]+)(?:=(.*))?$/su.exec(value) ?? [];
    if (name === '' || hasAttachedValue(command, value)) return false;
    return assigned === undefined || (!isSecretName(name) && explainsItself(assigned));
  }
  const isProgram = command.words.slice(0, index).every(isAssignment);
  if (isProgram) return /^[\p{L}\p{N}_@%+.~/\\:-]{1,64}$/u.test(value);
  if (lists.KEEPS_SECRETS.test(programOf(command)) && !isPlainPlace(value) && !isSubcommand(command, index))
    return false;
  return !isElsewhere(value) && (explainsItself(value) || isPath(value));
}

/** Numbers, what everybody sets, and options; never what somebody made up. */
function isSetting(value: string): boolean {
  const isOne = (part: string) =>
    /^-?\d{1,5}(?:\.\d+)?$/.test(part) ||
    lists.SETTINGS.has(part.toLowerCase()) ||
    (isOption(part) && isPlainOption(part));
  // A path or a module made of such words says nothing else.
  const isMadeOfThem = (part: string) => part.split(/[.:/]/).every((one) => one === '' || isOne(one));
  return value.split(/[ ,]/).every((part) => isOne(part) || isMadeOfThem(part));
}

function isPlainOption(part: string): boolean {
  const [, name = '', value] = /^--?([\p{L}\d_:-]+)(?:=(.*))?$/su.exec(part) ?? [];
  if (name === '' || !explainsItself(name) || isSecretName(`-${name}`) || isSecretName(`--${name}`))
    return false;
  return value === undefined || /^\d{1,6}$/.test(value) || lists.SETTINGS.has(value.toLowerCase());
}

/** A place on somebody's machine, and none of the repository. */
const isElsewhere = (value: string) => /^(?:\/(?!\/|dev\/null$|tmp\/?$)|~|[A-Za-z]:[\\/])/.test(value);

function isSecretName(name: string): boolean {
  return (
    (lists.SECRET_NAME.test(name) || lists.SECRET_LETTER.test(name)) &&
    !/^--?(?:author|authors|keyword|keep|user-agent|tokens?-max|max-tokens)/i.test(name)
  );
}

/** The value of an option that takes a secret, or of a subcommand that does: `login X`, `set KEY X`. */
function isAfterSecretOption(command: SimpleCommand, index: number): boolean {
  const words = command.words.map(unquoted);
  const [before = '', value = ''] = [words[index - 1], words[index]];
  if (lists.HARMLESS.test(`${programOf(command)} ${before}`)) return false;
  const isValue = isOption(before) && !before.includes('=') && !isOption(command.words[index] ?? '');
  if (isValue && isSecretName(before)) return !isPlainPlace(value) || before !== '-p';
  const earlier = words.slice(0, index);
  return (
    lists.SECRET_BEFORE.test(earlier.filter((word) => !isOption(word)).join(' ')) ||
    earlier.slice(-3).some((word) => lists.TAKES_SECRET.test(word))
  );
}

/** `-ppassword`, `-uuser:password`. */
function hasAttachedValue(command: SimpleCommand, value: string): boolean {
  return (
    /^-(?:[puPakwU]|hp)[^-=].{2,}$/.test(value) &&
    (lists.KEEPS_SECRETS.test(programOf(command)) || /[^a-z-]/.test(value.slice(2)))
  );
}

/** A file or a plain path: what these programs are called on and not what opens it. */
function isPlainPlace(value: string): boolean {
  return /^\.{0,2}\/?@?[\w+ -]+(?:\/[\w+.-]+)+\/?$|^[\w-]+\.[a-z]{1,5}$/.test(value) && explainsItself(value);
}

/** The first plain words behind the program say what it does. */
function isSubcommand({ words }: SimpleCommand, index: number): boolean {
  const start = words.findIndex((word) => !isAssignment(word));
  return index === start + 1 && /^[a-z][a-z-]{1,15}$/.test(unquoted(words[index] ?? ''));
}

const CODE_LENGTH_MAX = 400;

/** Numbers between slashes name one thing of many. */
const toldSegment = (part: string): string => (explainsItself(part) && !/^\d{2,}$/.test(part) ? part : GAP);

/** Several names between slashes, as in an address without its host. */
function isPath(value: string): boolean {
  return /^[\w@.~-]*(?:\/[\w@.:?=&~-]+){2,}\/?$/.test(value) && value.split('/').some(explainsItself);
}

/** Plain words, numbers, versions, paths, names of packages, patterns, and code that is made of such. */
export function explainsItself(value: string): boolean {
  if (value === '' || /^[^A-Za-z0-9]{1,12}$/.test(value)) return true;
  if (value.includes('[REDACTED') || value.includes('://') || value.length > CODE_LENGTH_MAX) return false;
  const tokens = value.match(/[\p{L}\p{N}_]+/gu) ?? [];
  return tokens.every((token, index) => isPlainToken(token, value, index === 0));
}

const WITH_DIGITS =
  /^(?:[A-Za-z]{1,12}_?\d{1,4}|\d{1,4}[a-z]{1,3}|[a-z]{1,4}\d{1,3}[a-z]{1,4}|(?:[A-Za-z]+_)+[A-Za-z\d]{1,8})$/;

/** A word of letters, or a number; letters and digits together only as names have them: `v2`, `utf8`, `ES2022`, `sha256`. */
function isPlainToken(token: string, value: string, isFirst: boolean): boolean {
  if (/^\d{1,5}$/.test(token)) return true;
  if (/^\d+$/.test(token)) return /^[\d.:-]+$/.test(value) && token !== value && token.length <= 8;
  // Mixed case and punctuation around it, as in made-up passwords: `Tiger-4821!x`.
  const isMixed = [/[!^&%#~]/, /\d/, /[A-Za-z]/].every((one) => one.test(value));
  if (isMixed && isFirst && value.length <= 40 && !/[\s()|.[\]/]/.test(value)) return false;
  if (/^[\p{L}_]+$/u.test(token)) return token.length <= 40 && isWordLike(token);
  return WITH_DIGITS.test(token) && !/^[a-f0-9]{7,}$/.test(token);
}

/** Parts of a name of letters (`camelCase`, `snake_case`) have vowels, as words have. */
function isWordLike(token: string): boolean {
  if (!/^[A-Za-z_]+$/.test(token)) return true;
  const parts = token.split(/_|(?<=[a-z])(?=[A-Z])/).filter((part) => part.length > 5);
  return parts.every((part) => /[aeiouy]/i.test(part) && !/[^aeiouy_]{6,}/i.test(part));
}
