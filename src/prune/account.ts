import type { Message } from './call.ts';
import type { Decision } from './decision.ts';
import { jsonChars } from './input.ts';
import type { Pruned } from './store.ts';

/** What is kept of a session after one more request, in which these decisions hold. `isCold`: nothing of it was cached. */
export function accounted(
  before: Pruned,
  messages: readonly Message[],
  decisions: readonly Decision[],
  { isCold, now }: { readonly isCold: boolean; readonly now: Date },
): Pruned {
  const savedNow = decisions.reduce((chars, { savedChars }) => chars + savedChars, 0);
  const changes = isCold ? [] : newOf(before, decisions);
  const sizes = sizesOf(messages, decisions);
  return {
    ...before,
    decisions,
    requests: before.requests + 1,
    sentChars: before.sentChars + sum(sizes),
    savedChars: before.savedChars + savedNow,
    readAgainChars: before.readAgainChars + behindFirst(messages, sizes, changes),
    updatedAt: now.toISOString(),
  };
}

/** The decisions that did not hold in the request before. */
export function newOf(before: Pruned, decisions: readonly Decision[]): Decision[] {
  const known = new Set(before.decisions.map(({ callId }) => callId));
  return decisions.filter(({ callId }) => !known.has(callId));
}

/** Of what was cached, all that stands behind the first change. The newest answer's calls have not been sent before. */
export function readAgain(
  messages: readonly Message[],
  decisions: readonly Decision[],
  changes: readonly Decision[],
): number {
  return behindFirst(messages, sizesOf(messages, decisions), changes);
}

function behindFirst(
  messages: readonly Message[],
  sizes: readonly number[],
  changes: readonly Decision[],
): number {
  if (changes.length === 0) return 0;
  const changed = new Set(changes.map(({ callId }) => callId));
  const end = messages.findLastIndex(({ by }) => by === 'model');
  const start = messages.findIndex(({ calls }) => calls.some(({ id }) => changed.has(id)));
  return start < 0 ? 0 : sum(sizes.slice(start, end));
}

/** How many characters of each message are sent. */
function sizesOf(messages: readonly Message[], decisions: readonly Decision[]): number[] {
  const saved = new Map(decisions.map(({ callId, savedChars }) => [callId, savedChars]));
  return messages.map(({ chars, calls }) => {
    let size = chars;
    for (const { id, input, output } of calls)
      size += jsonChars(input) + output.length - (saved.get(id) ?? 0);
    return size;
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
