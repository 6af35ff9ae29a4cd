import { unreachable } from '../core/guards.ts';
import { type Decision, type FullContext, type HookContext, NOTHING, originOf } from './decision.ts';
import { decidePostToolUseFailure } from './error-logger.ts';
import type { HookEvent, HookEventOf } from './event.ts';
import { decidePreToolUse } from './pre-tool-guide.ts';
import { decideUserPromptSubmit } from './prompt-logger.ts';
import { decideSessionStart } from './session-analyzer.ts';
import { decideSessionEnd } from './session-summary.ts';
import { decideSubagentStart } from './subagent-context.ts';
import { decidePostToolBatch, decidePostToolUse } from './tool-logger.ts';

/** The events that need little code to decide on: SubagentStart and the one that searches have theirs to themselves. */
export type OtherEvent = Exclude<HookEvent, { name: 'SubagentStart' | 'PostToolUseFailure' }>;

/** What one of these events calls for. Reads through the context, changes nothing. */
export function decideOther(event: OtherEvent, context: FullContext): Decision {
  switch (event.name) {
    case 'UserPromptSubmit':
      return decideUserPromptSubmit(event, context);
    case 'PreToolUse':
      return decidePreToolUse(event);
    case 'PostToolUse':
      return decidePostToolUse(event, context);
    case 'PostToolBatch':
      return decidePostToolBatch(event, context);
    case 'SubagentStop':
      return decideSubagentStop(event, context);
    case 'Stop':
      return NOTHING; // What the transcript has gained is read before, as for every hook.
    case 'SessionStart':
      return decideSessionStart(event, context);
    case 'SessionEnd':
      return decideSessionEnd(event, context);
    default:
      return unreachable(event);
  }
}

/**
 * SubagentStop: records that a sub-agent ended (REQ-RA-201). An empty type is no sub-agent: the client sends it when
 * it compacts a conversation.
 */
export function decideSubagentStop(event: HookEventOf<'SubagentStop'>, context: HookContext): Decision {
  if (event.agentType === '') return NOTHING;
  return { recording: { kind: 'subagent-stop', at: originOf(event, context) } };
}

/** What any event calls for, where all the hooks' code is loaded anyway: when past sessions are read. */
export function decide(event: HookEvent, context: FullContext): Decision {
  switch (event.name) {
    case 'SubagentStart':
      return decideSubagentStart(event, context);
    case 'PostToolUseFailure':
      return decidePostToolUseFailure(event, context);
    default:
      return decideOther(event, context);
  }
}
