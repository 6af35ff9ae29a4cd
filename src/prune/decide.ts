import type { PruneSettings } from '../settings/prune-settings.ts';
import { batch, type SentRequest } from './batch.ts';
import type { Call, Message } from './call.ts';
import type { Decision, Rule } from './decision.ts';
import { candidatesOf } from './rules.ts';

export type DecideOptions = {
  readonly settings: PruneSettings;
  /** What was decided at earlier requests, and what the user has swept. */
  readonly earlier: readonly Decision[];
  /** The directory of the session. */
  readonly project: string;
  /** When the request is made, in ms since 1970. */
  readonly nowMs: number;
  /** Is told of each request so far what it would have been. */
  readonly onRequest?: (request: SentRequest) => void;
};

/**
 * What is shown no more in the request that follows the messages, in their order, and what waits until it pays. The same
 * history gives the same again, whether it is decided on request by request or at once. What was decided earlier holds on as long
 * as its rule is switched on and its anchor is shown; what is not returned for that may hold again later.
 */
export function decide(
  messages: readonly Message[],
  { settings, earlier, project, nowMs, onRequest }: DecideOptions,
): { readonly decisions: readonly Decision[]; readonly waiting: readonly Decision[] } {
  if (!settings.enabled) return { decisions: [], waiting: [] };
  const calls = new Map<string, Call>();
  const ambiguous = new Set<string>();
  for (const message of messages) {
    for (const call of message.calls) {
      if (calls.has(call.id)) ambiguous.add(call.id);
      calls.set(call.id, call);
    }
  }
  const isShown = (id: string) => {
    const call = calls.get(id);
    return call !== undefined && !ambiguous.has(id) && call.state !== 'running' && call.isCleared !== true;
  };
  const held = earlier.filter(
    ({ callId, rule, anchor }) =>
      isSwitchedOn(rule, settings) && isShown(callId) && (anchor === null || isShown(anchor)),
  );
  const heldOf = new Map(held.map((decision) => [decision.callId, decision]));
  const isLeft = ({ id }: Call) => !isShown(id) || heldOf.get(id)?.rule === 'sweep';
  // What it refers to has to be seen, or, of a file, something newer.
  const isSound = ({ callId, anchor, rule }: Decision) => {
    const above = anchor === null ? undefined : heldOf.get(anchor);
    const isSeen = above?.part !== 'output' || (above.rule === rule && rule === 'supersede-writes');
    return isSeen && !heldOf.has(callId);
  };
  const { taken, waiting } = batch(
    messages,
    candidatesOf(messages, settings, { project, isLeft }),
    settings,
    nowMs,
    onRequest,
  );
  const decided = new Map([...heldOf, ...taken.filter(isSound).map((one) => [one.callId, one] as const)]);
  return {
    decisions: [...calls.keys()].flatMap((id) => decided.get(id) ?? []),
    waiting: waiting.filter(isSound),
  };
}

function isSwitchedOn(rule: Rule, settings: PruneSettings): boolean {
  if (rule === 'deduplicate') return settings.deduplicate;
  if (rule === 'supersede-writes') return settings.supersedeWrites;
  return rule === 'sweep' || settings.purgeErrors;
}
