import { isAssignment, parseShell, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** What was run, and whether a quoted command is among it. */

/** The words of the simple commands of a line, without quotes, redirections and assignments; `cd` is none of them. */
export function commandWords(line: string): string[][] {
  return parseShell(line).flatMap((command) => {
    const { words } = readCommand(command);
    return words.length > 0 ? [words] : [];
  });
}

type ReadCommand = { readonly assignments: readonly string[]; readonly words: string[] };

function readCommand({ words }: SimpleCommand): ReadCommand {
  const first = words.findIndex((word) => !isAssignment(word));
  const start = first < 0 ? words.length : first;
  return { assignments: words.slice(0, start).map(unquoted), words: words.slice(start).map(unquoted) };
}

/** Only show or shorten what another command said. */
const REPORTERS = new Set('cd echo printf head tail cat grep wc sort true sleep'.split(' '));

/**
 * A line without what only moves or reports: `cd app && npm test 2>&1 | tail -5` is `npm test`. The same form means the
 * same command. Empty when nothing is left.
 */
export function plainLine(line: string): string {
  return parseShell(line)
    .filter((command) => !REPORTERS.has(programOf(command)))
    .map((command) => readCommand(command).words.join(' '))
    .filter(Boolean)
    .join(' && ');
}

/** What stands in backticks. */
export function quotedCommands(advice: string): string[] {
  return [...advice.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command.trim()).filter(Boolean);
}

/**
 * Returns true if a command is called in a line: all its words, whole, at the beginning of a simple command, and so never
 * as an argument. `…` and `<name>` stand for one word or more. Several joined commands have to follow each other. Whether
 * the call was reached, and how it ended, is another question.
 */
export function callsCommand(line: string, command: string): boolean {
  const wanted = parseShell(marked(command));
  const fits = (ran: SimpleCommand, one: SimpleCommand) =>
    beginsWith(readCommand(ran).words, readCommand(one).words);
  return isNamed(wanted) && hasSequence(parseShell(line), wanted, fits);
}

/**
 * Returns true if a line that worked proves that a command does: it was certainly called, and whoever types the command
 * gets no more than was run then. So the environment that it sets was set, and it writes nowhere and hides no other command.
 */
export function provesCommand(line: string, command: string): boolean {
  const text = marked(command);
  const wanted = isBare(text) ? parseShell(text) : [];
  const isPipe = wanted.some(({ endedBy }) => endedBy === '|');
  return isNamed(wanted) && hasSequence(certainCommands(line), wanted, isPipe ? isSameInPipe : fitsRun);
}

function isNamed(wanted: readonly SimpleCommand[]): boolean {
  const programs = wanted.map((command) => readCommand(command).words[0] ?? '');
  return programs.length > 0 && programs.every((program) => program !== '' && !program.includes(ANY));
}

function hasSequence(
  ran: readonly SimpleCommand[],
  wanted: readonly SimpleCommand[],
  fits: (ran: SimpleCommand, wanted: SimpleCommand) => boolean,
): boolean {
  return ran.some((_, at) =>
    wanted.every((command, index) => {
      const found = ran[at + index];
      return found !== undefined && fits(found, command);
    }),
  );
}

/** What makes a call do nothing, or something else. */
const ONLY_SHOWS = /^(?:-n|-h|--help|--version|--dry-run(?:=.*)?)$/;

/** Without more environment than was set, where it ran, and not by a call that only said what it would do. */
function fitsRun(ran: SimpleCommand, wanted: SimpleCommand): boolean {
  const [one, other] = [readCommand(ran), readCommand(wanted)];
  return (
    !ran.readsPipe &&
    other.assignments.every((wantedOne) => one.assignments.includes(wantedOne)) &&
    (wanted.directory === '' || wanted.directory === ran.directory) &&
    beginsWith(one.words, other.words) &&
    !one.words.some((word) => ONLY_SHOWS.test(word) && !other.words.includes(word))
  );
}

/**
 * Returns true if a simple command is this very one: all its words and no more, with its environment, where it says. `…`
 * stands for one word or more.
 */
export function isCommand(ran: SimpleCommand, command: string): boolean {
  const [wanted, ...others] = parseShell(marked(command));
  if (wanted === undefined || others.length > 0 || !isNamed([wanted]) || !fitsRun(ran, wanted)) return false;
  const [one, other] = [readCommand(ran), readCommand(wanted)];
  const isLonger = one.words.length > other.words.length && !other.words.includes(ANY);
  return !isLonger && one.assignments.length === other.assignments.length;
}

/** Returns true if a command stands in a text, with anything for `…`. */
export function mentionsCommand(text: string, command: string): boolean {
  let at = 0;
  for (const part of marked(command).split(ANY)) {
    at = text.indexOf(part.trim(), at);
    if (at < 0) return false;
    at += part.trim().length;
  }
  return true;
}

/** A pipe is proven by the very same one. */
function isSameInPipe(ran: SimpleCommand, { words, directory, endedBy, readsPipe }: SimpleCommand): boolean {
  return (
    ran.readsPipe === readsPipe &&
    (ran.endedBy === '|') === (endedBy === '|') &&
    (directory === '' || directory === ran.directory) &&
    ran.words.join('\n') === words.join('\n')
  );
}

/** Where a program is called: at the beginning, and behind what separates commands. */
const PLACE = String.raw`(?:^|[;&|(\n])\s*`;
const CONSTRUCT = new RegExp(
  String.raw`${PLACE}(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|time|!|\{|\})(?=[\s;]|$)|\(\)`,
);
/** What the parser leaves out. */
const SETS = new RegExp(String.raw`${PLACE}(?:pushd|export|local|set|unset|alias|trap)(?=[\s;]|$)`);
const LEAVES = new Set(['exit', 'return', 'exec', 'break', 'continue', 'logout', 'kill']);
const DIRECTORY = /^[\w.@/][\w./@-]*$/;
/** A longer line has been cut somewhere on its way. */
const LINE_LENGTH_MAX = 1900;

/** Returns true if a command is words alone, joined by `&&` or `|`. */
function isBare(command: string): boolean {
  const outside = command.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/g, 'x');
  const targets = [...outside.matchAll(/(?:^|&&)\s*cd(?=\s|$)\s*([^\s&|]*)/g)].map(
    ([, target = '']) => target,
  );
  return (
    !/[<>();`\n\r]|(?<!&)&(?!&)|&&&|\|[|&]|(?:^|\s)#|['"]/.test(outside) &&
    !/\$\(|`/.test(command) &&
    !CONSTRUCT.test(outside) &&
    !SETS.test(outside) &&
    targets.every((target) => DIRECTORY.test(target))
  );
}

/** The commands of a line that certainly ran, and worked, when it did; none of a line with loops, conditions or functions. */
function certainCommands(line: string): SimpleCommand[] {
  if (line.length > LINE_LENGTH_MAX || CONSTRUCT.test(line)) return [];
  const commands = parseShell(line);
  if (commands.some((command) => LEAVES.has(programOf(command)))) return [];
  return commands.filter(({ isCertain }) => isCertain);
}

/** The longest word of a command that stands for itself: what any line that ran it holds. */
export function tellingWord(command: string): string | undefined {
  const words = commandWords(marked(command)).flat();
  const literal = words.filter((word) => !word.includes(ANY) && /^[\w./:@=-]+$/.test(word));
  return literal.sort((left, right) => right.length - left.length)[0];
}

const ANY = '\u0000';

/** Placeholders as a character that no line has. */
function marked(command: string): string {
  return command.replace(/…|\.\.\.(?!\w)(?=\s|$)|<[\w -]{1,40}>/g, ANY);
}

/** Returns true if the words begin so; what follows a placeholder is looked for from the next word but one on. */
function beginsWith(words: readonly string[], wanted: readonly string[]): boolean {
  let at = 0;
  let isFree = false;
  for (const part of segments(wanted)) {
    const last = words.length - part.length;
    let found = isFree ? at + 1 : at;
    const fitsHere = () => part.every((word, index) => fits(words[found + index] ?? '', word));
    while (isFree && found <= last && !fitsHere()) found++;
    if (found > last || !fitsHere()) return false;
    at = found + part.length;
    isFree = true;
  }
  return true;
}

/** The runs of words between placeholders; the last is empty when one ends the command. */
function segments(wanted: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (const word of wanted) {
    if (word === ANY) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts;
}

/** Within a word the placeholder stands for some characters. */
function fits(word: string, wanted: string): boolean {
  if (!wanted.includes(ANY)) return word === wanted;
  const parts = wanted.split(ANY);
  const [head = ''] = parts;
  const tail = parts.at(-1) ?? '';
  if (word.length <= head.length + tail.length || !word.startsWith(head) || !word.endsWith(tail))
    return false;
  let at = head.length;
  for (const part of parts.slice(1, -1)) {
    at = word.indexOf(part, at);
    if (at < 0) return false;
    at += part.length;
  }
  return at <= word.length - tail.length;
}
