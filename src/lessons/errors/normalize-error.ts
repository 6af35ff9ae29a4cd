import { isRecord, type Json, parseJson, readString } from '../../core/guards.ts';
import { type Messages, messagesIn } from '../../core/messages.ts';
import { cutText } from '../../core/text.ts';

const ERROR_LENGTH_MAX = 200;
/** More than this is never looked at: what is kept has 200 characters. */
const INPUT_LENGTH_MAX = 8192;

const DOUBLE_QUOTED = /"[^"]{1,100}"/g;
const SINGLE_QUOTED = /'[^']{1,100}'/g;
const WINDOWS_PATH = /\b[A-Za-z]:\\\S*/g;
const SLASH_PATH = /\/\S+/g;
const DOT_PATH = /\.[/\\]\S+/g;
const NUMBER = /\d{2,}/g;
const EXIT_LINE = /^Exit code \d+(?:\r?\n)+(?=\S)/;
/** What package managers print before they run a script: `> shop@1.0.0 test`, `> node test.js`, empty lines. */
const SCRIPT_LINES = /^(?:(?:> [^\n]*|[ \t\r]*)\n)+(?=[^\n])/;

/**
 * An error in the form of the rows that earlier versions stored (today's key is error-key.ts): quoted parts, paths and numbers become `<STR>`, `<PATH>` and
 * `<N>`; at most 200 UTF-16 units. The order of the steps is that of the rows that earlier versions stored
 * (REQ-RA-001). The leading `Exit code N` line and the
 * lines in which a package manager repeats the script say nothing when a message follows them, so they go.
 */
export function normalizeError(error: unknown): string {
  if (error === undefined || error === null || error === '') return '';
  const text = cutText(String(error), INPUT_LENGTH_MAX).replace(EXIT_LINE, '').replace(SCRIPT_LINES, '');
  const masked = text
    .replace(DOUBLE_QUOTED, '<STR>')
    .replace(SINGLE_QUOTED, '<STR>')
    .replace(WINDOWS_PATH, '<PATH>')
    .replace(SLASH_PATH, '<PATH>')
    .replace(DOT_PATH, '<PATH>')
    .replace(NUMBER, '<N>');
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
  const parsed = parseJson(resolution);
  if (!isRecord(parsed)) return resolution;
  const words = remedyText(parsed, messages) || readString(parsed, 'summary');
  if (words) return words;
  const resolvedBy = readString(parsed, 'resolvedBy');
  const sequence = parsed.toolSequence;
  if (Array.isArray(sequence) && sequence.length > 0) {
    return `${resolvedBy ? `${resolvedBy}: ` : ''}${sequence.join(' → ')}`;
  }
  return resolvedBy || resolution;
}

/** Our own words, or undefined when the resolution was stored by somebody else. */
export function resolutionSummary(resolution: string, messages: Messages): string | undefined {
  const parsed = parseJson(resolution);
  if (!isRecord(parsed)) return undefined;
  return remedyText(parsed, messages) || readString(parsed, 'summary') || undefined;
}

/** A remedy (see lessons/lesson.ts) in the reader's language; undefined when it is none that we know. */
function remedyText(remedy: Json, messages: Messages): string | undefined {
  const [use, failing] = [readString(remedy, 'use'), readString(remedy, 'failing')];
  switch (remedy.kind) {
    case 'command':
      return use && messages.useInstead(use, failing ?? '');
    case 'without':
      return messages.leaveOut(readString(remedy, 'leaveOut') ?? '', failing ?? '');
    case 'directory':
      return use && messages.runIn(use, readString(remedy, 'directory') ?? '');
    case 'fixer':
      return use && messages.runFirst(use, failing ?? '');
    case 'ran':
      return messages.workedHere(readString(remedy, 'summary') ?? '');
    case 'lint':
      return messages.lintRule(readString(remedy, 'rule') ?? '', readString(remedy, 'message') ?? '');
    default:
      return undefined;
  }
}
