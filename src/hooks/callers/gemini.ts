import { geminiCommandEnd } from '../../core/gemini-command.ts';
import { type Json, readRecord, readRecords, readString } from '../../core/guards.ts';
import type { Translated } from './translated.ts';

/**
 * Gemini CLI's events (measured with 0.61.0). It has none at a sub-agent's start: the call that starts one is given another
 * prompt instead. Nor has it one for a failing call: that is told by its result. What a hook is handed has no id of the call.
 */
export function translateGemini(value: Json): Translated {
  switch (value.hook_event_name) {
    case 'BeforeAgent':
      return answeredAs('BeforeAgent', { ...value, hook_event_name: 'UserPromptSubmit' });
    case 'BeforeTool':
      return startOfAgent(value) ?? { event: { ...value, hook_event_name: 'PreToolUse' } };
    case 'AfterTool':
      return answeredAs('AfterTool', failedCommand(value) ?? { ...value, hook_event_name: 'PostToolUse' });
    case 'AfterAgent':
      return { event: { ...value, hook_event_name: 'Stop' } };
    default:
      return { event: value };
  }
}

function answeredAs(hookEventName: string, event: Json): Translated {
  return { event, output: (asClaudeCode) => ({ ...asClaudeCode, hookEventName }) };
}

/** The input goes back as a whole: what is left out of it would be missing. */
function startOfAgent(value: Json): Translated | undefined {
  const input = readRecord(value, 'tool_input');
  const prompt = readString(input, 'prompt');
  if (value.tool_name !== 'invoke_agent' || prompt === undefined) return undefined;
  const agent_type = input.agent_name === 'generalist' ? 'general-purpose' : input.agent_name;
  const started = { hook_event_name: 'SubagentStart', agent_type, task: prompt };
  return {
    event: { ...value, ...started },
    output: ({ additionalContext }) => ({
      hookEventName: 'BeforeTool',
      tool_input: { ...input, prompt: `${prompt}\n\n${additionalContext}` },
    }),
  };
}

function failedCommand(value: Json): Json | undefined {
  if (value.tool_name !== 'run_shell_command') return undefined;
  const { code, printed } = geminiCommandEnd(textOf(readRecord(value, 'tool_response').llmContent));
  if (code === 0) return undefined;
  const error = `Exit code ${code}\n${printed}`.trim();
  return { ...value, hook_event_name: 'PostToolUseFailure', tool_name: 'Bash', error };
}

/** A text, or parts of one. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return readRecords(Array.isArray(content) ? content : [content])
    .flatMap((part) => readString(part, 'text') ?? [])
    .join('');
}
