import { inertText, withoutFrames } from '../core/inert-text.ts';
import { cleanText, cutText } from '../core/text.ts';
import type { Failure } from '../setup/manifest.ts';
import { type CliContext, EXIT, sentence } from './context.ts';
import { shownJson } from './terminal/json.ts';
import { problemJson } from './terminal/problem.ts';
import { tableLines } from './terminal/width.ts';

/**
 * A table without lines; the heading is dim where colour is wanted. On a terminal it is as wide as that; what is read from a
 * pipe or a file has whole lines, which other programs take apart. `right`: the columns whose cells stand at the right.
 */
export function newTable(
  head: readonly string[],
  { colours, screen }: CliContext,
  right: readonly number[] = [],
) {
  const rows: string[][] = [head.map((label) => (label === '' ? '' : colours.dim(label)))];
  return {
    push: (row: readonly (string | number)[]) => void rows.push(row.map(String)),
    toString: () => tableLines({ rows, right }, screen()?.columns || Number.POSITIVE_INFINITY).join('\n'),
  };
}

/** Texts from outside are printed only by these functions: the reader may be an agent, and a terminal obeys control characters. */

/** All of it on one line. */
export function shownLine(text: string): string {
  return inertText(text, Number.POSITIVE_INFINITY);
}

/** The beginning of it on one line. */
export function shortened(text: string, lengthMax: number): string {
  const line = shownLine(text);
  return line.length > lengthMax ? `${cutText(line, lengthMax - 1)}…` : line;
}

/** With its lines, and nothing left out: frames are undone, and what would be invisible is shown by its number. */
export function shownText(text: string): string {
  return visible(withoutFrames(text));
}

/** One JSON document on standard output. */
export function printJson(value: unknown, context: CliContext): void {
  context.stdout(shownJson(value));
}

/** A report of setup as JSON. One that failed has the error that every failure has, and beside it what was done by then. */
export function printReportJson(report: Failure | { readonly kind: 'done' }, context: CliContext): void {
  if (report.kind === 'done') printJson(report, context);
  else {
    const message = sentence(`Cannot ${report.action}: ${report.reason}`);
    context.stdout(problemJson({ exitCode: EXIT.failed, message, hint: report.advice }, report));
  }
}

/** Exactly as it is, for somebody who agrees to it: what would move the cursor or mislead is shown by its number. */
export function visible(text: string): string {
  const shown = (character: string) =>
    `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
  const characters = Array.from(text.replaceAll('\r\n', '\n'));
  return characters
    .map((character, index) => {
      // Whether a joiner is one depends on what it joins.
      const isJoiner = character === '\u200c' || character === '\u200d';
      const piece = isJoiner ? characters.slice(Math.max(0, index - 1), index + 2).join('') : character;
      return character === '\r' || cleanText(piece) !== piece ? shown(character) : character;
    })
    .join('');
}

/** A unified diff in colours. */
export function colouredDiff(diff: string, { colours }: CliContext): string {
  const { bold, cyan, green, red } = colours;
  const paint = (line: string) => {
    if (line.startsWith('---') || line.startsWith('+++')) return bold(line);
    if (line.startsWith('@@')) return cyan(line);
    if (line.startsWith('+')) return green(line);
    return line.startsWith('-') ? red(line) : line;
  };
  return visible(diff).split('\n').map(paint).join('\n');
}
