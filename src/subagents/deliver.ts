import type { Announcement } from '../core/runs/announcement.ts';
import type { Requester } from '../core/runs/run.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { RunsWorld } from './features.ts';

/** What is told to a requester, whichever way: one text, and what it was made of. */
export type Delivery = { readonly text: string; readonly announcements: readonly Announcement[] };

export type Reader = {
  /** Who holds what is handed out, until it says that it arrived by asking again: `hook:<session>`, `mcp:<connection>`. */
  readonly owner: string;
  /** A person at a terminal also gets what is meant for a session that may still come. */
  readonly isPerson: boolean;
  /** In UTF-16 units; results are cut to it. */
  readonly lengthMax?: number;
};

/**
 * Hands out what waits for the requester, after taking note that what this owner held has arrived. Undefined when
 * nothing waits, and inside a run: what is announced is not for sub-agents.
 */
export function takeDelivery(
  _requester: Requester,
  _reader: Reader,
  _world: RunsWorld,
): Delivery | undefined {
  return undefined;
}

/** What this owner holds has arrived. Gives the ids of the announcements. */
export function acknowledgeDelivery(
  _requester: string,
  _owner: string,
  _world: RunsWorld,
): readonly string[] {
  return [];
}

/** What this owner holds has not arrived: it waits again, at once. */
export function returnDelivery(_owner: string, _world: RunsWorld): void {}

/** Leaves the sign by which hooks see that something waits. `requester`: the key. Never throws. */
export function markInbox(_requester: string, _paths: StatePaths): void {}

/** Takes the sign away unless something waits, also when that comes in this very moment. Never throws. */
export function unmarkInbox(_requester: string, _paths: StatePaths, _nowMs: number): void {}
