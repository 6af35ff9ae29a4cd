import { inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { messagesIn } from '../core/messages.ts';
import { resolutionText } from '../core/resolution.ts';
import { searchErrorKB } from '../store/error-kb.ts';
import { type Decision, type HookContext, NOTHING, originOf, type Reply } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { toolError } from './tool-call.ts';

const FIX_LENGTH_MAX = 300;

/**
 * PostToolUseFailure: records the error and, when it has been solved before, says how. A call that the user
 * interrupted is no error.
 */
export function decidePostToolUseFailure(
  event: HookEventOf<'PostToolUseFailure'>,
  context: HookContext,
): Decision {
  if (event.isInterrupt) return NOTHING;
  const error = toolError(event, event.error, context.project);
  const hint = knownFixIfReadable(error.error, context);
  const recording = {
    kind: 'tool-errors',
    at: originOf(event, context),
    errors: [error],
    shownKbId: hint?.kbId ?? null,
  } as const;
  return hint === undefined ? { recording } : { recording, reply: hint.reply };
}

/** The first lines of a rejected call's result; such calls reach no other hook. */
const REJECTED = /^<tool_use_error>([\s\S]*?)(?:<\/tool_use_error>|$)/;

/** PostToolBatch: records the calls that the client itself rejected. */
export function decidePostToolBatch(event: HookEventOf<'PostToolBatch'>, context: HookContext): Decision {
  const errors = event.calls.flatMap((call) => {
    const rejection = REJECTED.exec(call.response)?.[1]?.trim();
    return rejection ? [toolError(call, rejection, context.project)] : [];
  });
  if (errors.length === 0) return NOTHING;
  const at = originOf(event, context);
  return { recording: { kind: 'tool-errors', at, errors, shownKbId: null, isSummary: true } };
}

/** A knowledge base that cannot be read must not cost the event (REQ-DC-304); the store's own log says why. */
function knownFixIfReadable(normalizedError: string, context: HookContext): Hint | undefined {
  try {
    return knownFix(normalizedError, context);
  } catch {
    return undefined; // Recording the event meets the same fault and reports it.
  }
}

type Hint = { readonly reply: Reply; readonly kbId: number };

function knownFix(normalizedError: string, context: HookContext): Hint | undefined {
  const db = context.knowledge();
  const known = db && searchErrorKB(normalizedError, context.project.path, db);
  if (!known) return undefined;
  const fix = inertText(resolutionText(known.resolution), FIX_LENGTH_MAX);
  if (isInstructionShaped(fix) || isInstructionShaped(known.errorNormalized)) return undefined;
  const messages = messagesIn(context.config.language);
  const lines = [
    messages.knownError,
    messages.knownErrorText(inertText(known.errorNormalized, FIX_LENGTH_MAX)),
    messages.knownErrorFix(fix),
    messages.knownErrorAdvice,
  ];
  return { kbId: known.id, reply: { event: 'PostToolUseFailure', context: lines.join('\n') } };
}
