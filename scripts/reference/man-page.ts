import { type CommandReference, withSubcommands } from '../../src/cli/completion/reference.ts';
import { isList, linesOf, meaningOf, onOneLine } from './program.ts';

const NAME = 'self-generation';

/** The manual, section 1, in the macros of man(7). The same version gives the same bytes. */
export function manPage(program: CommandReference, version: string): string {
  const { notes, examples, exitCodes } = program.details;
  const commands = withSubcommands(program).filter(({ path }) => path.length > 0);
  return lines([
    `.TH SELF\\-GENERATION 1 "" "${roff(`${NAME} ${version}`)}" "User Commands"`,
    '.SH NAME',
    `${roff(NAME)} \\- ${roff(program.description.charAt(0).toLowerCase() + withoutDot(program.description.slice(1)))}`,
    '.SH SYNOPSIS',
    `.B ${roff(NAME)}`,
    `.RI [ options "] [" command ]`,
    '.SH DESCRIPTION',
    ...(notes.length === 0 ? paragraph(program.description) : notes.flatMap(paragraph)),
    '.SH OPTIONS',
    ...optionsOf(program),
    '.SH COMMANDS',
    ...commands.flatMap(commandOf),
    '.SH EXIT STATUS',
    ...paragraph(exitCodes),
    ...(examples === '' ? [] : ['.SH EXAMPLES', ...verbatim(examples)]),
    '.SH FILES',
    '.TP',
    '.I \\(ti/.self\\-generation/config.json',
    'The settings.',
    '.TP',
    '.I \\(ti/.self\\-generation/data',
    'What was recorded and learned.',
  ]);
}

function commandOf(command: CommandReference): string[] {
  const { notes, examples, exitCodes } = command.details;
  return [
    `.SS ${roff([NAME, ...command.path].join(' '))}`,
    ...paragraph(
      `${command.description.charAt(0).toUpperCase()}${withoutDot(command.description.slice(1))}.`,
    ),
    ...verbatim(command.usage),
    ...command.arguments.flatMap(({ name, description, choices }) => [
      '.TP',
      `.I ${roff(name)}`,
      text(meaningOf(description, choices)),
    ]),
    ...optionsOf(command),
    ...notes.flatMap(paragraph),
    ...(examples === '' ? [] : [...paragraph('Examples:'), ...verbatim(examples)]),
    ...(exitCodes === '' ? [] : paragraph(isList(exitCodes) ? exitCodes : `Exit codes: ${exitCodes}`)),
  ];
}

function optionsOf({ options }: CommandReference): string[] {
  return options
    .filter(({ long }) => long !== '--help')
    .flatMap(({ flags, description, value }) => [
      '.TP',
      `.B ${roff(flags)}`,
      text(meaningOf(description, value?.choices)),
    ]);
}

function paragraph(said: string): string[] {
  if (said === '') return [];
  return isList(said) ? verbatim(said) : ['.PP', text(said)];
}

/** Lines as they are, indented. */
function verbatim(said: string): string[] {
  return ['.PP', '.RS 4', '.nf', ...linesOf(said).map((line) => roff(line) || '\\&'), '.fi', '.RE'];
}

function text(said: string): string {
  return roff(onOneLine(said)) || '\\&';
}

/** A line of which nothing is a request or an escape; characters beyond ASCII by their numbers. */
function roff(said: string): string {
  const escaped = said
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
    .replaceAll('`', '\\(ga')
    .replace(
      /[^\x20-\x7e]/gu,
      (one) => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
  return escaped.startsWith('.') ? `\\&${escaped}` : escaped;
}

function withoutDot(said: string): string {
  return said.replace(/\.$/, '');
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('');
}
