import { callIdIn, isUniqueCallId } from '../../core/call-client.ts';
import { isRecord, type Json, parseJson, readRecord, readString } from '../../core/guards.ts';
import { fingerprint } from '../../core/text.ts';
import { readTail } from '../../system/lines.ts';
import { knownAgentType, readTranscript } from '../event.ts';
import type { Translated } from './translated.ts';

/**
 * Codex' events have Claude Code's names and fields (measured with 0.169.0), but for three things: the tool that starts a
 * sub-agent, kinds of agents, and that PostToolUse comes for a command that failed as well, without its exit code.
 */
export function translateCodex(value: Json): Translated {
  if (value.hook_event_name === 'PreToolUse') return { event: spawnCall(value) ?? value };
  return (value.hook_event_name === 'PostToolUse' && failedCall(value)) || { event: value };
}

/** `spawn_agent`, or with its namespace right before: `collaborationspawn_agent`. */
const SPAWN_TOOL = /spawn_agent$/;
const DEFAULT_AGENT = 'default';

function spawnCall(value: Json): Json | undefined {
  if (!SPAWN_TOOL.test(readString(value, 'tool_name') ?? '')) return undefined;
  const input = readRecord(value, 'tool_input');
  const type = readString(input, 'agent_type') ?? DEFAULT_AGENT;
  const subagent_type = knownAgentType(type, 'codex');
  const tool_input = { description: input.task_name, prompt: input.message, subagent_type };
  return { ...value, tool_name: 'Agent', tool_input };
}

function failedCall(value: Json): Translated | undefined {
  const id = readString(value, 'tool_use_id') ?? '';
  const code = exitCodeOf(id, readTranscript(value, 'transcript_path'));
  if (code === undefined || code === 0) return undefined;
  const printed = readString(value, 'tool_response') ?? '';
  const event = {
    ...value,
    hook_event_name: 'PostToolUseFailure',
    error: `Exit code ${code}\n${printed}`.trim(),
  };
  const callId = isUniqueCallId(id) ? callIdIn('codex', fingerprint(id)) : null;
  return { event, callId, output: (asClaudeCode) => ({ ...asClaudeCode, hookEventName: 'PostToolUse' }) };
}

/** The end of a command stands in the session's file before its hook is called. */
const TAIL_BYTES = 256 * 1024;

/** The exit code of this call's command; undefined where the session does not say it. */
function exitCodeOf(id: string, rollout: string | undefined): number | undefined {
  if (id === '' || rollout === undefined) return undefined;
  const lines = readTail(rollout, TAIL_BYTES).split('\n').reverse();
  for (const line of lines) {
    if (!line.includes('"CommandExecution"') || !line.includes(id)) continue;
    const record = parseJson(line);
    const item = isRecord(record) ? readRecord(readRecord(record, 'payload'), 'item') : {};
    if (item.type === 'CommandExecution' && item.id === id && typeof item.exit_code === 'number')
      return item.exit_code;
  }
  return undefined;
}
