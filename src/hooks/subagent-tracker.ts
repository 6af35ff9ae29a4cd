import { type Decision, type HookContext, originOf } from './decision.ts';
import { type HookEventOf, readTranscript } from './event.ts';
import { type Handler, WHOLE_CATCH_UP } from './invocation.ts';

/** The hook of SubagentStop. */
export const subagentTracker: Handler<HookEventOf<'SubagentStop'>> = {
  read: (value) => ({ agentTranscriptPath: readTranscript(value, 'agent_transcript_path') }),
  decide: decideSubagentStop,
  catchUp: WHOLE_CATCH_UP,
};

/**
 * SubagentStop: records that a sub-agent ended (REQ-RA-201). An empty type is no sub-agent: the client sends it when
 * it compacts a conversation.
 */
export function decideSubagentStop(event: HookEventOf<'SubagentStop'>, context: HookContext): Decision {
  if (event.agentType === '') return { takesNotes: true };
  return { takesNotes: true, recording: { kind: 'subagent-stop', at: originOf(event, context) } };
}
