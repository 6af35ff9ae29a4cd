import * as lists from './program-lists.ts';
import { isAssignment, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** What programs are for, as far as lessons need to know. */

/** Returns true if the command changes nothing, or is another check, so that it cannot be what helped. */
export function isRead(command: SimpleCommand): boolean {
  const signs = [lists.READING_SUBCOMMANDS, lists.CHECKS, /^git\b|^gh\b|^rm\b|^cd\b|^mv\b|^cp\b|^kill/];
  return isLook(command) || signs.some((sign) => sign.test(textOf(command)));
}

/** Returns true if the program only shows what is there: that it shows another thing is no correction. */
export function isLook(command: SimpleCommand): boolean {
  return lists.READS.has(programOf(command));
}

/** Returns true if the command only asks how it is called, or says more of what it does. */
export function asksForHelp({ words }: SimpleCommand, failing: SimpleCommand): boolean {
  const isHelp = (word: string) =>
    /^--?(?:help|version|list)$|^help$/.test(word) || lists.DIAGNOSES.test(word);
  const added = words.filter((word) => !failing.words.includes(word));
  return added.some(isHelp) || added.at(-1) === '-h';
}

/** Returns true if the command looks for faults in the code. */
export function isCheck(command: SimpleCommand): boolean {
  return lists.CHECKS.test(textOf(command));
}

/** Returns true if the command makes ready what others need. */
export function isSetUp(command: SimpleCommand): boolean {
  return lists.SETS_UP.test(textOf(command));
}

/** Returns true if the command gets round a check or destroys something: it is never told. */
export function undoes(command: SimpleCommand): boolean {
  const words = textOf(command);
  return lists.UNSAFE_ASSIGNMENT.test(command.words.join(' ')) || lists.UNSAFE.some((one) => one.test(words));
}

/** Returns true if every developer knows the program, or the one that it runs (`npx eslint`): its words may be told. */
export function isWellKnown(command: SimpleCommand): boolean {
  const program = programOf(command);
  const text = textOf(command).replace(/^\S+/, program);
  const rest = text.replace(lists.RUNNERS, '').trim();
  const inner = rest === '' ? program : (rest.split(' ', 1)[0] ?? '');
  return lists.WELL_KNOWN.has(programOf({ words: [inner] }));
}

/** `lint:fix` beside `lint`, `fmt` beside `lint`, `eslint --fix` beside `eslint`, `fmt` beside `fmt --check`. */
export function siblingScript(failing: SimpleCommand, other: SimpleCommand): boolean {
  const [words, others] = [plainWords(failing), plainWords(other)];
  if (words.join(' ') === others.join(' ') || others.length === 0) return false;
  const script = words.at(-1) ?? '';
  const isRepair = (word: string) => /(?:^|[:_-])(?:fix|fmt|format|write|autocorrect)(?:$|[:_-])/.test(word);
  if (script === '' || isRepair(script)) return false;
  const last = others.at(-1) ?? '';
  const isSameRunner = words.length > 1 && words.slice(0, -1).join(' ') === others.slice(0, -1).join(' ');
  if (isSameRunner && isRepair(last)) return last.startsWith(script) || /^(?:fmt|format|fix)$/.test(last);
  const looks = words.filter((word) => !lists.LOOKS.test(word));
  const mends = others.filter((word) => !lists.MENDS.test(word));
  const [looked, mended] = [words.length - looks.length, others.length - mends.length];
  const isChanged = looked === 1 || (looked === 0 && mended === 1);
  return isChanged && mended <= 1 && looks.join(' ') === mends.join(' ');
}

const plainWords = ({ words }: SimpleCommand) => words.filter((word) => !isAssignment(word)).map(unquoted);

const textOf = (command: SimpleCommand): string => plainWords(command).join(' ');
