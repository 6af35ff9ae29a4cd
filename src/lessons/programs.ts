import {
  CHECKS,
  DIAGNOSES,
  LOOKS,
  MENDS,
  READING_SUBCOMMANDS,
  READS,
  RUNNERS,
  SETS_UP,
  UNSAFE,
  UNSAFE_ASSIGNMENT,
  WELL_KNOWN,
} from './program-lists.ts';
import { isAssignment, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** What programs are for, as far as lessons need to know. */

/** Returns true if the command changes nothing, or is another check, so that it cannot be what helped. */
export function isRead(command: SimpleCommand): boolean {
  const program = programOf(command);
  const words = textOf(command);
  return (
    READS.has(program) ||
    READING_SUBCOMMANDS.test(words) ||
    CHECKS.test(words) ||
    /^git\b|^gh\b|^rm\b|^cd\b|^mv\b|^cp\b|^kill/.test(words)
  );
}

/** Returns true if the program only shows what is there: that it shows another thing is no correction. */
export function isLook(command: SimpleCommand): boolean {
  return READS.has(programOf(command));
}

/** Returns true if the command only asks how it is called, or says more of what it does. */
export function asksForHelp({ words }: SimpleCommand, failing: SimpleCommand): boolean {
  const isHelp = (word: string) => /^--?(?:help|version|list)$|^help$/.test(word) || DIAGNOSES.test(word);
  const added = words.filter((word) => !failing.words.includes(word));
  return added.some(isHelp) || added.at(-1) === '-h';
}

/** Returns true if the command looks for faults in the code. */
export function isCheck(command: SimpleCommand): boolean {
  return CHECKS.test(textOf(command));
}

/** Returns true if the command makes ready what others need. */
export function isSetUp(command: SimpleCommand): boolean {
  return SETS_UP.test(textOf(command));
}

/** Returns true if the command gets round a check or destroys something: it is never told. */
export function undoes(command: SimpleCommand): boolean {
  const words = textOf(command);
  return UNSAFE_ASSIGNMENT.test(command.words.join(' ')) || UNSAFE.some((one) => one.test(words));
}

/** Returns true if every developer knows the program, or the one that it runs (`npx eslint`): its words may be told. */
export function isWellKnown(command: SimpleCommand): boolean {
  const program = programOf(command);
  const text = textOf(command).replace(/^\S+/, program);
  const rest = text.replace(RUNNERS, '').trim();
  const inner = rest === '' ? program : (rest.split(' ', 1)[0] ?? '');
  return WELL_KNOWN.has(programOf({ words: [inner] }));
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
  const looks = words.filter((word) => !LOOKS.test(word));
  const mends = others.filter((word) => !MENDS.test(word));
  const isChanged =
    looks.length < words.length ? words.length - looks.length === 1 : others.length === mends.length + 1;
  return isChanged && others.length - mends.length <= 1 && looks.join(' ') === mends.join(' ');
}

function plainWords({ words }: SimpleCommand): string[] {
  return words.filter((word) => !isAssignment(word)).map(unquoted);
}

function textOf({ words }: SimpleCommand): string {
  return words
    .filter((word) => !isAssignment(word))
    .map(unquoted)
    .join(' ');
}
