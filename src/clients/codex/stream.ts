import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent, ReaderStart, TurnReader } from '../client.ts';
import {
  cutWord,
  joinText,
  NO_PROGRESS,
  type Progress,
  readAmount,
  type Step,
  sessionStep,
  sinceBefore,
  turnReader,
  wordIn,
} from '../reading.ts';

/**
 * What Codex says of a turn, one JSON object on each line (`codex exec --json`). Not in it: calls that the client or its
 * sandbox refuses at once, commands that end at once within the JavaScript of newer models, and the model's name.
 */

/** `open`: the calls that have been told of, and whose end has not. */
type State = Progress & { readonly open: readonly string[] };

const INITIAL: State = { ...NO_PROGRESS, open: [] };
/** More calls at once there are hardly ever; of one that is forgotten the call is told of twice. */
const OPEN_MAX = 64;
const STDERR_LENGTH_MAX = 64 * 1024;

/** Reads a turn's output. Tokens are counted over the thread, also over the turns before: those are taken off. */
export function codexReader(start: ReaderStart): TurnReader {
  const atEnd = (progress: State, stderr: string) => ({ progress, stderr: withoutLog(stderr) });
  return turnReader(start, { initial: INITIAL, step, atEnd });
}

/** What the client says to a person, without the log that it writes beside. */
function withoutLog(stderr: string): string {
  const lines = stderr.slice(-STDERR_LENGTH_MAX).split('\n');
  return lines.filter((line) => !/^(?:\d{4}-\d\d-\d\dT\S+ +[A-Z]|WARNING: )/.test(line)).join('\n');
}

function step(start: ReaderStart, state: State, line: Json): Step<State> {
  switch (line.type) {
    case 'thread.started':
      return sessionStep(state, readString(line, 'thread_id'), null);
    case 'item.started':
    case 'item.updated':
    case 'item.completed':
      return itemStep(start, state, { when: line.type, item: readRecord(line, 'item') });
    case 'error':
      return errorStep(state, readString(line, 'message') ?? '');
    case 'turn.completed':
      return completedStep(start, state, line);
    case 'turn.failed':
      return failedStep(state, readString(readRecord(line, 'error'), 'message') ?? 'the turn failed');
    default:
      return { state, events: [] };
  }
}

/** May be of an attempt after which the client tries again: only the end of the turn decides. */
function errorStep(state: State, message: string): Step<State> {
  const problem = cutWord(message);
  return { state: { ...state, problem }, events: [{ kind: 'warning', text: problem }] };
}

function completedStep({ before }: ReaderStart, state: State, line: Json): Step<State> {
  const usage = usageSince(before, readRecord(line, 'usage'));
  return {
    state: { ...state, usage, verdict: 'success', problem: null },
    events: [
      { kind: 'usage', usage },
      { kind: 'result', isError: false, text: state.text },
    ],
  };
}

function failedStep(state: State, message: string): Step<State> {
  const problem = cutWord(message);
  const isModelRefused = isAboutModel(problem);
  return {
    state: { ...state, verdict: 'error', problem, isModelRefused },
    events: [{ kind: 'result', isError: true, text: problem }],
  };
}

/** In the words of the services: `no such model`, `The model … does not exist or you do not have access to it`, … */
function isAboutModel(message: string): boolean {
  if (message.includes('model_not_found')) return true;
  const refusal =
    /not found|no such|does ?n[o']t exist|not supported|unsupported|not (?:have )?access|unknown|invalid|not available/i;
  return /\bmodel\b/i.test(message) && refusal.test(message);
}

/** A thread that began before this turn says all that it has used; the part of a turn that was killed comes with the next. */
function usageSince(before: Usage, usage: Json): Usage {
  return {
    ...NO_USAGE,
    inputTokens: sinceBefore(readAmount(usage, 'input_tokens'), before.inputTokens),
    outputTokens: sinceBefore(readAmount(usage, 'output_tokens'), before.outputTokens),
    cacheReadTokens: sinceBefore(readAmount(usage, 'cached_input_tokens'), before.cacheReadTokens),
    cacheWriteTokens: sinceBefore(readAmount(usage, 'cache_write_input_tokens'), before.cacheWriteTokens),
  };
}

function itemStep(
  start: ReaderStart,
  state: State,
  { when, item }: { readonly when: string; readonly item: Json },
): Step<State> {
  const isDone = when === 'item.completed';
  switch (item.type) {
    case 'agent_message': {
      const said = readString(item, 'text') ?? '';
      if (!isDone || said === '') return { state, events: [] };
      const next: State = { ...state, text: joinText(null, said, start), hasWorked: true };
      return { state: next, events: [{ kind: 'text', text: said, isPiece: false }] };
    }
    case 'reasoning':
      return { state: isDone ? { ...state, hasWorked: true } : state, events: [] };
    case 'error':
      return { state, events: [{ kind: 'warning', text: readString(item, 'message') ?? '' }] };
    default: {
      const call = callOf(item);
      return call === undefined ? { state, events: [] } : callStep(state, when, call);
    }
  }
}

type Call = NonNullable<ReturnType<typeof callOf>>;

/** Some calls are told of only once they are over. */
function callStep(state: State, when: string, { id, tool, input, isError, text }: Call): Step<State> {
  const isOpen = state.open.includes(id);
  const begin: AgentEvent = { kind: 'tool-call', id, tool, input };
  if (when !== 'item.completed') {
    const open = isOpen ? state.open : [...state.open, id].slice(-OPEN_MAX);
    return { state: { ...state, open, hasWorked: true }, events: isOpen ? [] : [begin] };
  }
  const open = state.open.filter((one) => one !== id);
  const end: AgentEvent = { kind: 'tool-result', id, tool, isError, text };
  return { state: { ...state, open, hasWorked: true }, events: isOpen ? [end] : [begin, end] };
}

/** A call of a tool, under the name that the client's own hooks give it. */
function callOf(item: Json) {
  const call = { id: cutWord(readString(item, 'id') ?? ''), isError: item.status === 'failed' };
  switch (item.type) {
    case 'command_execution': {
      const isError = call.isError || item.status === 'declined';
      const input = { command: commandIn(readString(item, 'command') ?? '') };
      return { ...call, tool: 'Bash', input, isError, text: readString(item, 'aggregated_output') ?? '' };
    }
    case 'file_change':
      return { ...call, tool: 'apply_patch', input: { changes: item.changes ?? [] }, text: changesIn(item) };
    case 'mcp_tool_call': {
      const tool = `mcp__${readString(item, 'server')}__${readString(item, 'tool')}`;
      return { ...call, tool: cutWord(tool), input: readRecord(item, 'arguments'), text: answerIn(item) };
    }
    case 'web_search':
      return { ...call, tool: 'web_search', input: { query: readString(item, 'query') ?? '' }, text: '' };
    case 'todo_list':
      return { ...call, tool: 'update_plan', input: { items: item.items ?? [] }, text: '' };
    case 'collab_tool_call': {
      const input = { prompt: readString(item, 'prompt') ?? '' };
      return { ...call, tool: cutWord(readString(item, 'tool') ?? ''), input, text: '' };
    }
    default:
      return undefined;
  }
}

/** What the model asked for: the client shows it with the shell around it, `/bin/bash -lc 'npm test'`. */
function commandIn(shown: string): string {
  const inner = /^\S*sh -l?c (.*)$/s.exec(shown)?.[1]?.trim();
  if (inner === undefined) return shown;
  const quoted = /^(['"])(.*)\1$/s.exec(inner)?.[2];
  if (quoted === undefined) return inner;
  return inner.startsWith("'") ? quoted.replaceAll(`'\\''`, "'") : quoted.replace(/\\([\\"$`])/g, '$1');
}

function changesIn({ changes }: Json): string {
  const known = Array.isArray(changes) ? changes.filter(isRecord) : [];
  return known.map((change) => `${wordIn(change, 'kind')} ${wordIn(change, 'path')}`).join('\n');
}

/** The text of a server's answer, or what went wrong instead. */
function answerIn(item: Json): string {
  const problem = readString(readRecord(item, 'error'), 'message');
  const { content } = readRecord(item, 'result');
  if (problem !== undefined || !Array.isArray(content)) return problem ?? '';
  return content.flatMap((part) => (isRecord(part) ? [readString(part, 'text') ?? ''] : [])).join('\n');
}
