/** The lane: of a requester the oldest first, and the requesters take turns, so that no long queue keeps others waiting. One turn of a run at a time. */

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

/** Which turns start now, in this order. */
export function chooseTurns({ queued, busy, lastStarts }: Lane, { maxConcurrent }: LaneLimits): LaneTurn[] {
  const atWork = new Set(busy.map(({ runId }) => runId));
  const free = queued.filter(({ runId }) => !atWork.has(runId));
  return startOrder({ queued: free, lastStarts }).slice(0, Math.max(0, maxConcurrent - busy.length));
}

/** The order in which all that waits would start, of each run the first, if nothing else came: the place in the queue. */
export function startOrder({ queued, lastStarts }: Omit<Lane, 'busy'>): LaneTurn[] {
  const seen = new Set<string>();
  const queues = new Map<string, LaneTurn[]>();
  for (const one of queued) {
    if (seen.has(one.runId)) continue;
    seen.add(one.runId);
    const queue = queues.get(one.requester);
    if (queue === undefined) queues.set(one.requester, [one]);
    else queue.push(one);
  }
  // Whoever has started one is behind all others, so that they take turns from then on.
  const lastStart = ([one]: readonly LaneTurn[]) => lastStarts.get(one?.requester ?? '') ?? 0;
  const position = ([one]: readonly LaneTurn[]) => one?.position ?? 0;
  const takingTurns = [...queues.values()].sort(
    (one, other) => lastStart(one) - lastStart(other) || position(one) - position(other),
  );
  const rounds = Math.max(0, ...takingTurns.map(({ length }) => length));
  return Array.from({ length: rounds }, (_none, round) =>
    takingTurns.flatMap((queue) => queue[round] ?? []),
  ).flat();
}
