import { type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import type { AgentEvent, ReaderStart, TurnReader } from '../client.ts';
import {
  cutWord,
  joinText,
  mainModel,
  NO_PROGRESS,
  type Progress,
  readAmount,
  type Step,
  sessionStep,
  turnReader,
} from '../reading.ts';

/**
 * What Gemini CLI says of a turn, one JSON object on each line (`--output-format stream-json`). Not in it: what the model
 * thinks; attempts after which the client tries again. The statistics are those of the turn, all models together.
 */

/** The command as which a prompt goes in; the client says it again, with the prompt. */
export const MESSAGE_COMMAND = 'self-generation-message';

/**
 * The client replaces `@path` by the file, also in a prompt that it reads from its input. With an invisible character
 * between the two there is no such file; the model reads over it, and what it copies is taken out again.
 */
const JOINER = '\u2060';

/** A prompt in which the client finds no file to put in. */
export function withJoiners(prompt: string): string {
  return prompt.replaceAll('@', `@${JOINER}`);
}

function withoutJoiners(text: string | null): string | null {
  return text?.replaceAll(`@${JOINER}`, '@') ?? null;
}

type State = Progress & {
  /** Pieces of one message follow each other; anything else ends it. */
  readonly isSaying: boolean;
  /** Why the client stopped the model, if it did: the result calls that a success. */
  readonly stopped: string | null;
};

const INITIAL: State = { ...NO_PROGRESS, isSaying: false, stopped: null };

/** Reads a turn's output. */
export function geminiReader(start: ReaderStart): TurnReader {
  return turnReader(start, { initial: INITIAL, step, atEnd });
}

function atEnd(state: State, stderr: string, { session }: ReaderStart) {
  const problem = state.problem ?? complaintOf(stderr);
  const isModelRefused = state.isModelRefused || (state.verdict === 'error' && isAboutModel(problem ?? ''));
  const text = session.kind === 'once' ? withoutJoiners(state.text) : state.text;
  // What the client writes there at every start is no complaint.
  return { progress: { ...state, text, problem, isModelRefused }, stderr: '' };
}

function step(start: ReaderStart, state: State, line: Json): Step<State> {
  const next = { ...state, isSaying: false };
  switch (line.type) {
    case 'init':
      return startStep(next, line);
    case 'message':
      return messageStep(start, state, line);
    case 'tool_use':
      return callStep(next, line);
    case 'tool_result':
      return { state: next, events: [resultOf(line)] };
    case 'error':
      return errorStep(next, line);
    case 'result':
      return endStep(next, line);
    default:
      return { state: next, events: [] };
  }
}

/** With `auto` the client chooses for each question anew. */
function startStep(state: State, line: Json): Step<State> {
  const model = readString(line, 'model') ?? 'auto';
  return sessionStep(state, readString(line, 'session_id'), model.startsWith('auto') ? null : model);
}

function messageStep(start: ReaderStart, state: State, line: Json): Step<State> {
  const said = readString(line, 'content') ?? '';
  if (line.role === 'user') {
    // The turn's own prompt is known already.
    const isPrompt = said.startsWith(`/${MESSAGE_COMMAND}\n`);
    return { state: { ...state, isSaying: false }, events: isPrompt ? [] : [{ kind: 'user', text: said }] };
  }
  if (said === '') return { state, events: [] };
  const isPiece = line.delta === true;
  const text = joinText(isPiece && state.isSaying ? state.text : null, said, start);
  const next: State = { ...state, text, isSaying: isPiece, hasWorked: true };
  return { state: next, events: [{ kind: 'text', text: said, isPiece }] };
}

function callStep(state: State, line: Json): Step<State> {
  const id = cutWord(readString(line, 'tool_id') ?? '');
  const tool = cutWord(readString(line, 'tool_name') ?? '');
  const input = readRecord(line, 'parameters');
  return { state: { ...state, hasWorked: true }, events: [{ kind: 'tool-call', id, tool, input }] };
}

/** A command that fails is no error to the client, and its exit code is not told. */
function resultOf(line: Json): AgentEvent {
  const isError = line.status === 'error';
  const problem = readString(readRecord(line, 'error'), 'message');
  const text = readString(line, 'output') ?? problem ?? '';
  return { kind: 'tool-result', id: cutWord(readString(line, 'tool_id') ?? ''), tool: null, isError, text };
}

/** Some are warnings, some end the turn: of the latter the result says so as well, except for an end by the client itself. */
function errorStep(state: State, line: Json): Step<State> {
  const message = cutWord(readString(line, 'message') ?? 'the client gives a warning');
  const isStop = /^(?:Loop detected|Maximum session turns|Agent execution)/.test(message);
  const next: State = { ...state, problem: message, stopped: isStop ? message : state.stopped };
  return { state: next, events: [{ kind: 'warning', text: message }] };
}

function endStep(state: State, line: Json): Step<State> {
  const usage = usageIn(readRecord(line, 'stats'));
  const isError = line.status !== 'success' || state.stopped !== null;
  const said = readString(readRecord(line, 'error'), 'message')?.replace(/^\[API Error: (.*)\]$/s, '$1');
  const problem = isError ? cutWord(state.stopped ?? said ?? state.problem ?? 'the turn failed') : null;
  const next: State = { ...state, usage, verdict: isError ? 'error' : 'success', problem };
  return {
    state: next,
    events: [
      { kind: 'usage', usage },
      { kind: 'result', isError, text: isError ? problem : state.text },
    ],
  };
}

/** Thoughts are in the total alone. After an error of the service all is 0, whatever was used before. */
function usageIn(stats: Json): Usage {
  const total = readAmount(stats, 'total_tokens');
  if (total === null || total === 0) return NO_USAGE;
  const inputTokens = readAmount(stats, 'input_tokens');
  const answer = readAmount(stats, 'output_tokens');
  const rest = inputTokens === null ? null : total - inputTokens;
  return {
    ...NO_USAGE,
    inputTokens,
    outputTokens: rest === null || (answer !== null && answer > rest) ? answer : rest,
    cacheReadTokens: readAmount(stats, 'cached'),
    model: mainModel(readRecord(stats, 'models'), 'output_tokens'),
  };
}

/** What the client says to a person before it ends without a result, between notices of all kinds. */
function complaintOf(stderr: string): string | null {
  const lines = stderr.slice(-STDERR_LENGTH_MAX).split('\n');
  const complaint = /^(?:Error(?! executing tool)|Please|Invalid|Unknown|No input|When using)\b/;
  const said = lines.findLast((line) => complaint.test(line));
  return said === undefined ? null : cutWord(said);
}

/** In the words of the service: `no such model`, `models/x is not found for API version v1beta`. */
function isAboutModel(message: string): boolean {
  const refusal = /not found|no such|not supported|does not exist|unknown/i;
  return /\bmodels?\b/i.test(message) && refusal.test(message);
}

const STDERR_LENGTH_MAX = 64 * 1024;
