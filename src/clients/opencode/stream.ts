import { type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent, ReaderStart, TurnReader } from '../client.ts';
import {
  addUsage,
  cutWord,
  joinText,
  NO_PROGRESS,
  type Progress,
  readAmount,
  type Step,
  sessionStep,
  sum,
  turnReader,
} from '../reading.ts';

/** What OpenCode says of a turn, one JSON object on each line (`run --format json --thinking`). */

type State = Progress & {
  /** The message that `text` is of. */
  readonly messageId: string | null;
  /** The step that was counted last. */
  readonly stepId: string | null;
  /** Under which the log says more of the error. */
  readonly reference: string | null;
};

const INITIAL: State = { ...NO_PROGRESS, messageId: null, stepId: null, reference: null };

/** Reads a turn's output. */
export function opencodeReader(start: ReaderStart): TurnReader {
  return turnReader(start, { initial: INITIAL, step, atEnd });
}

function atEnd(state: State, stderr: string) {
  const logged = loggedError(state.reference, stderr);
  const isModelRefused = state.isModelRefused || isModelUnknown(logged ?? '');
  const model = state.stepId === null ? null : (loggedModel(stderr) ?? state.usage.model);
  const usage = { ...state.usage, model };
  const progress = { ...state, usage, problem: logged ?? state.problem, isModelRefused };
  return { progress, stderr: withoutLog(stderr) };
}

/** Each line names its session; the first of all is the turn's. */
function step(start: ReaderStart, state: State, line: Json): Step<State> {
  if (state.sessionId !== null) return stepIn(start, state, line);
  const begun = sessionStep(state, readString(line, 'sessionID'), null);
  const next = stepIn(start, begun.state, line);
  return { ...next, events: [...begun.events, ...next.events] };
}

function stepIn(start: ReaderStart, state: State, line: Json): Step<State> {
  const part = readRecord(line, 'part');
  switch (line.type) {
    case 'step_start':
      return { state: { ...state, verdict: state.verdict === 'error' ? 'error' : null }, events: [] };
    case 'text':
      return textStep(start, state, part);
    case 'tool_use':
      return { state: { ...state, hasWorked: true }, events: toolEvents(part) };
    case 'step_finish':
      return finishStep(start, state, part);
    case 'error':
      return errorStep(state, readRecord(line, 'error'));
    default:
      return { state, events: [] };
  }
}

function textStep(start: ReaderStart, state: State, part: Json): Step<State> {
  const text = readString(part, 'text') ?? '';
  const messageId = cutWord(readString(part, 'messageID') ?? '');
  const isNext = messageId !== state.messageId;
  const joined = joinText(isNext ? null : state.text, text, start);
  const next = { ...state, messageId, text: joined, hasWorked: true };
  return { state: next, events: [{ kind: 'text', text, isPiece: true }] };
}

/** A call comes with its result, once it is done. A command that failed is one that was completed. */
function toolEvents(part: Json): AgentEvent[] {
  const call = readRecord(part, 'state');
  const id = readString(part, 'callID') ?? '';
  const tool = readString(part, 'tool') ?? '';
  const isCompleted = call.status === 'completed';
  const { exit } = readRecord(call, 'metadata');
  const isError = !isCompleted || (tool === 'bash' && typeof exit === 'number' && exit !== 0);
  const text = readString(call, isCompleted ? 'output' : 'error') ?? '';
  return [
    { kind: 'tool-call', id, tool, input: readRecord(call, 'input') },
    { kind: 'tool-result', id, tool, isError, text },
  ];
}

function finishStep(start: ReaderStart, state: State, part: Json): Step<State> {
  const stepId = readString(part, 'id');
  if (stepId !== undefined && cutWord(stepId) === state.stepId) return { state, events: [] };
  const usage = addUsage(state.usage, { ...usageOf(start, part), model: start.model ?? null });
  const reason = readString(part, 'reason') ?? 'unknown';
  const counted = { ...state, usage, stepId: stepId === undefined ? null : cutWord(stepId), hasWorked: true };
  const events: AgentEvent[] = [{ kind: 'usage', usage }];
  if (reason === 'tool-calls' || state.verdict === 'error') return { state: counted, events };
  const isError = reason !== 'stop';
  const problem = isError ? cutWord(`the model stopped early: ${reason}`) : state.problem;
  const text = readString(part, 'messageID') === state.messageId ? state.text : null;
  events.push({ kind: 'result', isError, text });
  return { state: { ...counted, text, problem, verdict: isError ? 'error' : 'success' }, events };
}

function errorStep(state: State, error: Json): Step<State> {
  const data = readRecord(error, 'data');
  const name = readString(error, 'name') ?? '';
  const problem = cutWord(readString(data, 'message') ?? name);
  const isModelRefused =
    state.isModelRefused || data.statusCode === 404 || isModelUnknown(`${name} ${problem}`);
  const reference = cutWord(readString(data, 'ref') ?? '');
  return {
    state: {
      ...state,
      problem: state.problem ?? problem,
      verdict: 'error',
      isModelRefused,
      reference: state.reference ?? (reference === '' ? null : reference),
    },
    events: [{ kind: 'result', isError: true, text: problem }],
  };
}

function isModelUnknown(words: string): boolean {
  return /ProviderModelNotFoundError|Model not found/i.test(words);
}

/** What the log says of the error under its reference. */
function loggedError(reference: string | null, log: string): string | undefined {
  if (reference === null) return undefined;
  const line = log.split('\n').find((one) => one.includes(`ref=${reference} `));
  return / error="((?:[^"\\]|\\.){0,2000})"/.exec(line ?? '')?.[1];
}

/** The model that was asked last, other than for a title or a summary, as the client names its models. */
function loggedModel(log: string): string | null {
  const lines = log.matchAll(
    / message=stream providerID=(\S{1,200}) modelID=(\S{1,200}) [^\n]{0,500}\bsmall=false\b/g,
  );
  const last = [...lines].at(-1);
  return last === undefined ? null : `${last[1]}/${last[2]}`;
}

/** What is said to a person, without the log. Of an error over several lines, the last says the least. */
function withoutLog(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => !/^timestamp=\S+ level=/.test(line));
  const text = lines.join('\n');
  const error = text.lastIndexOf('Error: ');
  return error < 0 ? text : text.slice(error).replaceAll(/\s+/g, ' ');
}

/** A step's usage. The client says 0 where it does not know a model's price: of a run, that may be configured. */
function usageOf({ session }: ReaderStart, part: Json): Usage {
  const tokens = readRecord(part, 'tokens');
  const cache = readRecord(tokens, 'cache');
  const cacheReadTokens = readAmount(cache, 'read');
  const cacheWriteTokens = readAmount(cache, 'write');
  const cost = readAmount(part, 'cost');
  const costUsd = cost === 0 && session.kind !== 'once' ? null : cost;
  return {
    ...NO_USAGE,
    inputTokens: sum([readAmount(tokens, 'input'), cacheReadTokens, cacheWriteTokens]),
    outputTokens: sum([readAmount(tokens, 'output'), readAmount(tokens, 'reasoning')]),
    cacheReadTokens,
    cacheWriteTokens,
    costUsd,
    costSource: costUsd === null ? null : 'client',
  };
}
