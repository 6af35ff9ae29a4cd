import { type Json, readString } from '../../core/guards.ts';
import { type Messages, messagesIn } from '../../core/messages.ts';
import { cutText } from '../../core/text.ts';
import { recordIn } from '../../database/sqlite.ts';

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

/**
 * The resolution column in words: what our own lessons say to do, else a summary in words, else the path of tools that
 * an earlier version stored, else the text as it is.
 */
export function resolutionText(resolution: string, messages: Messages = messagesIn('en')): string {
  const words = resolutionSummary(resolution, messages);
  if (words !== undefined) return words;
  const parsed = recordIn(resolution);
  const resolvedBy = readString(parsed, 'resolvedBy');
  const sequence = parsed.toolSequence;
  if (!Array.isArray(sequence) || sequence.length === 0) return resolvedBy || resolution;
  return `${resolvedBy ? `${resolvedBy}: ` : ''}${sequence.join(' → ')}`;
}

/** Our own words, or undefined when the resolution was stored by somebody else. */
export function resolutionSummary(resolution: string, messages: Messages): string | undefined {
  const parsed = recordIn(resolution);
  return remedyText(parsed, messages) || readString(parsed, 'summary') || undefined;
}

/** A remedy (see lessons/lesson.ts) in the reader's language; undefined when it is none that we know. */
function remedyText(remedy: Json, messages: Messages): string | undefined {
  const read = (key: string) => readString(remedy, key) ?? '';
  const [use, failing] = [read('use'), read('failing')];
  const texts: Readonly<Record<string, () => string>> = {
    command: () => use && messages.useInstead(use, failing),
    without: () => messages.leaveOut(read('leaveOut'), failing),
    directory: () => use && messages.runIn(use, read('directory')),
    fixer: () => use && messages.runFirst(use, failing),
    ran: () => messages.workedHere(read('summary')),
    lint: () => messages.lintRule(read('rule'), read('message')),
  };
  return Object.hasOwn(texts, read('kind')) ? texts[read('kind')]?.() : undefined;
}
