import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../core/runs/usage.ts';
import { cutText } from '../../core/text.ts';
import { readAmount, sum } from '../answer.ts';
import {
  addUsage,
  concludeProgress,
  cutWord,
  joinText,
  NO_PROGRESS,
  type Progress,
  type ReaderRules,
  restoreProgress,
  restoreUsage,
  type Step,
  sinceBefore,
  TEXT_LENGTH_MAX,
  turnReader,
} from './reading.ts';
import type { AgentEvent, ReaderStart, TurnReader } from './run-client.ts';

/** What Claude Code says of a turn, one JSON object on each line (`--output-format stream-json --verbose`). */

/** `usage` is all of the turn: that of the messages before, and of the one that is being said. */
type State = Progress & {
  /** The message that is being said: it comes in as many lines as it has blocks, each with the message's usage. */
  readonly messageId: string | null;
  /** Of the messages before it. */
  readonly settled: Usage;
};

const INITIAL: State = { ...NO_PROGRESS, messageId: null, settled: NO_USAGE };

/** Reads a turn's output. */
export function claudeReader(start: ReaderStart): TurnReader {
  const rules: ReaderRules<State> = {
    initial: INITIAL,
    step: (state, line) => step(start, state, line),
    restore: (stored) => ({
      ...restoreProgress(stored),
      messageId: readString(stored, 'messageId') ?? null,
      settled: restoreUsage(readRecord(stored, 'settled')),
    }),
    conclude: (state, exit, stderr) => concludeProgress(state, { exit, stderr, session: start.session }),
  };
  return turnReader(rules);
}

function step(start: ReaderStart, state: State, line: Json): Step<State> {
  // Of a sub-agent of the client's own, which is denied: were there one, its words would not be the turn's.
  if (typeof line.parent_tool_use_id === 'string') return unknown(state, `${line.type} of a sub-agent`);
  switch (line.type) {
    case 'system':
      return systemStep(state, line);
    case 'assistant':
      return line.error === undefined ? messageStep(state, line) : refusalStep(state, line);
    case 'user':
      return { state, events: blocksOf(line).flatMap(resultEvent) };
    case 'result':
      return resultStep(start, state, line);
    case 'rate_limit_event':
      return { state, events: [] };
    default:
      return unknown(state, String(line.type));
  }
}

function unknown<S>(state: S, type: string): Step<S> {
  return { state, events: [{ kind: 'unknown', type: cutWord(type) }] };
}

function systemStep(state: State, line: Json): Step<State> {
  const subtype = readString(line, 'subtype') ?? '';
  if (subtype !== 'init') return unknown(state, `system ${subtype}`);
  const id = cutWord(readString(line, 'session_id') ?? '');
  const model = readString(line, 'model') ?? null;
  if (id === '') return { state, events: [] };
  return { state: { ...state, sessionId: id }, events: [{ kind: 'session', id, model }] };
}

/** A line of an answer of the model: some of the blocks of a message. */
function messageStep(state: State, line: Json): Step<State> {
  const message = readRecord(line, 'message');
  const id = cutWord(readString(message, 'id') ?? '');
  const isNext = id !== state.messageId;
  const settled = isNext ? state.usage : state.settled;
  const usage = addUsage(settled, usageOf(message));
  const blocks = blocksOf(line);
  const pieces = blocks.filter(({ type }) => type === 'text').map((block) => readString(block, 'text') ?? '');
  const said = pieces.join('');
  const text = said === '' ? state.text : joinText(isNext ? null : state.text, said);
  const next: State = { ...state, messageId: id, settled, usage, text, hasWorked: true };
  const events = blocks.flatMap(blockEvent);
  return { state: next, events: [...events, { kind: 'usage', usage }] };
}

/** What the client says in the place of an answer, because the service refused. */
function refusalStep(state: State, line: Json): Step<State> {
  const problem = cutWord(textOf(blocksOf(line)));
  const isModelRefused = state.isModelRefused || line.error === 'model_not_found';
  return { state: { ...state, problem, isModelRefused }, events: [{ kind: 'warning', text: problem }] };
}

function resultStep({ before }: ReaderStart, state: State, line: Json): Step<State> {
  const problem = problemOf(line);
  const isError = problem !== undefined;
  const said = readString(line, 'result') ?? '';
  const text = isError || said.trim() === '' ? state.text : cutText(said, TEXT_LENGTH_MAX);
  const usage = totalOf(line, state, before);
  const next: State = {
    ...state,
    sessionId: cutWord(readString(line, 'session_id') ?? '') || state.sessionId,
    text,
    usage,
    settled: usage,
    messageId: null,
    verdict: isError ? 'error' : 'success',
    problem: isError ? cutWord(problem) : null,
    isModelRefused: state.isModelRefused || line.api_error_status === 404,
  };
  return {
    state: next,
    events: [
      { kind: 'usage', usage },
      { kind: 'result', isError, text },
    ],
  };
}

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

function totalOf(line: Json, state: State, before: Usage): Usage {
  const cost = sinceBefore(readAmount(line, 'total_cost_usd'), before.costUsd);
  const usage = usageOf(line);
  const byModel = readRecord(line, 'modelUsage');
  return {
    ...(usage.inputTokens === null ? state.usage : usage),
    costUsd: cost,
    costSource: cost === null ? null : 'client',
    model: mainModel(byModel) ?? state.usage.model,
  };
}

/** The usage of a message, or of the result. */
function usageOf(record: Json): Usage {
  const usage = readRecord(record, 'usage');
  const cacheReadTokens = readAmount(usage, 'cache_read_input_tokens');
  const cacheWriteTokens = readAmount(usage, 'cache_creation_input_tokens');
  return {
    ...NO_USAGE,
    inputTokens: sum([readAmount(usage, 'input_tokens'), cacheReadTokens, cacheWriteTokens]),
    outputTokens: readAmount(usage, 'output_tokens'),
    cacheReadTokens,
    cacheWriteTokens,
    model: readString(record, 'model') ?? null,
  };
}

/** The model that wrote most: the client may ask a small one on the side. */
function mainModel(usageByModel: Json): string | null {
  const written = (model: string) => readAmount(readRecord(usageByModel, model), 'outputTokens') ?? 0;
  const [most] = Object.keys(usageByModel).sort((left, right) => written(right) - written(left));
  return most === undefined ? null : cutWord(most);
}

function blocksOf(line: Json): Json[] {
  const { content } = readRecord(line, 'message');
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function blockEvent(block: Json): AgentEvent[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: readString(block, 'text') ?? '', isPiece: true }];
    case 'thinking':
      return [{ kind: 'thinking', text: readString(block, 'thinking') ?? '' }];
    case 'tool_use':
      return [
        {
          kind: 'tool-call',
          id: readString(block, 'id') ?? '',
          tool: readString(block, 'name') ?? '',
          input: readRecord(block, 'input'),
        },
      ];
    default:
      return [{ kind: 'unknown', type: cutWord(`block ${block.type}`) }];
  }
}

function resultEvent(block: Json): AgentEvent[] {
  if (block.type === 'text') return [{ kind: 'user', text: readString(block, 'text') ?? '' }];
  if (block.type !== 'tool_result') return [{ kind: 'unknown', type: cutWord(`block ${block.type}`) }];
  return [
    {
      kind: 'tool-result',
      id: readString(block, 'tool_use_id') ?? '',
      tool: null,
      isError: block.is_error === true,
      text: contentText(block.content),
    },
  ];
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? textOf(content.filter(isRecord)) : '';
}

function textOf(blocks: readonly Json[]): string {
  return blocks.map((block) => readString(block, 'text') ?? '').join('\n');
}
