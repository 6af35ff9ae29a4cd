import type { ClientName } from '../../core/client-name.ts';
import { addEntry, type SessionEntry, type SessionStep, type Turn } from '../../core/conversation.ts';
import { inertLines, inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { counted, fingerprint } from '../../core/text.ts';
import type { HandoverMode, HandoverSettings } from './handover-settings.ts';

/** The text that a sub-agent is handed of a conversation, and the report of it (seed 001, R7–R14). */

/** What was handed over, as it is stored with the run. `charsIn`: of all that was said and done. */
export type HandoverReport = {
  /** `history`: what was said before in the conversation that the run is a part of. */
  readonly mode: HandoverMode | 'history';
  readonly messagesIn: number;
  readonly charsIn: number;
  readonly charsOut: number;
  readonly truncated: boolean;
  /** How many results pruning has left out. */
  readonly pruned?: number;
  /** It was to be a summary, and is the text itself. */
  readonly degraded: boolean;
  /** Whose conversation; null: there was none. */
  readonly session: { readonly client: ClientName; readonly id: string } | null;
  readonly warnings: readonly string[];
};

export type Handover = { readonly text: string; readonly report: HandoverReport };

/** The report in plain words, on one line. */
export function handoverLine(report: HandoverReport): string {
  const { mode, session, messagesIn, charsIn, charsOut, truncated, pruned, degraded, warnings } = report;
  const whose = session === null ? 'no session' : `session ${session.id} of ${session.client}`;
  const facts = [
    `${mode} of ${whose}`,
    `${messagesIn} messages of ${charsIn} characters, handed over as ${charsOut}`,
    ...(truncated ? ['cut'] : []),
    ...(pruned ? [`${counted(pruned, 'result')} pruned`] : []),
    ...(degraded ? ['no summary could be made'] : []),
    ...warnings,
  ];
  return facts.join('; ');
}

/** Some tokens below the smallest window of today's models; a character of Korean can be a token. */
const WINDOW_CHARS = 120_000;
const CALL_LENGTH_MAX = 300;
const RESULT_LENGTH_MAX = 1500;

/**
 * The hand-over of `none`, `full` or `recent`; `summary` is made of the text of `full`. Nothing in the conversation can
 * end the frame or look like a turn: every line of a text is indented, and the frame's name comes from the content.
 * Holds no more of a conversation than can be handed over, however long it is.
 */
export function handOver(steps: Iterable<SessionStep>, settings: HandoverSettings): Handover {
  const { mode, recentN, maxChars } = settings;
  const { goal, turns, isCut, messagesIn, charsIn } = collect(steps, settings);
  const chosen = mode === 'none' ? [] : mode === 'recent' ? newest(turns, recentN) : turns;
  const isGoalLeft = chosen.length > 0 && goal !== undefined && !chosen.some((turn) => turn.includes(goal));
  const whole = [...(isGoalLeft ? [[goal]] : []), ...chosen].map(turnText).join('\n\n');
  const frame = frameOf(whole);
  const room = (maxChars || WINDOW_CHARS) - frame('').length;
  const body = whole.length <= room ? whole : fitted(goal, chosen, room, whole.length);
  const text = body === '' ? '' : frame(body);
  const truncated = (mode === 'full' && isCut) || body.length < whole.length;
  const sizes = { messagesIn, charsIn, charsOut: text.length };
  const report = { mode, ...sizes, truncated, degraded: false, session: null, warnings: [] };
  return { text, report };
}

/** The hand-over with a model's summary in place of the text that it was made of; its lines are as inert as any. */
export function summarised({ report }: Handover, summary: string): Handover {
  const body = said('summary of the conversation', summary);
  const text = frameOf(body)(body);
  return { text, report: { ...report, mode: 'summary', charsOut: text.length } };
}

/** What is kept of a conversation while it is read. */
type Collected = {
  /** What the user began with. */
  readonly goal: SessionEntry | undefined;
  readonly turns: readonly Turn[];
  /** There were turns before these. */
  readonly isCut: boolean;
  readonly messagesIn: number;
  readonly charsIn: number;
};

/** More than that of the newest turns is never handed over, whatever the limit. */
const KEPT_CHARS = 2 * WINDOW_CHARS;

function collect(steps: Iterable<SessionStep>, { includeSystem, maxChars }: HandoverSettings): Collected {
  const room = Math.max(KEPT_CHARS, 2 * maxChars);
  let goal: SessionEntry | undefined;
  let [messagesIn, charsIn, kept, left] = [0, 0, 0, 0];
  let turns: SessionEntry[][] = [];
  for (const step of steps) {
    if (step.kind === 'fork' || (step.kind === 'system' && !includeSystem)) continue;
    if (step.kind === 'anew') [turns, goal, messagesIn, charsIn, kept, left] = [[], undefined, 0, 0, 0, 0];
    else if (step.kind === 'back-to') turns.length = Math.max(0, Math.min(turns.length, step.turns - left));
    else {
      const entry = brief(step);
      messagesIn++;
      charsIn += charsOf(step);
      kept += charsOf(entry);
      if (entry.kind === 'prompt') goal ??= entry;
      addEntry(entry, turns);
    }
    for (; kept > room && turns.length > 1; left++)
      kept -= (turns.shift() ?? []).reduce((sum, entry) => sum + charsOf(entry), 0);
  }
  return { goal, turns, isCut: left > 0, messagesIn, charsIn };
}

/** As much of an entry as is shown. */
function brief(entry: SessionEntry): SessionEntry {
  if (entry.kind === 'result') return { ...entry, text: middleOut(entry.text, RESULT_LENGTH_MAX) };
  if (entry.kind === 'call') return { ...entry, input: entry.input.slice(0, 4 * CALL_LENGTH_MAX) };
  return entry;
}

function charsOf(entry: SessionEntry): number {
  if (entry.kind === 'call') return entry.input.length;
  return entry.kind === 'compaction' ? entry.summary.length : entry.text.length;
}

/** The newest whole turns that have so many messages together; the very newest in any case. */
function newest(turns: readonly Turn[], messages: number): readonly Turn[] {
  let [from, left] = [turns.length, messages];
  while (from > 0 && left > 0) {
    left -= turns[from - 1]?.length ?? 0;
    if (left < 0 && from < turns.length) break;
    from--;
  }
  return turns.slice(from);
}

function frameOf(whole: string): (body: string) => string {
  const name = `conversation-${fingerprint(whole)}`;
  return (body) => `<${name}>\n${body}\n</${name}>`;
}

/**
 * What the user began with, and the newest whole turns that have room; of the newest one, where it has none, its prompt and
 * what was said last. What is left out is counted where it stood.
 */
function fitted(goal: SessionEntry | undefined, turns: readonly Turn[], room: number, chars: number): string {
  const head = goal === undefined ? '' : middleOut(entryText(goal), Math.floor(room / 3));
  const rest = room - head.length - truncationMarker(chars).length - 4;
  const later = turns.map((turn) =>
    turn
      .filter((entry) => entry !== goal)
      .map(entryText)
      .filter(isSaid),
  );
  const whole = newestThatFit(
    later.map((texts) => texts.join('\n')),
    rest,
    '\n\n',
  );
  const tail = whole || partOfTurn(later.findLast((texts) => texts.length > 0) ?? [], rest);
  const parts = [head, truncationMarker(chars - head.length - tail.length), tail].filter(isSaid);
  return middleOut(parts.join('\n\n'), room);
}

/** The prompt of a turn, and the newest of what followed. */
function partOfTurn([prompt = '', ...others]: readonly string[], room: number): string {
  if (others.length === 0) return middleOut(prompt, room);
  const begun = middleOut(prompt, Math.floor(room / 3));
  const rest = room - begun.length - 1;
  const last = others.at(-1) ?? '';
  const tail = newestThatFit(others, rest, '\n') || middleOut(last, rest);
  return [begun, tail].filter(isSaid).join('\n');
}

function newestThatFit(texts: readonly string[], room: number, between: string): string {
  let kept = '';
  for (const text of texts.toReversed().filter(isSaid)) {
    const longer = kept === '' ? text : `${text}${between}${kept}`;
    if (longer.length > room) break;
    kept = longer;
  }
  return kept;
}

const isSaid = (text: string) => text !== '';

const truncationMarker = (chars: number) => `... [truncated ${chars} chars]`;

/** The lines at the head and at the tail of a text, with what is left out counted between them. */
function middleOut(text: string, room: number): string {
  if (text.length <= room) return text;
  const left = room - truncationMarker(text.length).length - 2;
  if (left < 2) return '';
  const half = Math.floor(left / 2);
  // Whole lines, so that nothing stands at the beginning of one that does not begin there; a long one is cut at its end.
  const head = text.slice(0, text.lastIndexOf('\n', half) > 0 ? text.lastIndexOf('\n', half) : half);
  const tailStart = text.indexOf('\n', text.length - half);
  const tail = tailStart < 0 ? '' : text.slice(tailStart + 1);
  const marker = truncationMarker(text.length - head.length - tail.length);
  return [head.toWellFormed(), marker, tail].filter((part) => part !== '').join('\n');
}

function turnText(turn: Turn): string {
  return turn.map(entryText).filter(isSaid).join('\n');
}

function entryText(entry: SessionEntry): string {
  switch (entry.kind) {
    case 'prompt':
      return said('user', entry.text, entry.pictures);
    case 'answer':
      return entry.text.trim() === '' ? '' : said('assistant', entry.text.trim());
    case 'system':
      return said('system', entry.text);
    case 'compaction':
      return said('summary of what was said before', entry.summary);
    case 'call':
      return `tool ${inertText(entry.tool, 80)}: ${inertText(redactSecrets(entry.input), CALL_LENGTH_MAX)}`;
    case 'result':
      return said(entry.isError ? 'failed' : 'result', entry.text, entry.pictures);
  }
}

function said(
  who: string,
  text: string,
  pictures: readonly { mediaType: string; bytes: number }[] = [],
): string {
  const shown = pictures.map(({ mediaType, bytes }) => `[${inertText(mediaType, 40)}, ${bytes} bytes]`);
  const lines = [inertCode(redactSecrets(text)), ...shown].filter((one) => one !== '').join('\n');
  return lines.includes('\n') ? `${who}:\n${lines.replace(/^/gm, '  ')}` : `${who}: ${lines}`;
}

/** Elements of pages and types of programs: no client's model reads them as a part of its conversation. */
const CODE_TAG =
  /<(?=\{|[\w.+-]{1,64}@|\/?(?!(?:[Ss]ystem|[Uu]ser|[Aa]ssistant|[Hh]uman|[Dd]eveloper|[Tt]ool|[Ff]unction|[Ii]nstruction|[Rr]ecord)s?\b)(?:[A-Z](?:[a-z]\w*)?|a|anonymous|b|body|br|button|circle|code|div|em|footer|form|g|h[1-6]|head|header|hr|html|i|img|input|label|li|link|main|meta|nav|ol|option|p|path|pre|rect|script|section|select|span|strong|style|svg|table|tbody|td|textarea|th|thead|title|tr|ul|any|boolean|never|null|number|object|string|undefined|unknown|void)(?:[\s/>.,<[{|&]|$))/g;
/** Of private use, and in no text that was said. */
const KEPT = '\ue000';

/** The same as inertLines(), with the tags of code left as they are, and one kind of line end. */
export function inertCode(text: string): string {
  const kept = text.replace(/\r\n?/g, '\n').replaceAll(KEPT, '').replace(CODE_TAG, KEPT);
  return inertLines(kept).replaceAll(KEPT, '<');
}
