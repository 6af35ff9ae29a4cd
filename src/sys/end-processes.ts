import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessIdentity } from '../core/runs/turn.ts';
import { identityOf, isSameProcess } from './process-identity.ts';
import { descendantsOf, inSession, type Marker, withMarker, writersOf } from './process-tree.ts';

export type Ending = {
  /** The process that the others come from, which has a group and a session of its own; null when it is not known. */
  readonly leader: ProcessIdentity | null;
  /** What the leader is asked with first; the others are not asked then, so that it can end them itself. */
  readonly polite: 'SIGINT' | 'SIGTERM';
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** By which processes are found that have left the group. */
  readonly marker: Marker | null;
  /** Files that nobody else writes to: who has one of them open to write is one of them, whatever else it has left. */
  readonly files?: readonly string[];
};

const POLL_MS = 50;
/** How long the leader may take to end what it has started. */
const POLITE_MS = 3000;
/** How long a killed process may take to go. */
const KILLED_MS = 2000;
/** A process that forks faster than it can be killed is not waited for. */
const KILL_ROUNDS_MAX = 40;

/**
 * Ends a process and all that came from it: asks, terminates, kills, and looks whether they are gone. Every process is
 * looked at again before each signal, so that a later one with the same id is never signalled. Resolves at once when
 * nothing is there. `survivors`: what lives on. Never throws.
 */
export async function endProcesses(ending: Ending): Promise<{ readonly survivors: readonly number[] }> {
  const known = new Known(ending);
  if (known.look().length === 0) return { survivors: [] };
  const leader = ending.leader;
  if (leader !== null && ending.polite !== 'SIGTERM' && isSameProcess(leader)) {
    signal(leader, ending.polite);
    await goneWithin(leader, POLITE_MS);
    if (known.look().length === 0) return { survivors: [] };
  }
  for (const one of known.look()) signal(one, 'SIGTERM');
  if (await known.areGoneWithin(ending.graceMs)) return { survivors: [] };
  for (let round = 0; round < KILL_ROUNDS_MAX; round++) {
    for (const one of known.look()) signal(one, 'SIGKILL');
    if (await known.areGoneWithin(KILLED_MS / KILL_ROUNDS_MAX)) return { survivors: [] };
  }
  return { survivors: known.look().map(({ pid }) => pid) };
}

/** All processes that have ever been seen to belong to the one that is ended. */
class Known {
  readonly #ending: Ending;
  readonly #seen = new Map<number, ProcessIdentity>();

  constructor(ending: Ending) {
    this.#ending = ending;
    if (ending.leader !== null && isSameProcess(ending.leader)) this.#add(ending.leader);
  }

  /** Those that live, with what has come to them since. */
  look(): ProcessIdentity[] {
    const { marker, files = [] } = this.#ending;
    const group = this.#group();
    const living = this.#living();
    const found = [
      ...descendantsOf(...living.map(({ pid }) => pid)),
      ...(group === null ? [] : inSession(group)),
      ...(marker === null ? [] : withMarker(marker)),
      ...writersOf(files),
    ];
    for (const pid of found) {
      const identity = pid === process.pid ? undefined : identityOf(pid);
      if (identity !== undefined) this.#add(identity);
    }
    return this.#living();
  }

  async areGoneWithin(ms: number): Promise<boolean> {
    for (let waited = 0; waited < ms; waited += POLL_MS) {
      if (this.#living().length === 0 && this.look().length === 0) return true;
      await sleep(Math.min(POLL_MS, ms - waited));
    }
    return this.look().length === 0;
  }

  /** The group's id is free again when all of it are gone; then it may be that of a process which is none of ours. */
  #group(): number | null {
    const { leader } = this.#ending;
    const holder = leader === null ? undefined : identityOf(leader.pid);
    return leader === null || (holder !== undefined && holder.start !== leader.start) ? null : leader.pid;
  }

  #add(identity: ProcessIdentity): void {
    this.#seen.set(identity.pid, identity);
  }

  #living(): ProcessIdentity[] {
    return [...this.#seen.values()].filter(isSameProcess);
  }
}

async function goneWithin(one: ProcessIdentity, ms: number): Promise<void> {
  for (let waited = 0; waited < ms && isSameProcess(one); waited += POLL_MS) await sleep(POLL_MS);
}

function signal(target: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isSameProcess(target)) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // It has just ended, which is what was wanted, or it is not ours to end: then it is a survivor.
  }
}
