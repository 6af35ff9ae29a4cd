import type { SessionEntry, Turn } from '../core/conversation.ts';
import { isRecord, type Json, parseJson } from '../core/guards.ts';
import type { Call, Message } from './call.ts';

type Opened = { by: Message['by']; atMs?: number; isCompaction?: boolean; chars: number; calls: Call[] };

/**
 * The messages of a client's session. The answers of the model are told apart by their names, else by the results between
 * them; what the client has put in belongs to the message that it follows.
 */
export function messagesOf(turns: readonly Turn[]): Message[] {
  const messages: Opened[] = [];
  const placeOf = new Map<string, { calls: Call[]; index: number }>();
  let isAnswered = false;
  let answer: string | undefined;
  const open = (by: Message['by'], { ts }: SessionEntry) => {
    const atMs = ts === undefined ? Number.NaN : Date.parse(ts);
    const opened: Opened = { by, chars: 0, calls: [], ...(Number.isFinite(atMs) && { atMs }) };
    messages.push(opened);
    isAnswered = false;
    return opened;
  };
  const answerOf = (entry: SessionEntry) => {
    const last = messages.at(-1);
    const isNamed = answer !== undefined && entry.answer !== undefined;
    const goesOn = isNamed ? answer === entry.answer : !isAnswered;
    answer = entry.answer;
    return last?.by === 'model' && goesOn ? last : open('model', entry);
  };
  for (const entry of turns.flat()) {
    if (entry.kind === 'prompt') open('user', entry).chars += entry.text.length;
    else if (entry.kind === 'answer') answerOf(entry).chars += entry.text.length;
    else if (entry.kind === 'system') (messages.at(-1) ?? open('user', entry)).chars += entry.text.length;
    else if (entry.kind === 'compaction') {
      Object.assign(open('user', entry), { isCompaction: true, chars: entry.summary.length });
      placeOf.clear();
    } else if (entry.kind === 'call') {
      const { calls } = answerOf(entry);
      const { id, tool } = entry;
      placeOf.set(id, { calls, index: calls.length });
      calls.push({ id, tool, input: inputOf(entry.input), state: 'running', output: '' });
    } else {
      isAnswered = true;
      const place = placeOf.get(entry.id);
      const call = place?.calls[place.index];
      if (place === undefined || call === undefined) continue;
      // A command that ran to its end was called as it had to be, whatever came of it.
      const state = entry.isError && entry.end === undefined ? 'failed' : 'done';
      const isCleared = CLEARED.includes(entry.text);
      place.calls[place.index] = { ...call, state, output: entry.text, ...(isCleared && { isCleared }) };
    }
  }
  return messages;
}

/** What the clients show in place of a result that they show no more. */
const CLEARED: readonly string[] = ['[Old tool result content cleared]'];

function inputOf(text: string): Json {
  const value = parseJson(text);
  return isRecord(value) ? value : { input: text };
}
