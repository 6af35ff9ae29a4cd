/**
 * The lane of sub-agents: who starts next. Of one requester the oldest first; among requesters, whose last start is
 * longest ago, so that a long queue of one does not keep the others waiting. One turn of a run at a time.
 */

export type LaneLimits = { readonly maxConcurrent: number };

/** A turn that has not ended, as far as the lane cares. */
export type LaneTurn = {
  readonly runId: string;
  readonly number: number;
  /** Its place among all turns that ever were. */
  readonly position: number;
  readonly requester: string;
};

export type Lane = {
  /** By their positions. */
  readonly queued: readonly LaneTurn[];
  readonly busy: readonly LaneTurn[];
  /** The number of each requester's last start, counted over all; those without one have never had any. */
  readonly lastStarts: ReadonlyMap<string, number>;
};

/** What waits of one requester. What may not start now may not in all of this choice: slots are only taken. */
type Queue = { readonly requester: string; readonly turns: readonly LaneTurn[]; next: number };

/** Which turns start now, in this order. */
export function chooseTurns({ queued, busy, lastStarts }: Lane, { maxConcurrent }: LaneLimits): LaneTurn[] {
  const runs = new Set(busy.map(({ runId }) => runId));
  const starts = new Map(lastStarts);
  let start = Math.max(0, ...starts.values());
  const queues = queuesOf(queued);
  const chosen: LaneTurn[] = [];
  while (busy.length + chosen.length < maxConcurrent) {
    const turn = takeNext(queues, starts, runs);
    if (turn === undefined) break;
    chosen.push(turn);
    runs.add(turn.runId);
    start += 1;
    starts.set(turn.requester, start);
  }
  return chosen;
}

/** The order in which all that waits would start if nothing else came: the place in the queue. */
export function startOrder(lane: Lane): LaneTurn[] {
  return chooseTurns({ ...lane, busy: [] }, { maxConcurrent: Number.POSITIVE_INFINITY });
}

function takeNext(
  queues: readonly Queue[],
  starts: ReadonlyMap<string, number>,
  runs: ReadonlySet<string>,
): LaneTurn | undefined {
  let best: { readonly queue: Queue; readonly turn: LaneTurn; readonly start: number } | undefined;
  for (const queue of queues) {
    const turn = headOf(queue, runs);
    if (turn === undefined) continue;
    const start = starts.get(queue.requester) ?? 0;
    const isEarlier = best !== undefined && start === best.start && turn.position < best.turn.position;
    if (best === undefined || start < best.start || isEarlier) best = { queue, turn, start };
  }
  if (best === undefined) return undefined;
  best.queue.next += 1;
  return best.turn;
}

function headOf(queue: Queue, runs: ReadonlySet<string>): LaneTurn | undefined {
  for (; queue.next < queue.turns.length; queue.next++) {
    const turn = queue.turns[queue.next];
    if (turn !== undefined && !runs.has(turn.runId)) return turn;
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
