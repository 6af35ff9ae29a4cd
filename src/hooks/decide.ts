import { decideOther } from './decide-other.ts';
import type { Decision, FullContext } from './decision.ts';
import { decidePostToolUseFailure } from './error-logger.ts';
import type { HookEvent } from './event.ts';
import { decideSubagentStart } from './subagent-context.ts';

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
