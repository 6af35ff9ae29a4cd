import { type CommandReference, referenceOf } from '../../src/cli/completion/reference.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { program } from '../../src/cli/run.ts';

/** All commands of the program, none of which is called. */
export function programReference(): CommandReference {
  const silent = {
    env: {},
    cwd: '/',
    platform: 'linux',
    stdout: () => {},
    stderr: () => {},
    screen: () => undefined,
  };
  return referenceOf(program(silent as unknown as CliContext));
}

/** A text on one line. */
export function onOneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

/** Whether a paragraph's lines are to be kept as they are. */
export function isList(paragraph: string): boolean {
  return /^ {2}/m.test(paragraph);
}

/** What may stand for a value: its description and its choices. */
export function meaningOf(description: string, choices: readonly string[] = []): string {
  const words = choices.length === 0 ? '' : `one of ${choices.join(', ')}`;
  return [description, words].filter((part) => part !== '').join('; ');
}

/** The lines of a list without the indent that they share. */
export function linesOf(list: string): string[] {
  const lines = list.replace(/^\n+|\s+$/g, '').split('\n');
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  return lines.map((line) => line.slice(Math.min(...indents)).trimEnd());
}
