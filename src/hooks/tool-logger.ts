import { isOwnCommand } from '../core/command.ts';
import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { callRecord, hiddenError, toolMeta } from './tool-call.ts';

/** PostToolUse: records the call, as a failure where what it printed says so beyond doubt. Never says anything. */
export function decidePostToolUse(event: HookEventOf<'PostToolUse'>, context: HookContext): Decision {
  const call = callRecord(event, context.project);
  if (isOwnCommand(call.command)) return NOTHING;
  const at = originOf(event, context);
  const error = event.isUnfinished ? undefined : hiddenError(event, call);
  if (error !== undefined) {
    return { recording: { kind: 'tool-errors', at, errors: [error], shownKbId: null } };
  }
  const isUnfinished = event.isUnfinished ? ({ isUnfinished: true } as const) : {};
  return { recording: { kind: 'tool-use', at, ...call, meta: toolMeta(event, call), ...isUnfinished } };
}
