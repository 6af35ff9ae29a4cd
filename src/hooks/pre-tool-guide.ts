import { type Decision, type HookContext, NOTHING } from './decision.ts';
import type { HookEventOf } from './event.ts';

/** PreToolUse: nothing to say. */
export function decidePreToolUse(_event: HookEventOf<'PreToolUse'>, _context: HookContext): Decision {
  return NOTHING;
}
