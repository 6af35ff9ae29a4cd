import { unreachable } from '../core/guards.ts';
import { decidePostToolBatch } from './batch-logger.ts';
import type { Decision, FullContext } from './decision.ts';
import type { HookEvent } from './event.ts';
import { decidePreToolUse } from './pre-tool-guide.ts';
import { decideUserPromptSubmit } from './prompt-logger.ts';
import { decideSessionStart } from './session-analyzer.ts';
import { decideSessionEnd } from './session-summary.ts';
import { decideStop } from './stop-tracker.ts';
import { decideSubagentStop } from './subagent-tracker.ts';
import { decidePostToolUse } from './tool-logger.ts';

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
      return decideStop();
    case 'SessionStart':
      return decideSessionStart(event, context);
    case 'SessionEnd':
      return decideSessionEnd(event, context);
    default:
      return unreachable(event);
  }
}
