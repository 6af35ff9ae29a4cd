import type { CommandReference } from '../../src/cli/completion/reference.ts';
import { isList, linesOf, meaningOf, onOneLine } from './program.ts';

const PROGRAM = 'self-generation';
const INTRODUCTION = `# Commands

<!-- Written by "npm run docs" from the program's own commands. -->

Every command has \`--help\`, which says what stands here. \`self-generation completions SHELL\` has your shell complete all of
it, and a release has the man page \`self-generation.1\`. [settings.md](settings.md) lists the settings.
`;

/** docs/commands.md. */
export function commandsPage(program: CommandReference): string {
  const rows = program.commands.map((command) => {
    const name = command.path.join(' ');
    return `| [\`${name}\`](#${anchorOf(command)}) | ${inCell(command.description)} |`;
  });
  const overview = ['| command | what it does |', '|---|---|', ...rows].join('\n');
  return `${[INTRODUCTION.trim(), overview, ...bodyOf(program), ...program.commands.flatMap(sectionOf)].join('\n\n')}\n`;
}

function anchorOf({ path }: CommandReference): string {
  return [PROGRAM, ...path].join('-');
}

function sectionOf(command: CommandReference): string[] {
  const heading = `${command.path.length === 1 ? '##' : '###'} ${[PROGRAM, ...command.path].join(' ')}`;
  const usage = `\`\`\`\n${command.usage}\n\`\`\``;
  return [
    heading,
    `${capital(command.description)}.`,
    usage,
    ...bodyOf(command),
    ...command.commands.flatMap(sectionOf),
  ];
}

function bodyOf({ arguments: values, options, details }: CommandReference): string[] {
  const described = values.map(({ name, description, choices }) =>
    row(name, meaningOf(description, choices)),
  );
  const meanings = options
    .filter(({ long }) => long !== '--help')
    .map(({ flags, description, value }) => row(flags, meaningOf(description, value?.choices)));
  return [
    ...tableOf('argument', described),
    ...tableOf('option', meanings),
    ...details.notes.map((note) => (isList(note) ? fenced(note) : escaped(onOneLine(note)))),
    ...(details.examples === '' ? [] : [fenced(details.examples)]),
    ...(details.exitCodes === '' ? [] : exitCodes(details.exitCodes)),
  ];
}

function exitCodes(text: string): string[] {
  return isList(text) ? ['Exit codes:', fenced(text)] : [`Exit codes: ${escaped(onOneLine(text))}`];
}

function tableOf(head: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : [[`| ${head} | meaning |`, '|---|---|', ...rows].join('\n')];
}

function row(name: string, meaning: string): string {
  return `| \`${name.replaceAll('|', '\\|')}\` | ${inCell(meaning)} |`;
}

function fenced(text: string): string {
  return `\`\`\`\n${linesOf(text).join('\n')}\n\`\`\``;
}

/** Markdown takes none of it for markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_<>[\]]/g, '\\$&');
}

/** The same in a cell of a table. */
export function inCell(text: string): string {
  return escaped(onOneLine(text)).replaceAll('|', '\\|');
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${escaped(text.slice(1))}`.replace(/\.$/, '');
}
