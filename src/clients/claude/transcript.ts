import { isRecord, type Json, readRecord, readRecords, readString } from '../../core/guards.ts';
import { cutText } from '../../core/text.ts';
import { charsIn, type HookEvent } from '../../hooks/event.ts';
import { parseHookEvent } from '../../hooks/hooks.ts';

/**
 * The client's transcripts: one JSON object a line, which here becomes the events that its hooks were called with, or
 * would have been. Pure. What the lines look like was recorded from the client, versions 2.0.76 to 2.1.328.
 */

/** Whose transcript a file is, as far as its name and what lies beside it say. */
export type TranscriptOwner = {
  readonly sessionId: string;
  /** Null in the transcript of a main session. */
  readonly agentId: string | null;
  readonly agentType: string | null;
};

export type Call = {
  readonly tool: string;
  readonly input: Json;
  /** What the agent said before it. */
  readonly remark: string;
  /** Of its whole input, where `input` is less. */
  readonly chars?: number;
  /** Where the shell stood before it; the entry of its result says where it stands after. */
  readonly cwd: unknown;
};

const OPEN_CALLS_MAX = 1000;

/**
 * Calls of tools whose result has not come yet, by their ids, and where they stand, oldest first. A result whose call is not among them has the lines before this part
 * read, once, if `readEarlier` is given.
 */
export class OpenCalls {
  /** Where the line begins that is being read. */
  line = 0;
  #said: { readonly text: string; readonly line: number } | undefined;
  readonly #opened = new Map<string, { readonly call: Call; readonly line: number }>();
  #readEarlier: (() => OpenCalls) | undefined;

  constructor(readEarlier?: () => OpenCalls) {
    this.#readEarlier = readEarlier;
  }

  /** The agent says something; the call that follows is made for that. */
  say(text: string): void {
    this.#said = { text, line: this.line };
  }

  /** A call is made. */
  open(id: string, made: Omit<Call, 'remark'>): void {
    const call = { ...made, remark: this.#said?.text ?? '' };
    this.#opened.delete(id);
    this.#opened.set(id, { call, line: this.#said?.line ?? this.line });
    this.#said = undefined;
    const [oldest] = this.#opened.keys();
    if (this.#opened.size > OPEN_CALLS_MAX && oldest !== undefined) this.#opened.delete(oldest);
  }

  /** The call with this id, which is closed by it; undefined when there is none. */
  close(id: string): Call | undefined {
    if (!this.#opened.has(id)) this.#takeEarlier();
    const opened = this.#opened.get(id);
    this.#opened.delete(id);
    return opened?.call;
  }

  /** What was said before the call with this id. */
  remarkOf(id: string): string | undefined {
    return this.#opened.get(id)?.call.remark;
  }

  /** Where the first line stands, from this place on, that what comes is not understood without. */
  oldestSince(place: number): number {
    let oldest = Number.POSITIVE_INFINITY;
    if (this.#said !== undefined && this.#said.line >= place) oldest = this.#said.line;
    for (const { line } of this.#opened.values()) if (line >= place && line < oldest) oldest = line;
    return oldest;
  }

  #takeEarlier(): void {
    const earlier = this.#readEarlier?.();
    this.#readEarlier = undefined;
    if (earlier === undefined) return;
    for (const [id, opened] of earlier.#opened) if (!this.#opened.has(id)) this.#opened.set(id, opened);
  }
}

/** Why a line that looks like an event stands for none. */
export type PassedOverKind = 'refusedCalls' | 'resultsWithoutCall' | 'entriesWithoutTime';

/** One thing that happened, or the reason why a line stands for none although it looks like it. */
export type Happening =
  | {
      readonly kind: 'event';
      /** ISO 8601, UTC, milliseconds. */
      readonly ts: string;
      readonly event: HookEvent;
      /** Typed while the agent worked: its hook ran when the agent came to it. */
      readonly isQueued: boolean;
    }
  | { readonly kind: 'passed-over'; readonly why: PassedOverKind };

const NOTHING: readonly Happening[] = [];

/** What happened in one line of a transcript, in order. */
export function readEntry(entry: unknown, owner: TranscriptOwner, calls: OpenCalls): readonly Happening[] {
  if (!isRecord(entry)) return NOTHING;
  switch (entry.type) {
    case 'assistant':
      openCalls(entry, calls);
      return hasStopped(entry, owner)
        ? happenings(entry, owner, { hook_event_name: 'SubagentStop' })
        : NOTHING;
    case 'user': {
      const results = blocksOf(entry).filter((block) => block.type === 'tool_result');
      const isAlone = results.length === 1;
      if (results.length > 0)
        return results.flatMap((result) => readResult(result, entry, { owner, calls, isAlone }));
      return owner.agentId === null && isOfTheUser(entry) ? readPrompt(entry.message, entry, owner) : NOTHING;
    }
    case 'attachment':
      return readQueued(entry, owner);
    default:
      return NOTHING;
  }
}

const INPUT_LENGTH_MAX = 16 * 1024;

function openCalls(entry: Json, calls: OpenCalls): void {
  for (const block of blocksOf(entry)) {
    if (block.type === 'text') calls.say(readString(block, 'text') ?? '');
    const call = callIn(block);
    if (call) calls.open(call.id, { tool: call.tool, ...inputOf(call.input), cwd: entry.cwd });
  }
}

const inputOf = (input: Json) => ({ input: briefInput(input), chars: charsIn(input) });

/** Nothing behind this looks at what is nested or at more of a text: a file's whole content need not be held. */
function briefInput(input: Json): Json {
  const brief: Json = {};
  for (const [key, value] of Object.entries(input)) {
    if (typeof value === 'string') brief[key] = cutText(value, INPUT_LENGTH_MAX);
    else if (typeof value !== 'object') brief[key] = value;
  }
  return brief;
}

/** A sub-agent's last message; one that the service refused is none. Versions that say no reason are not known to. */
function hasStopped(entry: Json, owner: TranscriptOwner): boolean {
  const { stop_reason: reason } = readRecord(entry, 'message');
  return owner.agentId !== null && reason === 'end_turn' && entry.isApiErrorMessage !== true;
}

/** `isAlone`: the entry has no other result. */
type ResultContext = {
  readonly owner: TranscriptOwner;
  readonly calls: OpenCalls;
  readonly isAlone: boolean;
};

function readResult(result: Json, entry: Json, context: ResultContext): readonly Happening[] {
  const { owner, calls, isAlone } = context;
  const id = readString(result, 'tool_use_id') ?? '';
  const call = calls.close(id);
  if (call === undefined) return [{ kind: 'passed-over', why: 'resultsWithoutCall' }];
  const text = textIn(result.content);
  // Of a command that changes the shell's directory the entry of its result says where that stands after it. For others this
  // entry is the one to trust; that of the call may be older than the call before it.
  const movesTheShell = /\b(?:cd|pushd|popd)\b/.test(readString(call.input, 'command') ?? '');
  const payload = {
    tool_name: call.tool,
    tool_input: call.input,
    tool_use_id: id,
    remark: call.remark,
    chars: (call.chars ?? 0) + text.length,
    ...(movesTheShell && call.cwd !== undefined ? { cwd: call.cwd } : {}),
  };
  const isInBackground = text.startsWith('Command running in background with ID');
  // Sub-agents' transcripts have only the text of a result.
  const response: Json =
    isAlone && isRecord(entry.toolUseResult)
      ? { ...entry.toolUseResult, stdout: text, stderr: '' }
      : isInBackground
        ? { backgroundTaskId: '' }
        : { stdout: text };
  // A command that was stopped has returned, for the hooks, although the model is told of an error.
  if (result.is_error !== true || response.interrupted === true)
    return happenings(entry, owner, { ...payload, hook_event_name: 'PostToolUse', tool_response: response });
  if (isRefusal(entry, text)) return [{ kind: 'passed-over', why: 'refusedCalls' }];
  // What the client itself rejects reaches the hooks with the batch of calls, not alone.
  const failure = text.startsWith('<tool_use_error>')
    ? { hook_event_name: 'PostToolBatch', tool_calls: [{ ...payload, tool_response: text }] }
    : { ...payload, hook_event_name: 'PostToolUseFailure', error: text };
  return happenings(entry, owner, failure);
}

/** How clients that do not mark a refused or interrupted call word it. The hooks never see these. */
const REFUSAL =
  /^(?:The user doesn't want to (?:proceed with this tool use|take this action right now)|Claude requested permissions to |Permission (?:to|for) .{0,4000} has been denied|(?:This|sed) command requires approval|PreToolUse:\S{1,200} hook (?:error|stopped)|Hook \S{1,200} (?:blocked|denied)|\[Request interrupted by user)/s;

function isRefusal(entry: Json, text: string): boolean {
  if (entry.toolDenialKind !== undefined) return true;
  if (readRecord(entry, 'permissionDecision').decision === 'reject') return true;
  const isStopped = text.endsWith('<error>Command was aborted before completion</error>');
  return isStopped || entry.toolUseResult === 'User rejected tool use' || REFUSAL.test(text);
}

/** Who, beside the user, submits prompts. */
const MACHINES = new Set([
  ...['auto-continuation', 'coordinator', 'observer-activity', 'peer', 'plugin', 'task-notification'],
]);

/** Whether the user has typed what the record holds. */
export function isOfTheUser(entry: Json): boolean {
  const isMachine = entry.promptSource === 'system' || MACHINES.has(String(readRecord(entry, 'origin').kind));
  const isInserted =
    entry.isMeta === true || entry.isCompactSummary === true || entry.isVisibleInTranscriptOnly === true;
  return !isMachine && !isInserted && entry.isSidechain !== true;
}

/** What the client writes into the conversation where a prompt would stand: commands of its own and what they printed. */
const NO_PROMPT =
  /^\s*(?:<(?:local-command-(?:stdout|stderr|caveat)|command-name|command-args|bash-(?:input|stdout|stderr)|user-memory-input|task-notification|teammate-message|system-reminder)\b|\[Request interrupted by user|This session is being continued from a previous conversation that ran out of context)/;
/** What editors and the client put beside the words of the user. */
const BESIDE_PROMPT = /^\s*<(?:system-reminder|ide_\w+)\b/;
/** A command of the user's own, as the client hands it on; that of the client itself begins with its name. */
const OWN_COMMAND =
  /^\s*<command-message>[\s\S]*?<command-name>\s*(\/?)([^<\s]+)\s*<\/command-name>(?:[\s\S]*?<command-args>([\s\S]*)<\/command-args>)?/;

/** The words of the user; empty when there are none. */
export function promptIn(message: unknown): string {
  const content = isRecord(message) ? message.content : undefined;
  const text = typeof content === 'string' ? content : textIn(content, (part) => !BESIDE_PROMPT.test(part));
  const [isCommand, , name, words = ''] = OWN_COMMAND.exec(text) ?? [];
  if (isCommand !== undefined) return `/${name} ${words}`.trim();
  return NO_PROMPT.test(text) ? '' : text;
}

function readPrompt(message: unknown, entry: Json, owner: TranscriptOwner): readonly Happening[] {
  const prompt = promptIn(message);
  return prompt === '' ? NOTHING : happenings(entry, owner, { hook_event_name: 'UserPromptSubmit', prompt });
}

/** A prompt that was typed while the agent worked, and that it was given in the middle of its turn. */
function readQueued(entry: Json, owner: TranscriptOwner): readonly Happening[] {
  const content = owner.agentId === null && isOfTheUser(entry) ? queuedPrompt(entry) : undefined;
  const found = readPrompt({ content }, entry, owner);
  return found.map((one) => (one.kind === 'event' ? { ...one, isQueued: true } : one));
}

/** The content of such a prompt; undefined when the record holds none. */
export function queuedPrompt(entry: Json): unknown {
  const queued = readRecord(entry, 'attachment');
  const isPrompt = queued.type === 'queued_command' && (queued.commandMode ?? 'prompt') === 'prompt';
  return isPrompt && isOfTheUser(queued) ? queued.prompt : undefined;
}

/** The hooks' own reading of what the client would have sent them: one event, or none. */
function happenings(entry: Json, owner: TranscriptOwner, payload: Json): readonly Happening[] {
  const ts = timeOf(entry);
  if (ts === undefined) return [{ kind: 'passed-over', why: 'entriesWithoutTime' }];
  const agentId = readString(entry, 'agentId') ?? owner.agentId;
  const event = parseHookEvent({
    session_id: readString(entry, 'sessionId') || owner.sessionId,
    cwd: entry.cwd,
    agent_id: agentId,
    agent_type: agentId === null ? null : (owner.agentType ?? readString(entry, 'attributionAgent') ?? null),
    ...payload,
  });
  return event === undefined ? NOTHING : [{ kind: 'event', ts, event, isQueued: false }];
}

/** The entry's own time; undefined when it has none that can be read. */
export function timeOf(entry: Json): string | undefined {
  const time = new Date(readString(entry, 'timestamp') ?? '');
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** What a record's message consists of, unless that is one text. */
export function blocksOf(entry: Json): Json[] {
  return readRecords(readRecord(entry, 'message').content);
}

/** The call that a block makes; undefined when it makes none. */
export function callIn(block: Json) {
  const [id, tool] = [readString(block, 'id'), readString(block, 'name')];
  return block.type === 'tool_use' && id && tool
    ? { id, tool, input: readRecord(block, 'input') }
    : undefined;
}

/** The text of a message's content: a string, or blocks among which are texts. */
export function textIn(content: unknown, isWanted: (text: string) => boolean = () => true): string {
  if (typeof content === 'string') return content;
  const texts = readRecords(content).flatMap(
    (block) => (block.type === 'text' && readString(block, 'text')) || [],
  );
  return texts.filter(isWanted).join('\n');
}
