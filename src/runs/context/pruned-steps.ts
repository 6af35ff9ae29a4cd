import { type SessionStep, turnsOf } from '../../core/conversation.ts';
import { decide } from '../../prune/decide.ts';
import { messagesOf } from '../../prune/messages.ts';
import { isOutputPruned, withoutPlaceholder } from '../../prune/placeholder.ts';
import type { PruneSettings } from '../../settings/prune-settings.ts';

/** A conversation that is handed over, without what says nothing that it does not say elsewhere. */

/** Without placeholders, which a client may have been given with a pruned copy: whoever is handed them was shown nothing else. */
export function* withoutPlaceholders(steps: Iterable<SessionStep>): Generator<SessionStep> {
  for (const step of steps) {
    if (step.kind !== 'result') yield step;
    else if (!isOutputPruned(step.text)) yield { ...step, text: withoutPlaceholder(step.text) };
  }
}

/**
 * The ids of the calls whose results the rules would show no more. Of equal ones the newest stays, since a hand-over has
 * more room for what is new.
 */
export function prunedResults(
  steps: Iterable<SessionStep>,
  settings: PruneSettings,
  project: string,
): ReadonlySet<string> {
  const messages = messagesOf(turnsOf(steps));
  // Nothing of this was ever sent to whom it is handed.
  const free = { ...settings, cachedPriceRatio: 1 };
  const { decisions } = decide(messages, { settings: free, earlier: [], project, nowMs: Number.NaN });
  const left = new Set<string>();
  const newest = new Map<string, string>();
  for (const { callId, rule, part, anchor } of decisions) {
    if (part !== 'output') continue;
    if (rule !== 'deduplicate' || anchor === null) left.add(callId);
    else {
      left.add(newest.get(anchor) ?? anchor);
      newest.set(anchor, callId);
    }
  }
  return left;
}
