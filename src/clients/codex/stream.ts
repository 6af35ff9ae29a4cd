import { type Json, readRecord, readRecords, readString } from '../../core/guards.ts';
import type { AgentEvent } from '../client.ts';
import { codeIn, cutWord, StreamReader, textAt, usageIn, usageSince, wordAt, wordIn } from '../reading.ts';

/** More calls at once there are hardly ever; of one that is forgotten the call is told of twice. */
const OPEN_MAX = 64;
const TOKENS = ['input_tokens', 'output_tokens', 'cached_input_tokens', 'cache_write_input_tokens'];

/**
 * What Codex says of a turn, one JSON object on each line (`codex exec --json`). Not in it: calls that the client or its
 * sandbox refuses at once, commands that end at once within the JavaScript of newer models, and the model's name. Tokens are
 * counted over the thread, also over the turns before: those are taken off.
 */
export class CodexReader extends StreamReader {
  /** The calls that have been told of, and whose end has not. */
  #open: readonly string[] = [];

  /** What the client says to a person, without the log that it writes beside. */
  protected override atEnd(stderr: string): string {
    const lines = stderr.split('\n');
    return lines.filter((line) => !/^(?:\d{4}-\d\d-\d\dT\S+ +[A-Z]|WARNING: )/.test(line)).join('\n');
  }

  protected step(line: Json): readonly AgentEvent[] {
    const item = readRecord(line, 'item');
    return this.byType(line.type, {
      'thread.started': () => this.begin(readString(line, 'thread_id'), null),
      'item.started': () => this.#item(item, false),
      'item.updated': () => this.#item(item, false),
      'item.completed': () => this.#item(item, true),
      // May be of an attempt after which the client tries again: only the end of the turn decides.
      error: () => {
        this.problem = wordAt(line, 'message');
        return this.warn(this.problem);
      },
      'turn.completed': () => {
        // Of the whole thread; the part of a turn that was killed comes with the next.
        this.usage = usageSince(this.start.before, usageIn(readRecord(line, 'usage'), TOKENS));
        return [{ kind: 'usage', usage: this.usage }, this.end(null)];
      },
      'turn.failed': () => {
        const problem = cutWord(readString(readRecord(line, 'error'), 'message') ?? 'the turn failed');
        this.isModelRefused = isAboutModel(problem);
        return [this.end(problem)];
      },
    });
  }

  #item(item: Json, isDone: boolean): readonly AgentEvent[] {
    const text = textAt(item, 'text');
    switch (item.type) {
      case 'agent_message':
        if (!isDone || text === '') return [];
        this.say(text);
        return [{ kind: 'text', text, isPiece: false }];
      case 'reasoning':
        this.hasWorked ||= isDone;
        return isDone && text !== '' ? [{ kind: 'reasoning', text }] : [];
      case 'error':
        return this.warn(textAt(item, 'message'));
      default:
        return this.#call(item, isDone);
    }
  }

  /** Some calls are told of only once they are over. */
  #call(item: Json, isDone: boolean): AgentEvent[] {
    const call = callOf(item);
    if (call === undefined) return [];
    const { tool, input, text } = call;
    const id = wordAt(item, 'id');
    const isError = item.status === 'failed' || (tool === 'Bash' && item.status === 'declined');
    const isOpen = this.#open.includes(id);
    this.hasWorked = true;
    if (isDone) this.#open = this.#open.filter((one) => one !== id);
    else if (!isOpen) this.#open = [...this.#open, id].slice(-OPEN_MAX);
    return [
      ...(isOpen ? [] : [{ kind: 'tool-call', id, tool, input } as const]),
      ...(isDone
        ? [{ kind: 'tool-result', id, tool, isError, text, ...codeIn(item.exit_code) } as const]
        : []),
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

/** A call of a tool, under the name that the client's own hooks give it. */
function callOf(item: Json): { tool: string; input: Json; text: string } | undefined {
  switch (item.type) {
    case 'command_execution': {
      const input = { command: commandIn(textAt(item, 'command')) };
      return { tool: 'Bash', input, text: textAt(item, 'aggregated_output') };
    }
    case 'file_change': {
      const changes = readRecords(item.changes).map((one) => `${wordIn(one, 'kind')} ${wordIn(one, 'path')}`);
      return { tool: 'apply_patch', input: { changes: item.changes ?? [] }, text: changes.join('\n') };
    }
    case 'mcp_tool_call': {
      const tool = cutWord(`mcp__${readString(item, 'server')}__${readString(item, 'tool')}`);
      return { tool, input: readRecord(item, 'arguments'), text: answerIn(item) };
    }
    case 'web_search':
      return { tool: 'web_search', input: { query: textAt(item, 'query') }, text: '' };
    case 'todo_list':
      return { tool: 'update_plan', input: { items: item.items ?? [] }, text: '' };
    case 'collab_tool_call':
      return { tool: wordAt(item, 'tool'), input: { prompt: textAt(item, 'prompt') }, text: '' };
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

/** The text of a server's answer, or what went wrong instead. */
function answerIn(item: Json): string {
  const parts = readRecords(readRecord(item, 'result').content);
  const problem = readString(readRecord(item, 'error'), 'message');
  return problem ?? parts.map((part) => textAt(part, 'text')).join('\n');
}
