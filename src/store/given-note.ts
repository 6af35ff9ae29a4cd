import { writeMark } from '#runtime';
import type { StatePaths } from '../core/state-paths.ts';

/**
 * Which sub-agent was given what. SubagentStart must not wait for the database, so it leaves a note in a file, and the
 * next hook that may write takes it in. A note is no event: it may be lost when the machine fails in that moment.
 */
export type GivenContext = {
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentType: string | null;
  readonly project: string;
  readonly projectPath: string;
  readonly text: string;
};

/**
 * Leaves the note, in one of 4,096 files that the end of the agent's id chooses: where nobody ever takes notes in, the
 * disk does not fill. Its directory is there from install on: a process that ends at once has no time to make one.
 * Never throws.
 */
export function noteGiven(given: GivenContext, paths: StatePaths): void {
  let slot = '';
  for (const letter of given.agentId.slice(-3)) slot += '0123456789abcdef'.includes(letter) ? letter : '0';
  writeMark(`${paths.given}/${slot}.json`, JSON.stringify(given));
}
