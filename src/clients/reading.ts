import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import type { Exit } from '../system/process-identity.ts';
import type { AgentEvent, Conclusion, ReaderStart, TurnReader } from './client.ts';

/** What all clients have in common when their output is read. Output is untrusted: anything may be in it. */

const REASON_LENGTH_MAX = 300;
/** Of a message only so much is looked at: an error may quote the whole prompt. */
const MESSAGE_LENGTH_MAX = 4096;
/** And of an output that is no result. */
const OUTPUT_LENGTH_MAX = 4 * MESSAGE_LENGTH_MAX;
const STDERR_LENGTH_MAX = 64 * 1024;
/** Services wrap each other's errors: JSON in the message of a JSON. */
const WRAPPINGS_MAX = 4;

/** The first of these messages that says anything, as one line that can be shown. */
function firstReason(messages: readonly (string | null | undefined)[]): string {
  const reasons = messages.map((message) => {
    const text = unwrapped(message ?? '', WRAPPINGS_MAX);
    return cutText(oneLine(cutText(text, MESSAGE_LENGTH_MAX)), REASON_LENGTH_MAX);
  });
  return reasons.find((reason) => reason !== '') ?? 'the client gave no reason';
}

function unwrapped(text: string, depthMax: number): string {
  const inner = depthMax === 0 ? undefined : innerMessage(text);
  return inner === undefined ? text : unwrapped(inner, depthMax - 1);
}

/** The message of an error in JSON, bare or between words, as in `API Error: 400 {"error":{"message":"…"}}`. */
function innerMessage(text: string): string | undefined {
  const start = text.indexOf('{');
  const end = text.lastIndexOf('}');
  if (start < 0 || end < start || text.length > OUTPUT_LENGTH_MAX) return undefined;
  const value = parseJson(text.slice(start, end + 1));
  if (!isRecord(value)) return undefined;
  return readString(readRecord(value, 'error'), 'message') ?? readString(value, 'message');
}

/** What a client says at its end to a person: the last line, unless it shows its help because of an argument. */
function complaintIn(output: string): string | undefined {
  const text = output.length <= OUTPUT_LENGTH_MAX ? output : output.slice(-OUTPUT_LENGTH_MAX);
  if (/^\s{0,100}(?:\{|\[\s{0,100}[{"])/.test(text)) return undefined; // JSON, whole or cut off.
  const lines = text.split('\n').filter((line) => oneLine(line) !== '');
  if (!lines.some((line) => /^(?:Usage|Options):/.test(line))) return lines.at(-1);
  const complaint = lines.find((line) => /^(?:error|unknown|unexpected|invalid)\b/i.test(line));
  return complaint ?? 'the client did not understand its arguments: it may be of another release';
}

/** Of the last message so much is kept, in UTF-16 units. */
export const TEXT_LENGTH_MAX = 64 * 1024;
/** Of an error, an id, or the name of a model. */
const WORD_LENGTH_MAX = 4096;
/** Of what is no JSON: a client that breaks down may say why in plain words, and there. */
const PLAIN_LINES_MAX = 3;
const PLAIN_LENGTH_MAX = 75;

/** The reader of one turn's output, as far as it is the same for all clients. What it keeps is of bounded size. */
export abstract class StreamReader implements TurnReader {
  protected readonly start: ReaderStart;
  protected sessionId: string | null = null;
  /** The last message of the assistant. */
  protected text: string | null = null;
  /** The whole of the turn so far. */
  protected usage: Usage = NO_USAGE;
  /** The client's last word on the turn; null as long as it has said none. */
  protected verdict: 'success' | 'error' | null = null;
  protected problem: string | null = null;
  protected isModelRefused = false;
  /** Whether the model has said or done anything: then the turn must not be tried again by itself. */
  protected hasWorked = false;
  #plain: string[] = [];

  constructor(start: ReaderStart) {
    this.start = start;
  }

  /** Events of one line that is a JSON object. Must not throw, whatever is in it. */
  protected abstract step(line: Json): readonly AgentEvent[];

  /** Takes in what is said at the end alone, and returns what of the standard error is meant for a person. */
  protected atEnd(stderr: string): string {
    return stderr;
  }

  read(line: string): readonly AgentEvent[] {
    if (line.startsWith('{')) {
      const record = parseJson(line);
      return isRecord(record) ? this.step(record) : [];
    }
    if (line.trim() !== '') this.#plain = [...this.#plain.slice(1 - PLAIN_LINES_MAX), cutWord(line)];
    return [];
  }

  /** Success only with the client's own word, a good exit, the session that was asked for, and a text. */
  conclude(exit: Exit | null, stderr: string): Conclusion {
    const complaint = complaintIn(this.atEnd(stderr.slice(-STDERR_LENGTH_MAX)));
    const { sessionId, verdict, problem, usage } = this;
    const text = this.text === null || this.text.trim() === '' ? null : this.text;
    const failed = (outcome: 'error' | 'unknown', ...words: (string | null | undefined)[]): Conclusion => {
      const isModelRefused = this.isModelRefused && !this.hasWorked;
      return { outcome, text, error: firstReason(words), isModelRefused, sessionId, usage };
    };
    const { session } = this.start;
    if (session.kind === 'resume' && sessionId !== null && sessionId !== session.id)
      return failed('error', 'the client did not resume the session: it began another');
    if (verdict === 'error') return failed('error', problem, complaint);
    if (verdict === null) {
      const outcome = exit === null && problem === null ? 'unknown' : 'error';
      return failed(outcome, problem, complaint, `${endOf(exit)}, without a result${this.#lastWords()}`);
    }
    if (exit !== null && exit.code !== 0)
      return failed('error', complaint, `${endOf(exit)}, after its result`);
    if (text === null) return failed('error', 'the answer is empty');
    return { outcome: 'success', text, error: null, isModelRefused: false, sessionId, usage };
  }

  /** What a line says, by its type; nothing when its type is none of these. */
  protected byType(type: unknown, steps: Readonly<Record<string, () => readonly AgentEvent[]>>) {
    return typeof type === 'string' && Object.hasOwn(steps, type) ? (steps[type]?.() ?? []) : [];
  }

  /** A warning is all that the line says. */
  protected warn(text: string): AgentEvent[] {
    return [{ kind: 'warning', text }];
  }

  /** The line names the session. */
  protected begin(name: string | undefined, model: string | null): AgentEvent[] {
    const id = cutWord(name ?? '');
    if (id === '') return [];
    this.sessionId = id;
    return [{ kind: 'session', id, model }];
  }

  /** The model says a piece of a message: of the one before, or of a new one. Of a question's answer all is kept. */
  protected say(piece: string, goesOn = false): void {
    const lengthMax = this.start.session.kind === 'once' ? Number.POSITIVE_INFINITY : TEXT_LENGTH_MAX;
    const before = goesOn ? (this.text ?? '') : '';
    if (before.length < lengthMax) this.text = cutText(before + piece, lengthMax);
    this.hasWorked = true;
  }

  /** The client's last word on the turn. */
  protected end(problem: string | null): AgentEvent {
    this.verdict = problem === null ? 'success' : 'error';
    this.problem = problem;
    return { kind: 'result', isError: problem !== null, text: problem ?? this.text };
  }

  #lastWords(): string {
    const said = this.#plain.map((line) => cutText(oneLine(redactSecrets(line)), PLAIN_LENGTH_MAX));
    return said.some(Boolean) ? `; its last output: ${said.filter(Boolean).join(' / ')}` : '';
  }
}

/** A word of the client's that is kept: of bounded length. */
export function cutWord(text: string): string {
  return cutText(text, WORD_LENGTH_MAX);
}

/** The text property; empty when it is missing or of another type. */
export function textAt(record: Json, key: string): string {
  return readString(record, key) ?? '';
}

/** The same, as a word that is kept. */
export function wordAt(record: Json, key: string): string {
  return cutWord(textAt(record, key));
}

/** A property that should be a word, as one, whatever it is: of an object not even the conversion can be trusted. */
export function wordIn(record: Json, key: string): string {
  const value = record[key];
  return cutWord(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined'));
}

function endOf(exit: Exit | null): string {
  if (exit === null) return 'how the client ended is not known';
  if (exit.code !== null) return `ended with exit code ${exit.code}`;
  return exit.signal === null ? 'ended by a signal' : `ended by ${exit.signal}`;
}

/**
 * What a client's own record says of a session, read from its end. A field counts in its own place of a line that is whole:
 * what somebody said has a backslash before every quotation mark, but what a tool was called with may have any fields.
 */

/** Read at a time, from the end. */
const BLOCK_BYTES = 256 * 1024;
/** A mode stands at each prompt, which may be long ago. */
export const MODE_BYTES_MAX = 256 * 1024 * 1024;
export const SESSION_ID = /^[\w-]{1,100}$/;

/** What is in a directory, the newest first where names are dates. */
export function below(directory: string): string[] {
  const names = readdirSync(directory).sort().reverse();
  return names.map((name) => `${directory}/${name}`);
}

/** What the last line says that says it. Nothing counts before one with the words that is not whole: it may say it. */
export function lastSaid<T>(
  path: string | undefined,
  words: string,
  bytesMax: number,
  read: (line: Json) => T | undefined,
): T | undefined {
  if (path === undefined) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    for (const text of linesFromEnd(file, bytesMax)) {
      if (!text.includes(words)) continue;
      const line = parseJson(text);
      if (!isRecord(line)) return undefined;
      const found = read(line);
      if (found !== undefined) return found;
    }
  } catch {
    // It has no record, or it is elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return undefined;
}

/** The lines at the end of a file, the last one first, and no more of it read than is asked for. */
function* linesFromEnd(file: number, bytesMax: number): Generator<string> {
  const { size } = fstatSync(file);
  const first = Math.max(0, size - bytesMax);
  let pieces: string[] = []; // Of the line that begins further ahead, the last one first.
  for (let end = size; end > first; end -= BLOCK_BYTES) {
    const bytes = Buffer.alloc(Math.min(BLOCK_BYTES, end - first));
    const length = readSync(file, bytes, 0, bytes.length, end - bytes.length);
    const [beginning = '', ...lines] = bytes.toString('latin1', 0, length).split('\n');
    for (const line of lines.reverse()) {
      yield [line, ...pieces.reverse()].join('');
      pieces = [];
    }
    pieces.push(beginning);
  }
  if (first === 0) yield pieces.reverse().join('');
}

/** What turns use, as the clients count it. */

/** The property when it is a count or an amount, else null. */
export function readAmount(record: Json, key: string): number | null {
  const value = record[key];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** The sum of what is known of these; null when nothing is. */
export function sum(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((total, amount) => total + amount, 0);
}

const AMOUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const;

function usageBy(amount: (name: (typeof AMOUNTS)[number], index: number) => number | null): Usage {
  const amounts = AMOUNTS.map((name, index) => [name, amount(name, index)]);
  const usage: Usage = { ...NO_USAGE, ...Object.fromEntries(amounts) };
  return priced(usage, usage.costUsd);
}

/** What a record counts, by the client's names for AMOUNTS, in their order; what it has no name for is not known. */
export function usageIn(counts: Json, names: readonly string[]): Usage {
  return usageBy((_amount, index) => (index < names.length ? readAmount(counts, names[index] ?? '') : null));
}

/** The same amounts, where the client counts what comes from its cache and goes to it apart from the input. */
export function withCache(usage: Usage): Usage {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { ...usage, inputTokens: sum([inputTokens, cacheReadTokens, cacheWriteTokens]) };
}

/** The same with what the client says that it cost, if it says that. */
export function priced(usage: Usage, costUsd: number | null): Usage {
  return { ...usage, costUsd, costSource: costUsd === null ? null : 'client' };
}

/** Both together. What only one of them knows is taken from that one; the model is the later one's. */
export function addUsage(earlier: Usage, later: Usage): Usage {
  const both = usageBy((name) => sum([earlier[name], later[name]]));
  return { ...both, costSource: later.costSource ?? earlier.costSource, model: later.model ?? earlier.model };
}

/** The model that wrote most, by the counts of each: the client may ask a small one on the side. */
export function mainModel(counts: Json, outputKey: string): string | null {
  const written = (model: string) => readAmount(readRecord(counts, model), outputKey) ?? 0;
  const [most] = Object.keys(counts).sort((left, right) => written(right) - written(left));
  return most === undefined ? null : cutWord(most);
}

/** What came on top, for a client that counts over the whole session; never less than nothing. */
export function sinceBefore(total: number | null, before: number | null): number | null {
  // Less than before: the client has begun to count anew, so all of it is this turn's.
  if (total === null || before === null || total < before) return total;
  return total - before;
}

/** The same for each amount. */
export function usageSince(before: Usage, total: Usage): Usage {
  return usageBy((name) => sinceBefore(total[name], before[name]));
}

/** The exit code of a command, as a part of its result; nothing where it is none. */
export function codeIn(said: unknown): { readonly code?: number } {
  return Number.isInteger(said) ? { code: Number(said) } : {};
}
