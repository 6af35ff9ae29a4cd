import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import { cleanText } from '../core/text.ts';
import { inertCode } from '../runs/model/handover.ts';
import { withHistoryPrompt } from '../runs/model/prompts.ts';

/**
 * What was said in a conversation, for a client that has not heard it (seed 004: buildHistoryBlock).
 * Secrets are left out before anything is cut, and no text can look like the block's own lines.
 */

export type HistoryMessage = {
  /** The position of its turn: the same for what was asked and what was answered. */
  readonly id: number;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** What was done for an answer, on one line; empty: nothing is known. */
  readonly digest: string;
  /** `interrupted`: somebody stopped it; `failed`: it ended with an error; `unanswered`: it has not ended. */
  readonly state: 'whole' | 'interrupted' | 'failed' | 'unanswered';
};

const HEADING = '[Recent Context]';
/** What stands between a block and the prompt. */
const BEFORE_CURRENT = withHistoryPrompt('', '-').slice(1);
const BETWEEN = '\n\n';
/** Of the block with all that stands around the prompt, in UTF-16 units. */
export const HISTORY_CHARS_MAX = 8000;
/** One entry takes no more than this part of it, so that a long answer leaves room for what it answers. */
const SHARE_MAX = 1 / 2;
/** A part of an entry is told only where so much of it has room. */
const PART_MIN = 120;

const MARKS = {
  whole: '',
  interrupted: '⏹️ [interrupted] ',
  failed: '⚠️ [failed] ',
  unanswered: '⏳ [not answered yet] ',
} as const;

/**
 * The newest messages as a block, the oldest of them first; empty where there are none. `excludeId`: the message that is
 * being asked. What is too long is cut in its middle, with a mark; the newest entry is always in it. With the lines that
 * withHistoryPrompt() adds it is no longer than `maxChars`.
 */
export function buildHistoryBlock(
  messages: readonly HistoryMessage[],
  {
    excludeId,
    maxChars = HISTORY_CHARS_MAX,
  }: { readonly excludeId?: number; readonly maxChars?: number } = {},
): string {
  const whole = maxChars - HEADING.length - BEFORE_CURRENT.length;
  let room = whole;
  const entries: string[] = [];
  for (const message of messages.toReversed()) {
    if (message.id === excludeId || isEmpty(message)) continue;
    const most = Math.min(room - BETWEEN.length, Math.max(PART_MIN, Math.floor(whole * SHARE_MAX)));
    const text = entryText(message);
    if (text.length > most && most < PART_MIN) break;
    const entry = clipped(text, most);
    entries.unshift(entry);
    room -= BETWEEN.length + entry.length;
  }
  return entries.length === 0 ? '' : [HEADING, ...entries].join(BETWEEN);
}

/** What was typed of a prompt that withHistoryPrompt() has made of a block that begins so. */
export function withoutBlock(prompt: string, heading: string): string {
  const at = prompt.startsWith(heading) ? prompt.indexOf(BEFORE_CURRENT) : -1;
  return at < 0 ? prompt : prompt.slice(at + BEFORE_CURRENT.length);
}

/** A text of others as it may stand in a block: without secrets and `<private>` parts, and no line of it passes for one of the block's. */
export function quoted(text: string): string {
  const inert = inertCode(redactSecrets(stripPrivateTags(cleanText(text))));
  return inert.replace(/\[(?=\s*(?:current message|recent context)\s*\])/gi, '(').trim();
}

function isEmpty({ text, digest, state }: HistoryMessage): boolean {
  return text.trim() === '' && digest === '' && state === 'whole';
}

function entryText({ role, text, digest, state }: HistoryMessage): string {
  const did = digest === '' ? '' : `\n(${quoted(digest)})`;
  return `[${role}] ${MARKS[state]}${quoted(text)}${did}`.trimEnd();
}

const segmenter = new Intl.Segmenter();

/** The head and the tail of a text with a mark between them, at most so many UTF-16 units; no letter is cut in two. */
export function clipped(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const mark = (left: number) => `\n… [${left} characters left out] …\n`;
  const half = Math.floor((lengthMax - mark(text.length).length) / 2);
  if (half <= 0) return '';
  const segments = segmenter.segment(text);
  const head = text.slice(0, segments.containing(half)?.index ?? 0);
  const from = text.length - half;
  const at = segments.containing(from);
  const tail = at === undefined ? '' : text.slice(at.index === from ? from : at.index + at.segment.length);
  return `${head}${mark(text.length - head.length - tail.length)}${tail}`;
}
