import { cleanText } from '../../core/text.ts';

/** One JSON document, on one line without an indent: the same values, in which what could move a cursor or open a frame is written by its number. */
export function shownJson(value: unknown, indent: 0 | 2 = 2): string {
  return `${JSON.stringify(value, null, indent).replace(/[^\x00-;=-\x7e]/gu, escaped)}\n`;
}

function escaped(character: string): string {
  if (character !== '<' && cleanText(character) === character) return character;
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16).padStart(4, '0');
    return `\\u${unit}`;
  }).join('');
}
