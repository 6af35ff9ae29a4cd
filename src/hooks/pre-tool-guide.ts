import { readString } from '../core/guards.ts';
import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import { oneLine, safeName } from '../core/text.ts';
import { isAgentTool } from '../lessons/command.ts';
import { NOTHING } from './decision.ts';
import { type HookEventOf, readToolCall } from './event.ts';
import { type Handler, NEWEST_CATCH_UP } from './invocation.ts';

/**
 * PreToolUse: of a call that starts a sub-agent it leaves the task's words for SubagentStart, which is not told them by
 * the client. Has no reply and never decides about permission.
 */
export const preToolGuide: Handler<HookEventOf<'PreToolUse'>> = {
  read: readToolCall,
  decide: ({ tool, input, sessionId }) => {
    const words = [readString(input, 'description'), readString(input, 'prompt')].filter(Boolean).join(' ');
    if (!isAgentTool(tool) || words === '') return NOTHING;
    const agentType = safeName(readString(input, 'subagent_type') ?? '');
    return { task: { sessionId, agentType, words: redactSecrets(oneLine(stripPrivateTags(words))) } };
  },
  catchUp: ({ tool }) => (isAgentTool(tool) ? NEWEST_CATCH_UP : undefined),
};
