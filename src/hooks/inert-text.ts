import { cutText, oneLine } from '../core/text.ts';

/**
 * Logged text as it may stand in an agent's context: on one line and unable to open or close a frame of the conversation such as `<system-reminder>`.
 */
export function inertText(text: string, lengthMax: number): string {
  const line = oneLine(text);
  if (!line.includes('<')) return cutText(line, lengthMax);
  const safe = line.replace(/<(?!(?:STR|PATH|N)>)(?=[/!?]?[A-Za-z\u00aa-\uffdc])/g, '‹');
  return cutText(safe, lengthMax);
}
