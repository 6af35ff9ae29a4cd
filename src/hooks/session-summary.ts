import { type Decision, type HookContext, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';

/** SessionEnd: has the store sum up the session (REQ-DC-401) and forget what is too old. */
export function decideSessionEnd(event: HookEventOf<'SessionEnd'>, context: HookContext): Decision {
  return {
    recording: { kind: 'session-end', at: originOf(event, context), reason: event.reason },
    prune: true,
  };
}
