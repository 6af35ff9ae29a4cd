import { CLIENT_NAMES } from '../core/client-name.ts';
import { type Json, readRecord, readString } from '../core/guards.ts';
import { isAbsolutePath } from '../core/state-paths.ts';
import { cleanText, cutText, safeName } from '../core/text.ts';

/** What every event of the client carries: who and where. */
export type EventBase = {
  readonly name: string;
  readonly sessionId: string;
  readonly cwd: string | undefined;
  /** The main session's transcript, whether it is there or not. */
  readonly transcriptPath?: string | undefined;
  /** Set inside a sub-agent. */
  readonly agentId: string | null;
  readonly agentType: string | null;
  /** The other client's name; undefined: it is Claude Code's. */
  readonly client?: string | undefined;
};

/** What the events of a tool's call have besides. */
export type ToolCall = {
  readonly tool: string;
  readonly input: Json;
  readonly toolUseId: string | null;
  /** What the agent said before the call: only the transcript has it. */
  readonly remark: string | null;
  /** Of its input and of what it answered, in UTF-16 units. */
  readonly chars: number;
};

/** An event of the client, checked once by the hook of its name; nothing behind this looks at raw JSON. */
export type HookEvent = EventBase &
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
    | {
        readonly name: 'SubagentStart';
        /** What it is to do, where whoever starts it says so with the event. */
        readonly task?: string | undefined;
      }
    | { readonly name: 'SubagentStop'; readonly agentTranscriptPath?: string | undefined }
    | { readonly name: 'Stop' }
    | { readonly name: 'SessionStart'; readonly source: string }
    | { readonly name: 'SessionEnd'; readonly reason: string }
  );

export type HookEventOf<Name extends HookEvent['name']> = Extract<HookEvent, { name: Name }>;

/** What other clients call their kinds of agents, by the names that the settings know. */
const AGENT_TYPES: Readonly<Record<string, string>> = {
  'codex default': 'general-purpose',
  'codex worker': 'executor',
  'opencode general': 'general-purpose',
};

/** Reads what every event carries. `name`: the event. What another client names as its transcript is none of Claude Code's. */
export function readEventBase<Name extends string>(value: Json, name: Name): EventBase & { name: Name } {
  const client = otherClientIn(value);
  return {
    name,
    sessionId: readName(value, 'session_id') || 'unknown',
    cwd: readPath(value, 'cwd'),
    transcriptPath: client === undefined ? readTranscript(value, 'transcript_path') : undefined,
    agentId: readName(value, 'agent_id') || null,
    agentType: knownAgentType(readName(value, 'agent_type') ?? null, client),
    client,
  };
}

/** The client whose event it is, where that is not Claude Code; its name becomes part of a path. */
export function otherClientIn({ client }: Json): string | undefined {
  return typeof client === 'string' && client !== 'claude' && CLIENT_NAMES.includes(client)
    ? client
    : undefined;
}

/** The name by which the settings know a client's kind of agents. */
export function knownAgentType<Type extends string | null>(
  type: Type,
  client: string | undefined,
): Type | string {
  return AGENT_TYPES[`${client} ${type}`] ?? type;
}

const NAME_LENGTH_MAX = 256;
const PATH_LENGTH_MAX = 4096;

/** A name that the client gives: well-formed, short and no secret, because it is stored with every event. */
export function readName(value: Json, key: string): string | undefined {
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
export function readTranscript(value: Json, key: string): string | undefined {
  const path = readPath(value, key);
  return path?.endsWith('.jsonl') && isAbsolutePath(path) ? path : undefined;
}

/** Reads a tool's call; undefined when it does not name the tool. */
export function readToolCall(value: Json): ToolCall | undefined {
  const tool = readName(value, 'tool_name');
  if (!tool) return undefined;
  return {
    tool,
    input: readRecord(value, 'tool_input'),
    toolUseId: readName(value, 'tool_use_id') || null,
    remark: readString(value, 'remark') ?? null,
    chars: typeof value.chars === 'number' ? value.chars : charsOf(value),
  };
}

function charsOf({ tool_input, tool_response, error }: Json): number {
  return charsIn(tool_input) + charsIn(tool_response, NOT_GIVEN) + charsIn(error);
}

/** What a client hands to its hooks beside what the model is given: the file before an edit, its changes once more, pictures. */
const NOT_GIVEN = new Set(['originalFile', 'structuredPatch', 'oldString', 'newString', 'gitDiff', 'base64']);
const NOTHING: ReadonlySet<string> = new Set();
const DEPTH_MAX = 8;

/** The length of all texts in a value, in UTF-16 units, but under these keys; deeper than eight levels nothing is counted. */
export function charsIn(value: unknown, leftOut: ReadonlySet<string> = NOTHING, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return 0;
  let chars = 0;
  for (const [key, inner] of Object.entries(value))
    if (!leftOut.has(key)) chars += charsIn(inner, leftOut, depth + 1);
  return chars;
}
