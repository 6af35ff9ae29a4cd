import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';

/**
 * SubagentStop: records that a sub-agent ended (REQ-RA-201). An empty type is no sub-agent: the client sends it when
 * it compacts a conversation.
 */
export function decideSubagentStop(event: HookEventOf<'SubagentStop'>, context: HookContext): Decision {
  if (event.agentType === '') return NOTHING;
  return { recording: { kind: 'subagent-stop', at: originOf(event, context) } };
}
