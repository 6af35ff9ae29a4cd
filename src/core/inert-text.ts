import { cutText, oneLine } from './text.ts';

/**
 * Logged text as it may stand in an agent's context: on one line and unable to open or close a frame of the
 * conversation such as `<system-reminder>`. Cut first: half a placeholder such as `<PA` is no placeholder.
 */
export function inertText(text: string, lengthMax: number): string {
  const line = cutText(oneLine(text), lengthMax);
  return line.includes('<')
    ? line.replace(/<(?!(?:STR|PATH|N)>)(?=[/!?]?[A-Za-z\u00aa-\uffdc])/g, '‹')
    : line;
}
