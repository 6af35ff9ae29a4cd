import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import type { Call, Message } from '../call.ts';
import { type Decision, prunedCall } from '../decision.ts';
import type { HostMessage } from './host.ts';

const STATES: Readonly<Record<string, Call['state']>> = { completed: 'done', error: 'failed' };

/** The messages of a request as the rules see them: one each, so that what stands before an answer is exact. */
export function messagesFrom(messages: readonly HostMessage[]): Message[] {
  return messages.map((message) => {
    const { info } = message;
    const parts = isLeftOut(message) ? [] : message.parts;
    const created = readRecord(info, 'time').created;
    const calls: Call[] = [];
    let chars = 0;
    for (const part of parts) {
      if (part.type === 'tool') calls.push(callFrom(part));
      else chars += charsOf(part);
    }
    const by = info.role === 'user' ? 'user' : 'model';
    const atMs = typeof created === 'number' ? created : undefined;
    return { by, isCompaction: info.summary === true, atMs, chars, calls };
  });
}

/** Puts what is shown instead into the list. The messages themselves, which others may hold, stay as they are. */
export function applyTo(messages: HostMessage[], decisions: readonly Decision[]): void {
  const byCall = new Map(decisions.map((decision) => [decision.callId, decision]));
  const pruned = messages.map((message) => {
    if (isLeftOut(message)) return message;
    const parts = message.parts.map((part) => {
      const decision = part.type === 'tool' ? byCall.get(String(part.id)) : undefined;
      if (decision === undefined) return part;
      const call = callFrom(part);
      return withCall(part, { ...call, ...prunedCall(call, decision) });
    });
    return parts.some((part, at) => part !== message.parts[at]) ? { ...message, parts } : message;
  });
  for (const [at, message] of pruned.entries()) messages[at] = message;
}

/** A part that is a call. It goes by the id of its part: some providers begin anew with theirs in each answer. */
function callFrom(part: Json): Call {
  const state = readRecord(part, 'state');
  const output = readString(state, state.status === 'error' ? 'error' : 'output') ?? '';
  return {
    id: String(part.id),
    tool: readString(part, 'tool') ?? '',
    input: readRecord(state, 'input'),
    state: isForeign(part, state) ? 'running' : (STATES[String(state.status)] ?? 'running'),
    output,
    isCleared: readRecord(state, 'time').compacted !== undefined,
  };
}

/** What the provider has run itself is checked by it, and of what was interrupted something else is shown than stands here. */
function isForeign(part: Json, state: Json): boolean {
  const { providerExecuted } = readRecord(part, 'metadata');
  return providerExecuted === true || readRecord(state, 'metadata').interrupted === true;
}

/** OpenCode sends nothing of an answer that failed, but what the user has ended by hand. */
function isLeftOut({ info, parts }: HostMessage): boolean {
  if (info.role === 'user' || !isRecord(info.error)) return false;
  const hasWords = parts.some(({ type }) => type !== 'step-start' && type !== 'reasoning');
  return info.error.name !== 'MessageAbortedError' || !hasWords;
}

function withCall(part: Json, { state, input, output }: Call): Json {
  const result = state === 'failed' ? { error: output } : { output };
  return { ...part, state: { ...readRecord(part, 'state'), input, ...result } };
}

function charsOf(part: Json): number {
  const isSaid = (part.type === 'text' && part.ignored !== true) || part.type === 'reasoning';
  return isSaid ? (readString(part, 'text')?.length ?? 0) : 0;
}
