import { cutText } from '../../core/text.ts';

const ERROR_LENGTH_MAX = 200;
/** More than this is never looked at: what is kept has 200 characters. */
const INPUT_LENGTH_MAX = 8192;

/** In this order. */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/"[^"]{1,100}"/g, '<STR>'],
  [/'[^']{1,100}'/g, '<STR>'],
  [/\b[A-Za-z]:\\\S*/g, '<PATH>'],
  [/\/\S+/g, '<PATH>'],
  [/\.[/\\]\S+/g, '<PATH>'],
  [/\d{2,}/g, '<N>'],
];
const EXIT_LINE = /^Exit code \d+(?:\r?\n)+(?=\S)/;
/** What package managers print before they run a script: `> shop@1.0.0 test`, `> node test.js`, empty lines. */
const SCRIPT_LINES = /^(?:(?:> [^\n]*|[ \t\r]*)\n)+(?=[^\n])/;

/**
 * An error in the form of the rows that earlier versions stored (REQ-RA-001; today's key is that of failure.ts): quoted parts,
 * paths and numbers become `<STR>`, `<PATH>` and `<N>`; at most 200 UTF-16 units. The leading `Exit code N` line and the
 * lines in which a package manager repeats the script say nothing when a message follows them, so they go.
 */
export function normalizeError(error: unknown): string {
  if (error === undefined || error === null || error === '') return '';
  const text = cutText(String(error), INPUT_LENGTH_MAX).replace(EXIT_LINE, '').replace(SCRIPT_LINES, '');
  const masked = MASKS.reduce((masked, [part, mask]) => masked.replace(part, mask), text);
  return cutText(masked, ERROR_LENGTH_MAX).trim();
}

const PLACEHOLDERS = ['<STR>', '<PATH>', '<N>', '[REDACTED]'];
const LETTERS_MIN = 4;

/**
 * Whether a normalised error says enough to be recognised: `Exit code 1` alone is every silent failure of every
 * program, and two errors that share only placeholders share nothing.
 */
export function isInformative(normalizedError: string): boolean {
  let text = normalizedError.trim();
  if (text.length <= 16 && text.toLowerCase().startsWith('exit code ')) return false;
  for (const placeholder of PLACEHOLDERS) text = text.replaceAll(placeholder, '');
  let letters = 0;
  for (let index = 0; index < text.length && letters < LETTERS_MIN; index++) {
    const code = text.charCodeAt(index) | 0x20;
    if ((code >= 0x61 && code <= 0x7a) || code >= 0xaa) letters++;
  }
  return letters >= LETTERS_MIN;
}
