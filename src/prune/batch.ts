import type { PruneSettings } from '../settings/prune-settings.ts';
import type { Message } from './call.ts';
import type { Decision } from './decision.ts';
import { jsonChars } from './input.ts';
import type { Candidate } from './rules.ts';

/** Candidates that are taken together, and what has been paid for them since they could have been. */
type Waiting = {
  /** How many characters stood before it when it was last sent. */
  readonly before: number;
  savedChars: number;
  rent: number;
  readonly candidates: Candidate[];
};

const WAITING_MAX = 128;

/** A request that was made, in characters, as it would have been sent. */
export type SentRequest = {
  readonly sentChars: number;
  /** Of these what the provider had cached. */
  readonly cachedChars: number;
  /** What it had cached too, and read again because something before it was taken. */
  readonly againChars: number;
};

/**
 * What is taken of the candidates by the time of the request that follows the messages, and what waits. To take one breaks the
 * prefix that the provider has cached: all behind it is read again, at a price of 1 instead of `cachedPriceRatio`. So it is rented
 * until the rent has reached that price (ski rental: Karlin, Manasse, Rudolph, Sleator 1988): a candidate pays for what it would
 * save in each request that carries it, and from the first place on where that has paid for what stands behind it all are taken.
 * So what is read again never costs more than has been paid by then, at most twice what it costs who knows, at a price that stays,
 * how long the session goes on. What was never sent, or is cached no more, is free.
 */
export function batch(
  messages: readonly Message[],
  candidates: readonly Candidate[],
  { cachedPriceRatio, cacheMinutes }: PruneSettings,
  nowMs: number,
  onRequest?: (request: SentRequest) => void,
): { readonly taken: readonly Decision[]; readonly waiting: readonly Decision[] } {
  const places = new Places(messages);
  const raised = Map.groupBy(candidates, ({ since }) => since);
  const taken = new Map<string, Decision>();
  let waiting: Waiting[] = [];
  let [sentChars, lastMs, isCold]: [number, number | undefined, boolean] = [0, undefined, true];
  let [first, sentMessages, cutAt] = [0, 0, Number.POSITIVE_INFINITY];
  const take = ({ decision }: Candidate) => {
    // What it refers to may have been taken itself; only of a file there is always something newer.
    const above = decision.anchor === null ? undefined : taken.get(decision.anchor);
    if (above?.part === 'output' && !(above.rule === decision.rule && above.rule === 'supersede-writes'))
      return;
    taken.set(decision.callId, decision);
    cutAt = Math.min(cutAt, places.before(decision));
    places.shorten(decision);
  };
  for (let count = 0; count <= messages.length; count++) {
    const next = messages[count];
    for (const candidate of raised.get(count) ?? []) {
      const before = places.before(candidate.decision);
      if (before >= sentChars) take(candidate);
      else
        insert(waiting, {
          before,
          savedChars: candidate.decision.savedChars,
          rent: 0,
          candidates: [candidate],
        });
    }
    if (messages[count - 1]?.isCompaction === true) [isCold, first] = [true, count - 1];
    if (next?.by === 'user') continue;
    const atMs = next === undefined ? nowMs : next.atMs;
    if (lastMs !== undefined && atMs !== undefined && atMs - lastMs > cacheMinutes * 60_000) isCold = true;
    const from = isCold || cachedPriceRatio === 1 ? 0 : firstPaid(waiting, sentChars, 1 - cachedPriceRatio);
    for (const one of waiting.splice(from)) one.candidates.forEach(take);
    if (next !== undefined && onRequest !== undefined) {
      const before = places.charsOf(first);
      const cachedUntil = isCold ? before : Math.min(cutAt, sentChars);
      const againChars = isCold ? 0 : Math.max(0, places.charsOf(sentMessages) - cachedUntil);
      onRequest({ sentChars: places.charsOf(count) - before, cachedChars: cachedUntil - before, againChars });
    }
    [sentMessages, cutAt] = [count, Number.POSITIVE_INFINITY];
    for (const one of waiting) one.rent += one.savedChars * cachedPriceRatio;
    if (waiting.length > WAITING_MAX) waiting = inPairs(waiting);
    sentChars = places.charsOf(count);
    lastMs = atMs;
    isCold = false;
  }
  return {
    taken: [...taken.values()],
    waiting: waiting.flatMap((one) => one.candidates.map(({ decision }) => decision)),
  };
}

/** From where on all that wait are taken: their number where none are. */
function firstPaid(waiting: readonly Waiting[], sentChars: number, price: number): number {
  let [from, savedChars, rent] = [waiting.length, 0, 0];
  for (let index = waiting.length - 1; index >= 0; index--) {
    const one = waiting[index] as Waiting;
    savedChars += one.savedChars;
    rent += one.rent;
    if (rent >= (sentChars - one.before - savedChars) * price) from = index;
  }
  return from;
}

function insert(waiting: Waiting[], one: Waiting): void {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((waiting[middle] as Waiting).before <= one.before) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, one);
}

/** Each two neighbours as one, so that a request costs the same however many wait. */
function inPairs(waiting: readonly Waiting[]): Waiting[] {
  return waiting.flatMap((one, index) => {
    const other = waiting[index + 1];
    if (index % 2 === 1) return [];
    if (other === undefined) return [one];
    return [
      {
        before: one.before,
        savedChars: one.savedChars + other.savedChars,
        rent: one.rent + other.rent,
        candidates: [...one.candidates, ...other.candidates],
      },
    ];
  });
}

/** Where things stand among the characters of a request; of a message what is said, then its calls' inputs, then their outputs. */
class Places {
  /** Of each call the number of its input and that of its output. */
  readonly #inputs = new Map<string, number>();
  readonly #outputs = new Map<string, number>();
  /** Of each input and output, in that order, how many characters stand before it when nothing is shortened. */
  readonly #starts: Float64Array;
  /** Of so many messages: how many inputs and outputs they have, and characters. */
  readonly #parts: Float64Array;
  readonly #chars: Float64Array;
  /** A Fenwick tree over the inputs and outputs: by how much they are shorter. */
  readonly #shortened: Float64Array;

  constructor(messages: readonly Message[]) {
    let parts = 0;
    for (const { calls } of messages) parts += 2 * calls.length;
    this.#starts = new Float64Array(parts + 1);
    this.#shortened = new Float64Array(parts + 1);
    this.#parts = new Float64Array(messages.length + 1);
    this.#chars = new Float64Array(messages.length + 1);
    let [at, part, count] = [0, 0, 0];
    for (const { chars, calls } of messages) {
      at += chars;
      for (const { id, input } of calls) {
        this.#inputs.set(id, part);
        this.#starts[part++] = at;
        at += jsonChars(input);
      }
      for (const { id, output } of calls) {
        this.#outputs.set(id, part);
        this.#starts[part++] = at;
        at += output.length;
      }
      this.#parts[++count] = part;
      this.#chars[count] = at;
    }
  }

  /** How many characters stand before what the decision changes, as it is sent now. */
  before(decision: Decision): number {
    const part = this.#partOf(decision);
    return (this.#starts[part] ?? 0) - this.#shortenedBefore(part);
  }

  /** Of the first so many messages, as they are sent now. */
  charsOf(messages: number): number {
    return (this.#chars[messages] ?? 0) - this.#shortenedBefore(this.#parts[messages] ?? 0);
  }

  shorten(decision: Decision): void {
    for (let at = this.#partOf(decision) + 1; at < this.#shortened.length; at += at & -at)
      this.#shortened[at] = (this.#shortened[at] ?? 0) + decision.savedChars;
  }

  #partOf({ callId, part }: Decision): number {
    return (part === 'input' ? this.#inputs : this.#outputs).get(callId) ?? 0;
  }

  #shortenedBefore(part: number): number {
    let sum = 0;
    for (let at = part; at > 0; at -= at & -at) sum += this.#shortened[at] ?? 0;
    return sum;
  }
}
