import { isOwnCommand } from '../lessons/command.ts';
import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { callRecord, hiddenError, toolError, toolMeta } from './tool-call.ts';

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

/** The first lines of a rejected call's result; such calls reach no other hook. */
const REJECTED = /^<tool_use_error>([\s\S]*?)(?:<\/tool_use_error>|$)/;

/** PostToolBatch: records the calls that the client itself rejected. */
export function decidePostToolBatch(event: HookEventOf<'PostToolBatch'>, context: HookContext): Decision {
  const errors = event.calls.flatMap((call) => {
    const rejection = REJECTED.exec(call.response)?.[1]?.trim();
    return rejection ? [toolError({ ...call, cwd: event.cwd }, rejection, context.project)] : [];
  });
  if (errors.length === 0) return NOTHING;
  const at = originOf(event, context);
  return { recording: { kind: 'tool-errors', at, errors, shownKbId: null } };
}
