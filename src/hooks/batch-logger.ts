import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { toolError } from './tool-call.ts';

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
