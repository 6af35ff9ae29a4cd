import { type Json, readRecord, readString } from '../../core/guards.ts';
import type { Usage } from '../../runs/model/turn.ts';
import type { AgentEvent, ReaderStart } from '../client.ts';
import {
  addUsage,
  codeIn,
  cutWord,
  priced,
  readAmount,
  StreamReader,
  sum,
  textAt,
  usageIn,
  withCache,
  wordAt,
} from '../reading.ts';

/** What OpenCode says of a turn, one JSON object on each line (`run --format json --thinking`). */
export class OpencodeReader extends StreamReader {
  /** The message that `text` is of. */
  #messageId: string | null = null;
  /** The step that was counted last. */
  #stepId: string | null = null;
  /** Under which the log says more of the error. */
  #reference: string | null = null;

  protected override atEnd(stderr: string): string {
    const logged = loggedError(this.#reference, stderr);
    const model = this.#stepId === null ? null : (loggedModel(stderr) ?? this.usage.model);
    this.usage = { ...this.usage, model };
    this.isModelRefused ||= isModelUnknown(logged ?? '');
    this.problem = logged ?? this.problem;
    return withoutLog(stderr);
  }

  /** Each line names its session; the first of all is the turn's. */
  protected step(line: Json): readonly AgentEvent[] {
    const begun = this.sessionId === null ? this.begin(readString(line, 'sessionID'), null) : [];
    const part = readRecord(line, 'part');
    const events = this.byType(line.type, {
      step_start: () => {
        if (this.verdict !== 'error') this.verdict = null;
        return [];
      },
      text: () => {
        const [text, messageId] = [textAt(part, 'text'), wordAt(part, 'messageID')];
        this.say(text, messageId === this.#messageId);
        this.#messageId = messageId;
        return [{ kind: 'text', text, isPiece: true }];
      },
      reasoning: () =>
        textAt(part, 'text') === '' ? [] : [{ kind: 'reasoning', text: textAt(part, 'text') }],
      tool_use: () => {
        this.hasWorked = true;
        return toolEvents(part);
      },
      step_finish: () => this.#finish(part),
      error: () => this.#error(readRecord(line, 'error')),
    });
    return [...begun, ...events];
  }

  #finish(part: Json): AgentEvent[] {
    const id = readString(part, 'id');
    const stepId = id === undefined ? null : cutWord(id);
    if (stepId !== null && stepId === this.#stepId) return [];
    this.#stepId = stepId;
    this.usage = addUsage(this.usage, { ...usageOf(this.start, part), model: this.start.model ?? null });
    this.hasWorked = true;
    const counted: AgentEvent = { kind: 'usage', usage: this.usage };
    const reason = readString(part, 'reason') ?? 'unknown';
    if (reason === 'tool-calls' || this.verdict === 'error') return [counted];
    if (readString(part, 'messageID') !== this.#messageId) this.text = null;
    const isError = reason !== 'stop';
    this.verdict = isError ? 'error' : 'success';
    if (isError) this.problem = cutWord(`the model stopped early: ${reason}`);
    return [counted, { kind: 'result', isError, text: this.text }];
  }

  /** The first error of a turn is the one that is told. */
  #error(error: Json): AgentEvent[] {
    const data = readRecord(error, 'data');
    const name = textAt(error, 'name');
    const text = cutWord(readString(data, 'message') ?? name);
    this.isModelRefused ||= data.statusCode === 404 || isModelUnknown(`${name} ${text}`);
    this.problem ??= text;
    this.#reference ??= wordAt(data, 'ref') || null;
    this.verdict = 'error';
    return [{ kind: 'result', isError: true, text }];
  }
}

/** A call comes with its result, once it is done. A command that failed is one that was completed. */
function toolEvents(part: Json): AgentEvent[] {
  const call = readRecord(part, 'state');
  const [id, tool] = [textAt(part, 'callID'), textAt(part, 'tool')];
  const isCompleted = call.status === 'completed';
  const { exit } = readRecord(call, 'metadata');
  const isError = !isCompleted || (tool === 'bash' && typeof exit === 'number' && exit !== 0);
  const text = textAt(call, isCompleted ? 'output' : 'error');
  return [
    { kind: 'tool-call', id, tool, input: readRecord(call, 'input') },
    { kind: 'tool-result', id, tool, isError, text, ...codeIn(exit) },
  ];
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

const TOKENS = ['input', 'output', 'read', 'write'];

/** A step's usage. The client says 0 where it does not know a model's price: of a run, that may be configured. */
function usageOf({ session }: ReaderStart, part: Json): Usage {
  const tokens = readRecord(part, 'tokens');
  const counts = { ...tokens, ...readRecord(tokens, 'cache') };
  const cost = readAmount(part, 'cost');
  const costUsd = cost === 0 && session.kind !== 'once' ? null : cost;
  const outputTokens = sum([readAmount(counts, 'output'), readAmount(counts, 'reasoning')]);
  return priced({ ...withCache(usageIn(counts, TOKENS)), outputTokens }, costUsd);
}
