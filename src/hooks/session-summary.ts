import type { Db } from '../database/connection.ts';
import { queryEvents } from '../database/events.ts';
import { originOf } from './decision.ts';
import { type HookEventOf, readName } from './event.ts';
import { BRIEF_CATCH_UP, type Handler } from './invocation.ts';

/** A shorter session has nothing to learn from (REQ-DC-403). */
const PROMPTS_MIN = 3;
/** A hook does not walk through a whole long session. */
const EVENTS_LOOKED_AT = 2000;

/**
 * SessionEnd: has the store sum up the session (REQ-DC-401) and forget what is too old, and, where the user has
 * switched that on, starts an analysis.
 */
export const sessionSummary: Handler<HookEventOf<'SessionEnd'>> = {
  read: (value) => ({ reason: readName(value, 'reason') || 'unknown' }),
  decide: (event, context) => {
    const recording = { kind: 'session-end', at: originOf(event, context), reason: event.reason } as const;
    const { project, config, knowledge } = context;
    const withLessons = config.lessons.model !== 'off';
    const isWanted = (config.analysisOnSessionEnd || withLessons) && event.reason !== 'clear';
    const db = isWanted && project.path !== null ? knowledge() : undefined;
    if (project.path === null || db === undefined || !isWorthwhile(event.sessionId, withLessons, db))
      return { recording, takesNotes: true, prune: true };
    return {
      recording,
      takesNotes: true,
      prune: true,
      launch: { kind: 'analysis', projectPath: project.path },
    };
  },
  catchUp: BRIEF_CATCH_UP,
  // The client may end before a hook that it does not wait for has learnt from the whole.
  catchUpInBackground: 'always',
  delivers: 'always',
};

/** Where lessons are wanted, a failing call is something to learn from, whatever was asked. */
function isWorthwhile(sessionId: string, withLessons: boolean, db: Db): boolean {
  const events = queryEvents({ sessionId, limit: EVENTS_LOOKED_AT }, db);
  if (events.filter(({ type }) => type === 'prompt').length >= PROMPTS_MIN) return true;
  return withLessons && queryEvents({ sessionId, type: 'tool_error', limit: 1 }, db).length > 0;
}
