import { redactSecrets } from '../../core/redact.ts';
import { cleanText, fingerprint } from '../../core/text.ts';
import { quoted } from '../history.ts';

/** What is remembered of conversations, as it stands in the file of a day: Markdown that a person may change. */

export type MemoryEntry = {
  /** By which it is named in commands; of what stands in it. */
  readonly id: string;
  /** `2026-11-23`. */
  readonly date: string;
  /** `14:32`. */
  readonly time: string;
  readonly text: string;
};

const HEADING = '## Recent Session Memories';
const ID_LENGTH = 6;
/** Of what a new session is told, in UTF-16 units (seed 004: loadRecentMemories). */
export const RECALLED_CHARS_MAX = 10_000;
const ENTRY = /^## (\d\d:\d\d)\s*$/;

/** A day's file in its parts: each begins with the heading of an entry, but for what stands before the first. */
function sections(markdown: string): string[] {
  return markdown.split(/^(?=## \d\d:\d\d\s*$)/m);
}

/** The entries of a day's file, in its order. */
export function readEntries(date: string, markdown: string): MemoryEntry[] {
  return sections(markdown).flatMap((section) => entryOf(date, section) ?? []);
}

function entryOf(date: string, section: string): MemoryEntry | undefined {
  const [heading = '', ...lines] = section.split('\n');
  const time = ENTRY.exec(heading)?.[1];
  const text = lines
    .join('\n')
    .replace(/<!--[\s\S]*?-->/g, '')
    .trim();
  if (time === undefined || text === '') return undefined;
  return { id: fingerprint(`${date} ${section.trim()}`).slice(0, ID_LENGTH), date, time, text };
}

/** What a note says of the turns that it is made of; it stands in the file, so that nothing is written twice. */
export function markOf(
  conversation: string,
  { from, to }: { readonly from: number; readonly to: number },
): string {
  return `<!-- turns ${from} to ${to} of ${conversation} -->`;
}

/** The file with one more entry; as it was if it has one with this mark. */
export function withEntry(
  markdown: string,
  { time, text, mark }: { readonly time: string; readonly text: string; readonly mark: string },
): string {
  if (markdown.includes(mark)) return markdown;
  const before = markdown === '' || markdown.endsWith('\n\n') ? markdown : `${markdown.trimEnd()}\n\n`;
  return `${before}## ${time}\n\n${entryText(text)}\n\n${mark}\n`;
}

/** The file without an entry; as it was if it has none with this id. */
export function withoutEntry(date: string, markdown: string, id: string): string {
  return sections(markdown)
    .filter((section) => entryOf(date, section)?.id !== id)
    .join('');
}

/** As it stands in the file: without secrets, and no line of it begins another entry or a comment. */
function entryText(text: string): string {
  return redactSecrets(cleanText(text))
    .trim()
    .replace(/^#+\s*/gm, '')
    .replaceAll('<!--', '(!--')
    .replaceAll('-->', '--)');
}

/** Those that have all of these words, in any case and form of letters. */
export function searchEntries(entries: readonly MemoryEntry[], words: readonly string[]): MemoryEntry[] {
  const plain = (text: string) => text.normalize('NFKC').toLowerCase();
  const wanted = words.flatMap((word) => plain(word).split(/\s+/)).filter((word) => word !== '');
  return entries.filter(({ date, time, text }) => {
    const searched = plain(`${date} ${time} ${text}`);
    return wanted.every((word) => searched.includes(word));
  });
}

/**
 * What a session is told of these entries, the newest of which come first: each that has room, whole; empty where there is
 * none.
 */
export function recallText(entries: readonly MemoryEntry[], maxChars = RECALLED_CHARS_MAX): string {
  let text = HEADING;
  for (const { date, time, text: said } of entries) {
    const entry = `- ${date} ${time}: ${quoted(said).replaceAll('\n', '\n  ')}`;
    if (text.length + 1 + entry.length <= maxChars) text += `\n${entry}`;
  }
  return text === HEADING ? '' : text;
}

/** Whether a message begins with what is remembered. */
export const RECALL_HEADING = HEADING;
