import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';

const OWN_PLACEHOLDER = /^<(?:STR|PATH|N)>/;

/**
 * Logged text as it may stand in an agent's context: on one line, without secrets that an earlier version stored,
 * and unable to open or close a frame of the conversation such as `<system-reminder>`.
 */
export function inertText(text: string, lengthMax: number): string {
  const safe = redactSecrets(oneLine(text)).replace(/<(?=[/!?]?\p{L})/gu, (angle, at: number, whole: string) =>
    OWN_PLACEHOLDER.test(whole.slice(at, at + 8)) ? angle : '‹',
  );
  return cutText(safe, lengthMax);
}
