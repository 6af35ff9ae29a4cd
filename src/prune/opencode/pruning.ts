import { accounted, newOf } from '../account.ts';
import { decide } from '../decide.ts';
import type { Decision } from '../decision.ts';
import { keepable } from '../store.ts';
import type { Common } from './common.ts';
import { type Hooks, sessionOf } from './host.ts';
import { applyTo, messagesFrom } from './messages.ts';
import { savedBy } from './reports.ts';
import type { SessionStates } from './session-states.ts';

/** What is shown no more of the requests of main sessions. A request that is not certain to be one stays as it is. */
export function pruning({ host, settings, kinds, log, show }: Common, states: SessionStates): Hooks {
  const compacting = new Set<string>();
  const tell = (sessionId: string, decisions: readonly Decision[]) => {
    const line = `Not sent any more: ${savedBy(decisions)}`;
    log.info('prune', `${sessionId}: ${line}`);
    show(line);
  };
  return {
    'experimental.session.compacting': ({ sessionID }) => {
      compacting.add(sessionID);
    },
    'experimental.chat.messages.transform': async (_input, { messages }) => {
      const sessionId = sessionOf(messages);
      // What is to be summarised is summarised from the whole of it.
      if (sessionId === undefined || compacting.delete(sessionId)) return;
      const { enabled, prune } = settings();
      if (!enabled || !prune.enabled || (await kinds.kindOf(sessionId, messages)) !== 'main') return;
      const before = states.of(sessionId);
      if (before.isOff) return;
      const now = new Date();
      const shown = messagesFrom(messages);
      const [earlier, project, nowMs] = [before.decisions, host.directory, now.getTime()];
      const decided = decide(shown, { settings: prune, earlier, project, nowMs }).decisions;
      const fresh = new Set(newOf(before, decided));
      const decisions = decided.map((one) => (fresh.has(one) ? keepable(one) : one));
      applyTo(messages, decisions);
      const isCold = nowMs - Date.parse(before.updatedAt) > prune.cacheMinutes * 60_000;
      states.keep(accounted(before, shown, decisions, { isCold, now }));
      if (fresh.size > 0) tell(sessionId, [...fresh]);
    },
  };
}
