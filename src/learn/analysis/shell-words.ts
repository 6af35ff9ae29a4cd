/** Shell commands as words: what was run, and whether a quoted command is among it. Not a shell: nothing is expanded. */

/** The words of one simple command; quoted words are one word without their quotes. */
export type SimpleCommand = readonly string[];

const LINE_LENGTH_MAX = 4096;
const TOKEN =
  /(<<-?)|(\d*(?:>>?|<)&?[\d-]?)|(&&|\|\||[;|&\n()`]|\$\()|((?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|\$(?!\()|[^\s;|&()<>"'`\\$])+)/gs;

/** The simple commands of a line, in order. Stops at a here-document. Redirections and assignments are left out. */
export function simpleCommands(line: string): SimpleCommand[] {
  const commands: string[][] = [];
  let words: string[] = [];
  let isTarget = false;
  for (const [, heredoc, redirection, operator, word] of line.slice(0, LINE_LENGTH_MAX).matchAll(TOKEN)) {
    if (heredoc !== undefined) break;
    if (redirection !== undefined) isTarget = !/&[\d-]$/.test(redirection);
    else if (operator !== undefined) {
      if (words.length > 0) commands.push(words);
      words = [];
      isTarget = false;
    } else if (word !== undefined) {
      const isAssignment = words.length === 0 && /^[A-Za-z_]\w*=/.test(word);
      if (!isTarget && !isAssignment) words.push(word.replace(/["']|\\(?=\W)/g, ''));
      isTarget = false;
    }
  }
  return words.length > 0 ? [...commands, words] : commands;
}

/** Only show or shorten what another command said. */
const REPORTERS = new Set([
  'cd',
  'echo',
  'printf',
  'head',
  'tail',
  'cat',
  'grep',
  'wc',
  'sort',
  'true',
  'sleep',
]);

/**
 * A line without what only moves or reports: `cd app && npm test 2>&1 | tail -5` is `npm test`. The same form means the
 * same command. Empty when nothing is left.
 */
export function plainLine(line: string): string {
  return simpleCommands(line)
    .filter(([program = '']) => !REPORTERS.has(program))
    .map((words) => words.join(' '))
    .join(' && ');
}

/** What stands in backticks. */
export function quotedCommands(advice: string): string[] {
  return [...advice.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command.trim()).filter(Boolean);
}

/**
 * Whether a line ran a command: all its words, whole, at the beginning of a simple command, and so never as somebody's
 * argument. `…` and `<name>` stand for one word or more. Several joined commands have to follow each other.
 */
export function ranCommand(line: string, command: string): boolean {
  const wanted = simpleCommands(marked(command));
  if (wanted.length === 0 || wanted.some(([program]) => program?.includes(ANY))) return false;
  const ran = simpleCommands(line);
  return ran.some((_, at) => wanted.every((words, index) => beginsWith(ran[at + index] ?? [], words)));
}

/** The longest word of a command that stands for itself: what any line that ran it holds. */
export function tellingWord(command: string): string | undefined {
  const words = simpleCommands(marked(command)).flat();
  const literal = words.filter((word) => !word.includes(ANY) && /^[\w./:@=-]+$/.test(word));
  return literal.sort((left, right) => right.length - left.length)[0];
}

const ANY = '\u0000';

/** Placeholders as a character that no line has. */
function marked(command: string): string {
  return command.replace(/…|\.\.\.(?!\w)(?=\s|$)|<[\w -]{1,40}>/g, ANY);
}

/** Whether the words begin so; what follows a placeholder is looked for from the next word but one on. */
function beginsWith(words: SimpleCommand, wanted: SimpleCommand): boolean {
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
function segments(wanted: SimpleCommand): string[][] {
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
