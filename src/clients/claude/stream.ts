import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent, ReaderStart, TurnReader } from '../client.ts';
import {
  addUsage,
  cutWord,
  joinText,
  mainModel,
  NO_PROGRESS,
  type Progress,
  readAmount,
  type Step,
  sessionStep,
  sinceBefore,
  sum,
  turnReader,
  wordIn,
} from '../reading.ts';

/** What Claude Code says of the tokens and the cost of a turn. */

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

/** What Claude Code says of a turn, one JSON object on each line (`--output-format stream-json --verbose`). */

type State = Progress & {
  /** The message that is being said: it comes in as many lines as it has blocks, each with all of its usage. */
  readonly messageId: string | null;
  /** The usage of the messages before it. */
  readonly settled: Usage;
  /** What the results so far speak for: of a turn that goes on after one, the next speaks for the rest. */
  readonly reported: Usage;
  /** The result that was counted last. */
  readonly resultId: string | null;
};

const INITIAL: State = {
  ...NO_PROGRESS,
  ...{ messageId: null, settled: NO_USAGE, reported: NO_USAGE, resultId: null },
};

/** Reads a turn's output. */
export function claudeReader(start: ReaderStart): TurnReader {
  return turnReader(start, { initial: INITIAL, step });
}

function step(start: ReaderStart, state: State, line: Json): Step<State> {
  // Of an agent of the client's own, which a child cannot have: its words would not be the turn's.
  if (typeof line.parent_tool_use_id === 'string') return { state, events: [] };
  switch (line.type) {
    case 'system':
      return systemStep(state, line);
    case 'assistant':
      return isModels(line) ? messageStep(start, state, line) : clientStep(state, line);
    case 'user':
      return { state, events: blocksOf(line).flatMap(userEvent) };
    case 'result':
      return resultStep(start, state, line);
    default:
      return { state, events: [] };
  }
}

function systemStep(state: State, line: Json): Step<State> {
  const warn = (text: string): Step<State> => ({ state, events: [{ kind: 'warning', text }] });
  switch (line.subtype) {
    case 'init':
      return sessionStep(state, readString(line, 'session_id'), readString(line, 'model') ?? null);
    case 'permission_denied':
      return { state, events: [{ kind: 'refused', id: readString(line, 'tool_use_id') ?? null }] };
    case 'api_retry':
      return warn(`the service is asked again: ${readString(line, 'error') ?? 'it did not answer'}`);
    case 'model_fallback':
      return warn(
        `the model ${wordIn(line, 'original_model')} was replaced by ${wordIn(line, 'fallback_model')}`,
      );
    case 'compact_boundary':
      return warn('the conversation was shortened to fit the model');
    default:
      return { state, events: [] };
  }
}

/** Whether the message is the model's; the client speaks in its place when the service refuses. */
function isModels(line: Json): boolean {
  return line.error === undefined && readString(readRecord(line, 'message'), 'model') !== '<synthetic>';
}

/** A line of an answer of the model: one or more blocks of a message. */
function messageStep(start: ReaderStart, state: State, line: Json): Step<State> {
  const message = readRecord(line, 'message');
  const messageId = cutWord(readString(message, 'id') ?? '');
  const isNext = messageId !== state.messageId;
  const settled = isNext ? state.usage : state.settled;
  const usage = addUsage(settled, usageOf(message));
  const blocks = blocksOf(line);
  const texts = blocks.filter(({ type }) => type === 'text').map((block) => readString(block, 'text') ?? '');
  const said = texts.join('');
  const text = said === '' ? state.text : joinText(isNext ? null : state.text, said, start);
  return {
    state: { ...state, messageId, settled, usage, text, hasWorked: true },
    events: [...blocks.flatMap(blockEvent), { kind: 'usage', usage }],
  };
}

function clientStep(state: State, line: Json): Step<State> {
  const text = textOf(blocksOf(line));
  const events: AgentEvent[] = [{ kind: 'warning', text }];
  if (line.error === undefined) return { state, events };
  const isModelRefused = state.isModelRefused || line.error === 'model_not_found';
  return { state: { ...state, problem: cutWord(text), isModelRefused }, events };
}

function resultStep(start: ReaderStart, state: State, line: Json): Step<State> {
  const resultId = cutWord(readString(line, 'uuid') ?? '');
  if (resultId !== '' && resultId === state.resultId) return { state, events: [] };
  const problem = problemOf(line);
  const isError = problem !== undefined;
  const said = readString(line, 'result') ?? '';
  const text = isError || said.trim() === '' ? state.text : joinText(null, said, start);
  const usage = turnUsage(line, { said: state.usage, reported: state.reported, before: start.before });
  const next: State = {
    ...state,
    sessionId: cutWord(readString(line, 'session_id') ?? '') || state.sessionId,
    text,
    usage,
    reported: usage,
    resultId,
    messageId: null,
    verdict: isError ? 'error' : 'success',
    problem: isError ? cutWord(problem) : null,
  };
  return {
    state: next,
    events: [
      { kind: 'usage', usage },
      { kind: 'result', isError, text: isError ? cutWord(problem) : text },
    ],
  };
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
