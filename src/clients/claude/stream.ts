import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent } from '../client.ts';
import {
  addUsage,
  cutWord,
  mainModel,
  readAmount,
  StreamReader,
  sinceBefore,
  sum,
  wordIn,
} from '../reading.ts';

/** What Claude Code says of a turn, one JSON object on each line (`--output-format stream-json --verbose`). */
export class ClaudeReader extends StreamReader {
  /** The message that is being said: it comes in as many lines as it has blocks, each with all of its usage. */
  #messageId: string | null = null;
  /** The usage of the messages before it. */
  #settled: Usage = NO_USAGE;
  /** What the results so far speak for: of a turn that goes on after one, the next speaks for the rest. */
  #reported: Usage = NO_USAGE;
  /** The result that was counted last. */
  #resultId: string | null = null;

  protected step(line: Json): readonly AgentEvent[] {
    // Of an agent of the client's own, which a child cannot have: its words would not be the turn's.
    if (typeof line.parent_tool_use_id === 'string') return [];
    switch (line.type) {
      case 'system':
        return this.#system(line);
      case 'assistant':
        return isModels(line) ? this.#message(line) : this.#clientsWords(line);
      case 'user':
        return blocksOf(line).flatMap(userEvent);
      case 'result':
        return this.#result(line);
      default:
        return [];
    }
  }

  #system(line: Json): AgentEvent[] {
    const warning = (text: string): AgentEvent[] => [{ kind: 'warning', text }];
    switch (line.subtype) {
      case 'init':
        return this.begin(readString(line, 'session_id'), readString(line, 'model') ?? null);
      case 'permission_denied':
        return [{ kind: 'refused', id: readString(line, 'tool_use_id') ?? null }];
      case 'api_retry':
        return warning(`the service is asked again: ${readString(line, 'error') ?? 'it did not answer'}`);
      case 'model_fallback': {
        const [from, to] = [wordIn(line, 'original_model'), wordIn(line, 'fallback_model')];
        return warning(`the model ${from} was replaced by ${to}`);
      }
      case 'compact_boundary':
        return warning('the conversation was shortened to fit the model');
      default:
        return [];
    }
  }

  /** A line of an answer of the model: one or more blocks of a message. */
  #message(line: Json): AgentEvent[] {
    const message = readRecord(line, 'message');
    const messageId = cutWord(readString(message, 'id') ?? '');
    const goesOn = messageId === this.#messageId;
    if (!goesOn) this.#settled = this.usage;
    this.#messageId = messageId;
    this.usage = addUsage(this.#settled, usageOf(message));
    const blocks = blocksOf(line);
    const texts = blocks
      .filter(({ type }) => type === 'text')
      .map((block) => readString(block, 'text') ?? '');
    const said = texts.join('');
    if (said !== '') this.say(said, { goesOn });
    this.hasWorked = true;
    return [...blocks.flatMap(blockEvent), { kind: 'usage', usage: this.usage }];
  }

  #clientsWords(line: Json): AgentEvent[] {
    const text = textOf(blocksOf(line));
    if (line.error !== undefined) {
      this.problem = cutWord(text);
      this.isModelRefused ||= line.error === 'model_not_found';
    }
    return [{ kind: 'warning', text }];
  }

  #result(line: Json): AgentEvent[] {
    const resultId = cutWord(readString(line, 'uuid') ?? '');
    if (resultId !== '' && resultId === this.#resultId) return [];
    this.#resultId = resultId;
    this.#messageId = null;
    this.sessionId = cutWord(readString(line, 'session_id') ?? '') || this.sessionId;
    const problem = problemOf(line);
    const said = readString(line, 'result') ?? '';
    if (problem === undefined && said.trim() !== '') this.say(said, { goesOn: false });
    const known = { said: this.usage, reported: this.#reported, before: this.start.before };
    this.usage = turnUsage(line, known);
    this.#reported = this.usage;
    return [{ kind: 'usage', usage: this.usage }, this.end(problem === undefined ? null : cutWord(problem))];
  }
}

/** Whether the message is the model's; the client speaks in its place when the service refuses. */
function isModels(line: Json): boolean {
  return line.error === undefined && readString(readRecord(line, 'message'), 'model') !== '<synthetic>';
}

/** What speaks against a good end, in the client's words where it has any. */
function problemOf(line: Json): string | undefined {
  const subtype = readString(line, 'subtype');
  const said = readString(line, 'result');
  if (subtype !== 'success') {
    const errors = Array.isArray(line.errors) ? line.errors.filter((error) => typeof error === 'string') : [];
    return errors[0] ?? said ?? `the client reports ${subtype ?? 'no success'}`;
  }
  if (line.is_error !== false) return said ?? 'the client reports an error';
  if (line.num_turns === 0) return 'the client answered by itself, without the model';
  const stop = readString(line, 'stop_reason') ?? 'end_turn';
  return stop === 'end_turn' || stop === 'stop_sequence' ? undefined : `the model stopped early: ${stop}`;
}

function blocksOf(line: Json): Json[] {
  const { content } = readRecord(line, 'message');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function blockEvent(block: Json): AgentEvent[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: readString(block, 'text') ?? '', isPiece: true }];
    case 'tool_use': {
      const id = readString(block, 'id') ?? '';
      const tool = readString(block, 'name') ?? '';
      return [{ kind: 'tool-call', id, tool, input: readRecord(block, 'input') }];
    }
    default:
      return [];
  }
}

function userEvent(block: Json): AgentEvent[] {
  if (block.type === 'text') return [{ kind: 'user', text: readString(block, 'text') ?? '' }];
  if (block.type !== 'tool_result') return [];
  const { content } = block;
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  return [
    {
      kind: 'tool-result',
      id: readString(block, 'tool_use_id') ?? '',
      tool: null,
      isError: block.is_error === true,
      text: typeof content === 'string' ? content : textOf(blocks),
    },
  ];
}

function textOf(blocks: readonly Json[]): string {
  return blocks.flatMap((block) => readString(block, 'text') || []).join('\n');
}

/** Of a message. Its output is counted at its start, so it is next to nothing; the result knows better. */
function usageOf(message: Json): Usage {
  const model = readString(message, 'model');
  return {
    ...tokensOf(readRecord(message, 'usage'), MESSAGE_KEYS),
    model: model === undefined ? null : cutWord(model),
  };
}

type Known = {
  /** By the messages of the turn. */
  readonly said: Usage;
  /** By earlier results of the turn. */
  readonly reported: Usage;
  /** By the turns before, of the same session. */
  readonly before: Usage;
};

/**
 * Of the turn, by its result. What models took since the last result is in a record of its own, by model, those asked on
 * the side included; the client's totals go on over the whole session. Releases without that record say less.
 */
function turnUsage(result: Json, { said, reported, before }: Known): Usage {
  const byModel = readRecord(result, 'model_usage_since_last_result');
  const models = Object.keys(byModel);
  if (models.length > 0) {
    const parts = models.map((model) => modelUsage(readRecord(byModel, model)));
    const all = addUsage(reported, parts.reduce(addUsage, NO_USAGE));
    return { ...all, model: mainModel(byModel, MODEL_KEYS.output) ?? said.model };
  }
  const costUsd = sinceBefore(readAmount(result, 'total_cost_usd'), before.costUsd);
  const tokens = tokensOf(readRecord(result, 'usage'), MESSAGE_KEYS);
  return {
    // After an error the client may say zero where the messages say more.
    ...((tokens.inputTokens ?? -1) >= (said.inputTokens ?? -1) ? tokens : said),
    costUsd,
    costSource: costUsd === null ? null : 'client',
    model: mainModel(readRecord(result, 'modelUsage'), MODEL_KEYS.output) ?? said.model,
  };
}

const MESSAGE_KEYS = {
  ...{ input: 'input_tokens', output: 'output_tokens' },
  ...{ cacheRead: 'cache_read_input_tokens', cacheWrite: 'cache_creation_input_tokens' },
} as const;

const MODEL_KEYS = {
  ...{ input: 'inputTokens', output: 'outputTokens' },
  ...{ cacheRead: 'cacheReadInputTokens', cacheWrite: 'cacheCreationInputTokens' },
} as const;

function tokensOf(counts: Json, keys: Readonly<Record<keyof typeof MESSAGE_KEYS, string>>): Usage {
  const cacheReadTokens = readAmount(counts, keys.cacheRead);
  const cacheWriteTokens = readAmount(counts, keys.cacheWrite);
  return {
    ...NO_USAGE,
    inputTokens: sum([readAmount(counts, keys.input), cacheReadTokens, cacheWriteTokens]),
    outputTokens: readAmount(counts, keys.output),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

function modelUsage(counts: Json): Usage {
  const costUsd = readAmount(counts, 'costUSD');
  return { ...tokensOf(counts, MODEL_KEYS), costUsd, costSource: costUsd === null ? null : 'client' };
}
