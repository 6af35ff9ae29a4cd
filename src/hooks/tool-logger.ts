import { isRecord, type Json, readRecord, readString } from '../core/guards.ts';
import { isOwnCommand } from '../lessons/command.ts';
import { NOTHING, originOf } from './decision.ts';
import { type HookEventOf, readToolCall, type ToolCall } from './event.ts';
import type { Handler } from './invocation.ts';
import { callRecord, hiddenError, toolError, toolMeta } from './tool-call.ts';

/** PostToolUse: records the call, as a failure where what it printed says so beyond doubt. Has no reply. */
export const toolLogger: Handler<HookEventOf<'PostToolUse'>> = {
  read: (value) => {
    const call = readToolCall(value);
    const response = readRecord(value, 'tool_response');
    return call && { ...call, isUnfinished: isUnfinished(response, call), output: printedOf(response) };
  },
  decide: (event, context) => {
    const call = callRecord(event, context.project);
    if (isOwnCommand(call.command)) return NOTHING;
    const at = originOf(event, context);
    const error = event.isUnfinished ? undefined : hiddenError(event, call);
    if (error) return { recording: { kind: 'tool-errors', at, errors: [error], shownKbId: null } };
    const isUnfinished = event.isUnfinished ? ({ isUnfinished: true } as const) : {};
    return { recording: { kind: 'tool-use', at, ...call, meta: toolMeta(event, call), ...isUnfinished } };
  },
  delivers: 'when-marked',
};

function isUnfinished(response: Json, { input }: ToolCall): boolean {
  const isBackground = input.run_in_background === true || response.backgroundTaskId !== undefined;
  return isBackground || response.interrupted === true;
}

const OUTPUT_LENGTH_MAX = 2000;

/** What a command printed; empty for other tools, and for what is too long to be a message of failure. */
function printedOf(response: Json): string {
  const printed = [readString(response, 'stdout'), readString(response, 'stderr')].filter(Boolean).join('\n');
  return printed.length > OUTPUT_LENGTH_MAX ? '' : printed;
}

/** PostToolBatch: records the calls that the client itself rejected. */
export const batchLogger: Handler<HookEventOf<'PostToolBatch'>> = {
  read: (value) => ({ calls: batchCalls(value) }),
  decide: (event, context) => {
    const errors = event.calls.flatMap((call) => {
      const rejection = REJECTED.exec(call.response)?.[1]?.trim();
      return rejection ? [toolError({ ...call, cwd: event.cwd }, rejection, context.project)] : [];
    });
    const at = originOf(event, context);
    return errors.length === 0
      ? NOTHING
      : { recording: { kind: 'tool-errors', at, errors, shownKbId: null } };
  },
};

const BATCH_CALLS_MAX = 100;

function batchCalls(value: Json): (ToolCall & { response: string })[] {
  const calls = Array.isArray(value.tool_calls) ? value.tool_calls.slice(0, BATCH_CALLS_MAX) : [];
  return calls.filter(isRecord).flatMap((raw) => {
    const call = readToolCall(raw);
    const response = readString(raw, 'tool_response');
    return call && response !== undefined ? [{ ...call, response }] : [];
  });
}

/** The first lines of a rejected call's result; such calls reach no other hook. */
const REJECTED = /^<tool_use_error>([\s\S]*?)(?:<\/tool_use_error>|$)/;
