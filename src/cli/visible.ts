import pc from 'picocolors';
import { cleanText } from '../core/text.ts';
import type { CliContext } from './context.ts';

/**
 * A text of somebody else as it may be printed: what would move the cursor, or make it read differently from what it
 * says, is shown by its number.
 */
export function visible(text: string): string {
  const shown = (character: string) =>
    `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
  return Array.from(text.replaceAll('\r\n', '\n'), (character) =>
    character === '\r' || cleanText(character) !== character ? shown(character) : character,
  ).join('');
}

/** A unified diff in colours. */
export function colouredDiff(diff: string, { colour }: CliContext): string {
  const { bold, cyan, green, red } = pc.createColors(colour);
  const paint = (line: string) => {
    if (line.startsWith('---') || line.startsWith('+++')) return bold(line);
    if (line.startsWith('@@')) return cyan(line);
    if (line.startsWith('+')) return green(line);
    return line.startsWith('-') ? red(line) : line;
  };
  return visible(diff).split('\n').map(paint).join('\n');
}
