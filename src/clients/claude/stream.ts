import { type Json, readRecord, readRecords, readString, readTexts } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent } from '../client.ts';
import {
  addUsage,
  cutWord,
  mainModel,
  priced,
  readAmount,
  StreamReader,
  sinceBefore,
  textAt,
  usageIn,
  withCache,
  wordAt,
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
    return this.byType(line.type, {
      system: () => this.#notice(line),
      assistant: () => this.#message(line, readRecord(line, 'message')),
      user: () => blocksOf(line).flatMap(userEvent),
      result: () => this.#result(line),
    });
  }

  #notice(line: Json): readonly AgentEvent[] {
    return this.byType(line.subtype, {
      init: () => this.begin(readString(line, 'session_id'), readString(line, 'model') ?? null),
      permission_denied: () => [{ kind: 'refused', id: readString(line, 'tool_use_id') ?? null }],
      api_retry: () =>
        this.warn(`the service is asked again: ${readString(line, 'error') ?? 'it did not answer'}`),
      model_fallback: () => {
        const [from, to] = [wordIn(line, 'original_model'), wordIn(line, 'fallback_model')];
        return this.warn(`the model ${from} was replaced by ${to}`);
      },
      compact_boundary: () => this.warn('the conversation was shortened to fit the model'),
    });
  }

  /** A line of an answer of the model: one or more blocks of a message. */
  #message(line: Json, message: Json): AgentEvent[] {
    // The client speaks in the model's place when the service refuses.
    if (line.error !== undefined || message.model === '<synthetic>') return this.#clientsWords(line);
    const messageId = wordAt(message, 'id');
    const goesOn = messageId === this.#messageId;
    if (!goesOn) this.#settled = this.usage;
    this.#messageId = messageId;
    // The output is counted at the start of the message, so it is next to nothing; the result knows better.
    const usage = withCache(usageIn(readRecord(message, 'usage'), OF_MESSAGE));
    this.usage = addUsage(this.#settled, { ...usage, model: wordAt(message, 'model') || null });
    const blocks = blocksOf(line);
    const said = blocks.map((block) => (block.type === 'text' ? textAt(block, 'text') : '')).join('');
    if (said !== '') this.say(said, goesOn);
    this.hasWorked = true;
    return [...blocks.flatMap(blockEvent), { kind: 'usage', usage: this.usage }];
  }

  #clientsWords(line: Json): AgentEvent[] {
    const text = textOf(blocksOf(line));
    if (line.error !== undefined) {
      this.problem = cutWord(text);
      this.isModelRefused ||= line.error === 'model_not_found';
    }
    return this.warn(text);
  }

  #result(line: Json): AgentEvent[] {
    const resultId = wordAt(line, 'uuid');
    if (resultId !== '' && resultId === this.#resultId) return [];
    this.#resultId = resultId;
    this.#messageId = null;
    this.sessionId = wordAt(line, 'session_id') || this.sessionId;
    const problem = problemOf(line);
    const said = textAt(line, 'result');
    if (problem === undefined && said.trim() !== '') this.say(said);
    this.usage = this.#turnUsage(line);
    this.#reported = this.usage;
    return [{ kind: 'usage', usage: this.usage }, this.end(problem === undefined ? null : cutWord(problem))];
  }

  /**
   * Of the turn, by its result. What models took since the last result is in a record of its own, by model, those asked
   * on the side included; the client's totals go on over the whole session. Releases without that record say less.
   */
  #turnUsage(result: Json): Usage {
    const said = this.usage;
    const byModel = readRecord(result, 'model_usage_since_last_result');
    const models = Object.keys(byModel);
    if (models.length > 0) {
      const parts = models.map((model) => withCache(usageIn(readRecord(byModel, model), OF_MODEL)));
      const model = mainModel(byModel, 'outputTokens') ?? said.model;
      return { ...parts.reduce(addUsage, this.#reported), model };
    }
    const tokens = withCache(usageIn(readRecord(result, 'usage'), OF_MESSAGE));
    // After an error the client may say zero where the messages say more.
    const known = (tokens.inputTokens ?? -1) >= (said.inputTokens ?? -1) ? tokens : said;
    const model = mainModel(readRecord(result, 'modelUsage'), 'outputTokens') ?? said.model;
    const costUsd = sinceBefore(readAmount(result, 'total_cost_usd'), this.start.before.costUsd);
    return { ...priced(known, costUsd), model };
  }
}

/** What speaks against a good end, in the client's words where it has any. */
function problemOf(line: Json): string | undefined {
  const subtype = readString(line, 'subtype');
  const said = readString(line, 'result');
  if (subtype !== 'success')
    return readTexts(line.errors)[0] ?? said ?? `the client reports ${subtype ?? 'no success'}`;
  if (line.is_error !== false) return said ?? 'the client reports an error';
  if (line.num_turns === 0) return 'the client answered by itself, without the model';
  const stop = readString(line, 'stop_reason') ?? 'end_turn';
  return stop === 'end_turn' || stop === 'stop_sequence' ? undefined : `the model stopped early: ${stop}`;
}

function blocksOf(line: Json): Json[] {
  const { content } = readRecord(line, 'message');
  return typeof content === 'string' ? [{ type: 'text', text: content }] : readRecords(content);
}

function blockEvent(block: Json): AgentEvent[] {
  if (block.type === 'text') return [{ kind: 'text', text: textAt(block, 'text'), isPiece: true }];
  if (block.type === 'thinking' && textAt(block, 'thinking') !== '')
    return [{ kind: 'reasoning', text: textAt(block, 'thinking') }];
  if (block.type !== 'tool_use') return [];
  const [id, tool] = [textAt(block, 'id'), textAt(block, 'name')];
  return [{ kind: 'tool-call', id, tool, input: readRecord(block, 'input') }];
}

function userEvent(block: Json): AgentEvent[] {
  if (block.type === 'text') return [{ kind: 'user', text: textAt(block, 'text') }];
  if (block.type !== 'tool_result') return [];
  const { content, is_error } = block;
  const text = typeof content === 'string' ? content : textOf(readRecords(content));
  const id = textAt(block, 'tool_use_id');
  return [{ kind: 'tool-result', id, tool: null, isError: is_error === true, text }];
}

function textOf(blocks: readonly Json[]): string {
  return blocks.flatMap((block) => readString(block, 'text') || []).join('\n');
}

const OF_MESSAGE = [
  ...['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
];
const OF_MODEL = [
  ...['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens', 'costUSD'],
];
