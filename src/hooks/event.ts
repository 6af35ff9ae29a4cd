import { isRecord, type Json, readRecord, readString } from '../core/guards.ts';
import { safeName } from '../core/safe-name.ts';
import { isAbsolutePath } from '../core/state-paths.ts';
import { cleanText, cutText } from '../core/text.ts';

/** Who and where: the fields that every event of the client carries. */
type Common = {
  readonly sessionId: string;
  readonly cwd: string | undefined;
  /** The main session's transcript, whether it is there or not. */
  readonly transcriptPath?: string | undefined;
  /** Set inside a sub-agent. */
  readonly agentId: string | null;
  readonly agentType: string | null;
};

type ToolCall = {
  readonly tool: string;
  readonly input: Json;
  readonly toolUseId: string | null;
  /** What the agent said before the call: only the transcript has it. */
  readonly remark: string | null;
};

/** An event of the client, checked once; nothing behind this looks at raw JSON. */
export type HookEvent = Common &
  (
    | { readonly name: 'UserPromptSubmit'; readonly prompt: string }
    | ({ readonly name: 'PreToolUse' } & ToolCall)
    | ({
        readonly name: 'PostToolUse';
        /** It was started in the background or stopped: that it returned does not mean that it worked. */
        readonly isUnfinished: boolean;
        /** The beginning of what it printed: a pipe may hide a failure from its exit code. */
        readonly output: string;
      } & ToolCall)
    | ({
        readonly name: 'PostToolUseFailure';
        readonly error: string;
        readonly isInterrupt: boolean;
      } & ToolCall)
    | {
        readonly name: 'PostToolBatch';
        readonly calls: readonly (ToolCall & { readonly response: string })[];
      }
    | { readonly name: 'SubagentStart' }
    | { readonly name: 'SubagentStop'; readonly agentTranscriptPath?: string | undefined }
    | { readonly name: 'Stop' }
    | { readonly name: 'SessionStart'; readonly source: string }
    | { readonly name: 'SessionEnd'; readonly reason: string }
  );

export type HookEventOf<Name extends HookEvent['name']> = Extract<HookEvent, { name: Name }>;

/**
 * Reads the client's JSON. `name` is the event that the hook was registered for; without it `hook_event_name`
 * decides. Undefined when this is no event of ours or lacks what the event cannot do without.
 */
export function parseHookEvent(value: unknown, name?: HookEvent['name']): HookEvent | undefined {
  if (!isRecord(value)) return undefined;
  const common: Common = {
    sessionId: readName(value, 'session_id') || 'unknown',
    cwd: readPath(value, 'cwd'),
    transcriptPath: readTranscript(value, 'transcript_path'),
    agentId: readName(value, 'agent_id') || null,
    agentType: readName(value, 'agent_type') ?? null,
  };
  const call = toolCall(value);
  switch (name ?? readString(value, 'hook_event_name')) {
    case 'UserPromptSubmit': {
      const prompt = readString(value, 'prompt');
      return prompt === undefined ? undefined : { ...common, name: 'UserPromptSubmit', prompt };
    }
    case 'PreToolUse':
      return call && { ...common, name: 'PreToolUse', ...call };
    case 'PostToolUse': {
      const output = printedOf(readRecord(value, 'tool_response'));
      return (
        call && { ...common, name: 'PostToolUse', isUnfinished: isUnfinished(value, call), output, ...call }
      );
    }
    case 'PostToolUseFailure': {
      const error = readString(value, 'error') ?? '';
      const isInterrupt = value.is_interrupt === true;
      return call && { ...common, name: 'PostToolUseFailure', error, isInterrupt, ...call };
    }
    case 'PostToolBatch':
      return { ...common, name: 'PostToolBatch', calls: batchCalls(value) };
    case 'SubagentStart':
      return { ...common, name: 'SubagentStart' };
    case 'SubagentStop':
      return {
        ...common,
        name: 'SubagentStop',
        agentTranscriptPath: readTranscript(value, 'agent_transcript_path'),
      };
    case 'Stop':
      return { ...common, name: 'Stop' };
    case 'SessionStart':
      return { ...common, name: 'SessionStart', source: readName(value, 'source') ?? 'startup' };
    case 'SessionEnd':
      return { ...common, name: 'SessionEnd', reason: readName(value, 'reason') || 'unknown' };
    default:
      return undefined;
  }
}

const NAME_LENGTH_MAX = 256;
const PATH_LENGTH_MAX = 4096;

/** A name that the client gives: well-formed, short and no secret, because it is stored with every event. */
function readName(value: Json, key: string): string | undefined {
  const name = readString(value, key);
  return name === undefined ? undefined : safeName(cleanText(cutText(name, NAME_LENGTH_MAX)));
}

/** A path; undefined when no file system has one of this name. */
function readPath(value: Json, key: string): string | undefined {
  const path = readString(value, key);
  const isPossible = path && path.length <= PATH_LENGTH_MAX && !path.includes('\0') && path.isWellFormed();
  return isPossible ? path : undefined;
}

/** An absolute path as the client names its transcripts: nothing else is ever opened for one. */
function readTranscript(value: Json, key: string): string | undefined {
  const path = readPath(value, key);
  return path?.endsWith('.jsonl') && isAbsolutePath(path) ? path : undefined;
}

function isUnfinished(value: Json, { input }: ToolCall): boolean {
  const response = readRecord(value, 'tool_response');
  const isBackground = input.run_in_background === true || response.backgroundTaskId !== undefined;
  return isBackground || response.interrupted === true;
}

const OUTPUT_LENGTH_MAX = 2000;

/** What a command printed; empty for other tools, and for what is too long to be a message of failure. */
function printedOf(response: Json): string {
  const printed = [readString(response, 'stdout'), readString(response, 'stderr')].filter(Boolean).join('\n');
  return printed.length > OUTPUT_LENGTH_MAX ? '' : printed;
}

function toolCall(value: Json): ToolCall | undefined {
  const tool = readName(value, 'tool_name');
  if (!tool) return undefined;
  return {
    tool,
    input: readRecord(value, 'tool_input'),
    toolUseId: readName(value, 'tool_use_id') || null,
    remark: readString(value, 'remark') ?? null,
  };
}

const BATCH_CALLS_MAX = 100;

function batchCalls(value: Json): (ToolCall & { response: string })[] {
  const calls = Array.isArray(value.tool_calls) ? value.tool_calls.slice(0, BATCH_CALLS_MAX) : [];
  return calls.filter(isRecord).flatMap((raw) => {
    const call = toolCall(raw);
    const response = readString(raw, 'tool_response');
    return call && response !== undefined ? [{ ...call, response }] : [];
  });
}
