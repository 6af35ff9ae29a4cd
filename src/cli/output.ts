import Table from 'cli-table3';
import { inertText, withoutFrames } from '../core/inert-text.ts';
import { cleanText, cutText } from '../core/text.ts';
import type { CliContext } from './context.ts';

const SIDES = ['top', 'bottom', 'left', 'right'].flatMap((side) => [side, `${side}-mid`]);
const CORNERS = ['top-left', 'top-right', 'bottom-left', 'bottom-right', 'mid', 'mid-mid'];
const NO_LINES = Object.fromEntries([...SIDES, ...CORNERS].map((part) => [part, '']));

/** A table without lines; the heading is dim where colour is wanted. */
export function newTable(head: string[], { colours }: CliContext) {
  return new Table({
    head: head.map(colours.dim),
    chars: { ...NO_LINES, middle: '  ' },
    // Its own colours are off: it decides on them by other environment variables.
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
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

/** As much of a line as a terminal shows in so many columns; wide characters take two. */
export function cutToWidth(line: string, columns: number): string {
  if (line === '' || Bun.stringWidth(line) <= columns) return line;
  let cut = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (Bun.stringWidth(cut + segment) >= columns) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** With its lines, and nothing left out: frames are undone, and what would be invisible is shown by its number. */
export function shownText(text: string): string {
  return visible(withoutFrames(text));
}

/** One JSON document, on one line without an indent: the same values, in which what could move a cursor or open a frame is written by its number. */
export function shownJson(value: unknown, indent: 0 | 2 = 2): string {
  return `${JSON.stringify(value, null, indent).replace(/[^\x00-;=-\x7e]/gu, escaped)}\n`;
}

/** The same on standard output. */
export function printJson(value: unknown, context: CliContext): void {
  context.stdout(shownJson(value));
}

function escaped(character: string): string {
  if (character !== '<' && cleanText(character) === character) return character;
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16).padStart(4, '0');
    return `\\u${unit}`;
  }).join('');
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
