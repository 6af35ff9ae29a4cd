import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent } from '../client.ts';
import { cutWord, readAmount, StreamReader, sinceBefore, wordIn } from '../reading.ts';

/** More calls at once there are hardly ever; of one that is forgotten the call is told of twice. */
const OPEN_MAX = 64;
const STDERR_LENGTH_MAX = 64 * 1024;

/**
 * What Codex says of a turn, one JSON object on each line (`codex exec --json`). Not in it: calls that the client or its
 * sandbox refuses at once, commands that end at once within the JavaScript of newer models, and the model's name. Tokens are
 * counted over the thread, also over the turns before: those are taken off.
 */
export class CodexReader extends StreamReader {
  /** The calls that have been told of, and whose end has not. */
  #open: readonly string[] = [];

  /** What the client says to a person, without the log that it writes beside. */
  protected override atEnd(stderr: string) {
    const lines = stderr.slice(-STDERR_LENGTH_MAX).split('\n');
    const said = lines.filter((line) => !/^(?:\d{4}-\d\d-\d\dT\S+ +[A-Z]|WARNING: )/.test(line));
    return super.atEnd(said.join('\n'));
  }

  protected step(line: Json): readonly AgentEvent[] {
    switch (line.type) {
      case 'thread.started':
        return this.begin(readString(line, 'thread_id'), null);
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return this.#item(readRecord(line, 'item'), line.type === 'item.completed');
      case 'error': // May be of an attempt after which the client tries again: only the end of the turn decides.
        this.problem = cutWord(readString(line, 'message') ?? '');
        return [{ kind: 'warning', text: this.problem }];
      case 'turn.completed':
        this.usage = usageSince(this.start.before, readRecord(line, 'usage'));
        return [{ kind: 'usage', usage: this.usage }, this.end(null)];
      case 'turn.failed': {
        const problem = cutWord(readString(readRecord(line, 'error'), 'message') ?? 'the turn failed');
        this.isModelRefused = isAboutModel(problem);
        return [this.end(problem)];
      }
      default:
        return [];
    }
  }

  #item(item: Json, isDone: boolean): AgentEvent[] {
    switch (item.type) {
      case 'agent_message': {
        const text = readString(item, 'text') ?? '';
        if (!isDone || text === '') return [];
        this.say(text, { goesOn: false });
        this.hasWorked = true;
        return [{ kind: 'text', text, isPiece: false }];
      }
      case 'reasoning':
        this.hasWorked ||= isDone;
        return [];
      case 'error':
        return [{ kind: 'warning', text: readString(item, 'message') ?? '' }];
      default: {
        const call = callOf(item);
        return call === undefined ? [] : this.#call(call, isDone);
      }
    }
  }

  /** Some calls are told of only once they are over. */
  #call({ id, tool, input, isError, text }: Call, isDone: boolean): AgentEvent[] {
    const isOpen = this.#open.includes(id);
    this.hasWorked = true;
    if (isDone) this.#open = this.#open.filter((one) => one !== id);
    else if (!isOpen) this.#open = [...this.#open, id].slice(-OPEN_MAX);
    return [
      ...(isOpen ? [] : [{ kind: 'tool-call', id, tool, input } as const]),
      ...(isDone ? [{ kind: 'tool-result', id, tool, isError, text } as const] : []),
    ];
  }
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

type Call = NonNullable<ReturnType<typeof callOf>>;

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
