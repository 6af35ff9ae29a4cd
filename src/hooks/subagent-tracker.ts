import { originOf } from './decision.ts';
import { type HookEventOf, readTranscript } from './event.ts';
import { type Handler, WHOLE_CATCH_UP } from './invocation.ts';

/**
 * SubagentStop: records that a sub-agent ended (REQ-RA-201). An empty type is no sub-agent: the client sends it when
 * it compacts a conversation.
 */
export const subagentTracker: Handler<HookEventOf<'SubagentStop'>> = {
  read: (value) => ({ agentTranscriptPath: readTranscript(value, 'agent_transcript_path') }),
  decide: (event, context) =>
    event.agentType === ''
      ? { takesNotes: true }
      : { takesNotes: true, recording: { kind: 'subagent-stop', at: originOf(event, context) } },
  catchUp: WHOLE_CATCH_UP,
};
