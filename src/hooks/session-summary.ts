import type { Db } from '../store/connection.ts';
import { recentPrompts } from '../store/events.ts';
import { type Decision, type HookContext, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';

/** A shorter session has nothing to learn from (REQ-DC-403). */
const PROMPTS_MIN = 3;
const EVENTS_LOOKED_AT = 2000;

/**
 * SessionEnd: has the store sum up the session (REQ-DC-401) and forget what is too old, and, where the user has
 * switched that on, starts an analysis.
 */
export function decideSessionEnd(event: HookEventOf<'SessionEnd'>, context: HookContext): Decision {
  const recording = { kind: 'session-end', at: originOf(event, context), reason: event.reason } as const;
  const projectPath = context.project.path;
  const isWanted = context.config.analysisOnSessionEnd && event.reason !== 'clear' && projectPath !== null;
  const db = isWanted ? context.knowledge() : undefined;
  if (projectPath === null || db === undefined || countPrompts(event.sessionId, db) < PROMPTS_MIN) {
    return { recording, prune: true };
  }
  return { recording, prune: true, launch: { kind: 'analysis', projectPath } };
}

function countPrompts(sessionId: string, db: Db): number {
  return recentPrompts(sessionId, EVENTS_LOOKED_AT, db).length;
}
