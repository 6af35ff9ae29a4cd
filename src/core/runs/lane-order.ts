import type { ClientName } from '../client-name.ts';

/**
 * The lane of sub-agents: who starts next. Of one requester the oldest first; among requesters, whose last start is
 * longest ago, so that a long queue of one does not keep the others waiting. One turn of a run at a time.
 */

export type LaneLimits = {
  readonly maxConcurrent: number;
  readonly maxPerRequester: number;
  readonly maxPerClient: Readonly<Partial<Record<ClientName, number>>>;
};

/** A turn that has not ended, as far as the lane cares. */
export type LaneTurn = {
  readonly runId: string;
  readonly number: number;
  /** Its place among all turns that ever were. */
  readonly position: number;
  readonly requester: string;
  readonly client: string;
};

export type Lane = {
  /** By their positions. */
  readonly queued: readonly LaneTurn[];
  readonly busy: readonly LaneTurn[];
  /** The number of each requester's last start, counted over all; those without one have never had any. */
  readonly lastStarts: ReadonlyMap<string, number>;
};

/** How much of each limit is used. */
type Slots = {
  count: number;
  readonly runs: Set<string>;
  readonly perRequester: Map<string, number>;
  readonly perClient: Map<string, number>;
};

/** What waits of one requester. What may not start now may not in all of this choice: slots are only taken. */
type Queue = { readonly requester: string; readonly turns: readonly LaneTurn[]; next: number };

/** Which turns start now, in this order. */
export function chooseTurns({ queued, busy, lastStarts }: Lane, limits: LaneLimits): LaneTurn[] {
  const slots: Slots = { count: 0, runs: new Set(), perRequester: new Map(), perClient: new Map() };
  for (const turn of busy) fill(slots, turn);
  const starts = new Map(lastStarts);
  let start = Math.max(0, ...starts.values());
  const queues = queuesOf(queued);
  const chosen: LaneTurn[] = [];
  while (slots.count < limits.maxConcurrent) {
    const turn = takeNext(queues, starts, (one) => fits(slots, one, limits));
    if (turn === undefined) break;
    chosen.push(turn);
    fill(slots, turn);
    start += 1;
    starts.set(turn.requester, start);
  }
  return chosen;
}

/** The order in which all that waits would start if nothing else came: the place in the queue. */
export function startOrder(lane: Lane): LaneTurn[] {
  const none = Number.POSITIVE_INFINITY;
  return chooseTurns({ ...lane, busy: [] }, { maxConcurrent: none, maxPerRequester: none, maxPerClient: {} });
}

function takeNext(
  queues: readonly Queue[],
  starts: ReadonlyMap<string, number>,
  mayStart: (turn: LaneTurn) => boolean,
): LaneTurn | undefined {
  let best: { readonly queue: Queue; readonly turn: LaneTurn; readonly start: number } | undefined;
  for (const queue of queues) {
    const turn = headOf(queue, mayStart);
    if (turn === undefined) continue;
    const start = starts.get(queue.requester) ?? 0;
    const isEarlier = best !== undefined && start === best.start && turn.position < best.turn.position;
    if (best === undefined || start < best.start || isEarlier) best = { queue, turn, start };
  }
  if (best === undefined) return undefined;
  best.queue.next += 1;
  return best.turn;
}

function headOf(queue: Queue, mayStart: (turn: LaneTurn) => boolean): LaneTurn | undefined {
  for (; queue.next < queue.turns.length; queue.next++) {
    const turn = queue.turns[queue.next];
    if (turn !== undefined && mayStart(turn)) return turn;
  }
  return undefined;
}

function queuesOf(queued: readonly LaneTurn[]): Queue[] {
  const queues = new Map<string, LaneTurn[]>();
  for (const turn of queued) {
    const turns = queues.get(turn.requester);
    if (turns === undefined) queues.set(turn.requester, [turn]);
    else turns.push(turn);
  }
  return [...queues].map(([requester, turns]) => ({ requester, turns, next: 0 }));
}

function fits(slots: Slots, turn: LaneTurn, limits: LaneLimits): boolean {
  const perClientMax = limits.maxPerClient[turn.client as ClientName] ?? Number.POSITIVE_INFINITY;
  return (
    !slots.runs.has(turn.runId) &&
    (slots.perRequester.get(turn.requester) ?? 0) < limits.maxPerRequester &&
    (slots.perClient.get(turn.client) ?? 0) < perClientMax
  );
}

function fill(slots: Slots, turn: LaneTurn): void {
  slots.count += 1;
  slots.runs.add(turn.runId);
  slots.perRequester.set(turn.requester, (slots.perRequester.get(turn.requester) ?? 0) + 1);
  slots.perClient.set(turn.client, (slots.perClient.get(turn.client) ?? 0) + 1);
}
