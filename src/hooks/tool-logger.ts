import { isOwnCommand } from '../core/command.ts';
import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { toolCommand, toolFile, toolMeta } from './tool-call.ts';

/** PostToolUse: records the call; the store finds out whether it solved an earlier error. Never says anything. */
export function decidePostToolUse(event: HookEventOf<'PostToolUse'>, context: HookContext): Decision {
  const command = toolCommand(event);
  if (isOwnCommand(command)) return NOTHING;
  return {
    recording: {
      kind: 'tool-use',
      at: originOf(event, context),
      tool: event.tool,
      meta: toolMeta(event),
      toolUseId: event.toolUseId,
      command: command && event.isUnfinished ? { ...command, hidesFailure: true } : command,
      file: toolFile(event, context.project),
      language: context.config.language,
    },
  };
}
