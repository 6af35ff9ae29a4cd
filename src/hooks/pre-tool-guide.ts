import { readString } from '../core/guards.ts';
import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import { safeName } from '../core/safe-name.ts';
import { oneLine } from '../core/text.ts';
import { isAgentTool } from '../lessons/command.ts';
import { type Decision, NOTHING } from './decision.ts';
import type { HookEventOf } from './event.ts';

/**
 * PreToolUse: of a call that starts a sub-agent it leaves the task's words for SubagentStart, which is not told them by
 * the client. Never says anything and never decides about permission.
 */
export function decidePreToolUse({ tool, input, sessionId }: HookEventOf<'PreToolUse'>): Decision {
  if (!isAgentTool(tool)) return NOTHING;
  const words = [readString(input, 'description'), readString(input, 'prompt')].filter(Boolean).join(' ');
  const agentType = safeName(readString(input, 'subagent_type') ?? '');
  return words === ''
    ? NOTHING
    : { task: { sessionId, agentType, words: redactSecrets(oneLine(stripPrivateTags(words))) } };
}
