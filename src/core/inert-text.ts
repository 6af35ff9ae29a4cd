import { cleanText, cutText, oneLine } from './text.ts';

/**
 * Logged text as it may stand in an agent's context: on one line and unable to open or close a frame of the
 * conversation such as `<system-reminder>`. Cut first: half a placeholder such as `<PA` is no placeholder.
 */
export function inertText(text: string, lengthMax: number): string {
  return withoutFrames(cutText(oneLine(text), lengthMax));
}

/** The same for a text whose lines have to stay as they are. */
export function inertLines(text: string): string {
  return withoutFrames(cleanText(text));
}

function withoutFrames(text: string): string {
  return text.includes('<')
    ? text.replace(/<(?!(?:STR|PATH|N)>)(?=[/!?]?[A-Za-z\u00aa-\uffdc])/g, '‹')
    : text;
}
