import { unreachable } from '../core/guards.ts';
import type { Decision, HookContext } from './decision.ts';
import { decidePostToolBatch, decidePostToolUseFailure } from './error-logger.ts';
import type { HookEvent } from './event.ts';
import { decidePreToolUse } from './pre-tool-guide.ts';
import { decideUserPromptSubmit } from './prompt-logger.ts';
import { decideSessionStart } from './session-analyzer.ts';
import { decideSessionEnd } from './session-summary.ts';
import { decideSubagentStart } from './subagent-context.ts';
import { decideSubagentStop } from './subagent-tracker.ts';
import { decidePostToolUse } from './tool-logger.ts';

/** What the event calls for. Reads through the context, changes nothing. */
export function decide(event: HookEvent, context: HookContext): Decision {
  switch (event.name) {
    case 'UserPromptSubmit':
      return decideUserPromptSubmit(event, context);
    case 'PreToolUse':
      return decidePreToolUse(event, context);
    case 'PostToolUse':
      return decidePostToolUse(event, context);
    case 'PostToolUseFailure':
      return decidePostToolUseFailure(event, context);
    case 'PostToolBatch':
      return decidePostToolBatch(event, context);
    case 'SubagentStart':
      return decideSubagentStart(event, context);
    case 'SubagentStop':
      return decideSubagentStop(event, context);
    case 'SessionStart':
      return decideSessionStart(event, context);
    case 'SessionEnd':
      return decideSessionEnd(event, context);
    default:
      return unreachable(event);
  }
}
