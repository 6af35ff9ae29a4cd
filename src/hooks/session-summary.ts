import type { Db } from '../database/connection.ts';
import { queryEvents } from '../database/events.ts';
import { type Decision, type HookContext, originOf } from './decision.ts';
import { type HookEventOf, readName } from './event.ts';
import { BRIEF_CATCH_UP, type Handler } from './invocation.ts';

/** A shorter session has nothing to learn from (REQ-DC-403). */
const PROMPTS_MIN = 3;
/** A hook does not walk through a whole long session. */
const EVENTS_LOOKED_AT = 2000;

/** The hook of SessionEnd. */
export const sessionSummary: Handler<HookEventOf<'SessionEnd'>> = {
  read: (value) => ({ reason: readName(value, 'reason') || 'unknown' }),
  decide: decideSessionEnd,
  catchUp: BRIEF_CATCH_UP,
  // The client may end before a hook that it does not wait for has learnt from the whole.
  catchUpInBackground: 'always',
  delivers: 'always',
};

/**
 * SessionEnd: has the store sum up the session (REQ-DC-401) and forget what is too old, and, where the user has
 * switched that on, starts an analysis.
 */
export function decideSessionEnd(event: HookEventOf<'SessionEnd'>, context: HookContext): Decision {
  const recording = { kind: 'session-end', at: originOf(event, context), reason: event.reason } as const;
  const projectPath = context.project.path;
  const { analysisOnSessionEnd, lessons } = context.config;
  const withLessons = lessons.model !== 'off';
  const isWanted = (analysisOnSessionEnd || withLessons) && event.reason !== 'clear' && projectPath !== null;
  const db = isWanted ? context.knowledge() : undefined;
  if (projectPath === null || db === undefined || !isWorthwhile(event.sessionId, withLessons, db)) {
    return { recording, prune: true };
  }
  return { recording, prune: true, launch: { kind: 'analysis', projectPath } };
}

/** Where lessons are wanted, a failing call is something to learn from, whatever was asked. */
function isWorthwhile(sessionId: string, withLessons: boolean, db: Db): boolean {
  const events = queryEvents({ sessionId, limit: EVENTS_LOOKED_AT }, db);
  if (events.filter(({ type }) => type === 'prompt').length >= PROMPTS_MIN) return true;
  return withLessons && queryEvents({ sessionId, type: 'tool_error', limit: 1 }, db).length > 0;
}
