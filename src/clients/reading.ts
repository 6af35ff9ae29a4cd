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
/** Services wrap each other's errors: JSON in the message of a JSON. */
const WRAPPINGS_MAX = 4;

/** The first of these messages that says anything, as one line that can be shown. */
function firstReason(messages: readonly (string | undefined)[]): string {
  for (const message of messages) {
    const reason = reasonIn(message ?? '');
    if (reason !== '') return reason;
  }
  return 'the client gave no reason';
}

/** A message as one line that can be shown: what a service wrapped into JSON unwrapped, and cut. */
function reasonIn(message: string): string {
  let text = message;
  for (let depth = 0; depth < WRAPPINGS_MAX; depth++) {
    const inner = innerMessage(text);
    if (inner === undefined) break;
    text = inner;
  }
  return cutText(oneLine(cutText(text, MESSAGE_LENGTH_MAX)), REASON_LENGTH_MAX);
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

/** What the readers of all clients have in common: lines in, a small memory, a conclusion out. */

/** Of the last message so much is kept, in UTF-16 units. */
const TEXT_LENGTH_MAX = 64 * 1024;
/** Of an error, an id, or the name of a model. */
const WORD_LENGTH_MAX = 4096;

/** Of what is no JSON: a client that breaks down may say why in plain words, and there. */
const PLAIN_LINES_MAX = 3;
const PLAIN_LENGTH_MAX = 75;

/** What has been understood of a turn so far. Of bounded size. */
export type Progress = {
  readonly sessionId: string | null;
  /** The last message of the assistant; see `joinText`. */
  readonly text: string | null;
  /** The whole of the turn so far. */
  readonly usage: Usage;
  /** The client's last word on the turn; null as long as it has said none. */
  readonly verdict: 'success' | 'error' | null;
  /** What went wrong, in the client's words. */
  readonly problem: string | null;
  readonly isModelRefused: boolean;
  /** Whether the model has said or done anything: then the turn must not be tried again by itself. */
  readonly hasWorked: boolean;
};

export const NO_PROGRESS: Progress = {
  ...{ sessionId: null, text: null, usage: NO_USAGE, verdict: null, problem: null },
  ...{ isModelRefused: false, hasWorked: false },
};

export type Step<S> = { readonly state: S; readonly events: readonly AgentEvent[] };

/** A reader of one client: pure steps from one state to the next. `S` has to be of bounded size. */
type ReaderRules<S> = {
  readonly initial: S;
  /** Takes one line that is a JSON object. Must not throw, whatever is in it. */
  readonly step: (start: ReaderStart, state: S, line: Json) => Step<S>;
  /** What is known at the end, and what of the standard error is meant for a person. Without it: the state, and all. */
  readonly atEnd?: (state: S, stderr: string, start: ReaderStart) => Last;
};

type Last = { readonly progress: Progress; readonly stderr: string };

/** A reader by these rules. Each line is parsed once. */
export function turnReader<S extends Progress>(start: ReaderStart, rules: ReaderRules<S>): TurnReader {
  let state = rules.initial;
  let plain: readonly string[] = [];
  return {
    read: (line) => {
      if (line.charCodeAt(0) !== 0x7b) {
        if (line.trim() !== '') plain = [...plain.slice(1 - PLAIN_LINES_MAX), cutText(line, WORD_LENGTH_MAX)];
        return [];
      }
      const record = parseJson(line);
      if (!isRecord(record)) return [];
      const step = rules.step(start, state, record);
      state = step.state;
      return step.events;
    },
    conclude: (exit, stderr) => {
      const last = rules.atEnd?.(state, stderr, start) ?? { progress: state, stderr };
      return conclude({ ...last, plain }, exit, start.session);
    },
  };
}

/** Both together. What only one of them knows is taken from that one; the model is the later one's. */
export function addUsage(earlier: Usage, later: Usage): Usage {
  return {
    inputTokens: sum([earlier.inputTokens, later.inputTokens]),
    outputTokens: sum([earlier.outputTokens, later.outputTokens]),
    cacheReadTokens: sum([earlier.cacheReadTokens, later.cacheReadTokens]),
    cacheWriteTokens: sum([earlier.cacheWriteTokens, later.cacheWriteTokens]),
    costUsd: sum([earlier.costUsd, later.costUsd]),
    costSource: later.costSource ?? earlier.costSource,
    model: later.model ?? earlier.model,
  };
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

/** The last message with one more piece; `null` begins one. Cut to what is kept: of a question's answer all. */
export function joinText(text: string | null, piece: string, { session }: ReaderStart): string {
  const lengthMax = session.kind === 'once' ? Number.POSITIVE_INFINITY : TEXT_LENGTH_MAX;
  return text !== null && text.length >= lengthMax ? text : cutText((text ?? '') + piece, lengthMax);
}

/** The step of a line that names the session. */
export function sessionStep<S extends Progress>(
  state: S,
  name: string | undefined,
  model: string | null,
): Step<S> {
  const id = cutWord(name ?? '');
  if (id === '') return { state, events: [] };
  return { state: { ...state, sessionId: id }, events: [{ kind: 'session', id, model }] };
}

/** A word of the client's that goes into a state: of bounded length. */
export function cutWord(text: string): string {
  return cutText(text, WORD_LENGTH_MAX);
}

/** A property that should be a word, as one, whatever it is: of an object not even the conversion can be trusted. */
export function wordIn(record: Json, key: string): string {
  const value = record[key];
  return cutWord(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined'));
}

/** The conclusion that holds for every client: success only with its own word, a good exit, the session, and a text. */
function conclude(
  { progress, stderr, plain }: Last & { readonly plain: readonly string[] },
  exit: Exit | null,
  session: ReaderStart['session'],
): Conclusion {
  const { text, usage, sessionId, verdict } = progress;
  const rest = { text: text === null || text.trim() === '' ? null : text, usage, sessionId };
  const failed = (outcome: 'error' | 'unknown', ...words: (string | undefined)[]): Conclusion => {
    const isModelRefused = progress.isModelRefused && !progress.hasWorked;
    return { ...rest, outcome, error: firstReason(words), isModelRefused };
  };
  const strange = sessionProblem(session, sessionId);
  if (strange !== undefined) return failed('error', strange);
  if (verdict === 'error') return failed('error', progress.problem ?? undefined, complaintIn(stderr));
  if (verdict === null) {
    const outcome = exit === null && progress.problem === null ? 'unknown' : 'error';
    const end = `${endOf(exit)}, without a result${lastWords(plain)}`;
    return failed(outcome, progress.problem ?? undefined, complaintIn(stderr), end);
  }
  if (exit !== null && exit.code !== 0)
    return failed('error', complaintIn(stderr), `${endOf(exit)}, after its result`);
  if (rest.text === null) return failed('error', 'the answer is empty');
  return { ...rest, outcome: 'success', error: null, isModelRefused: false };
}

function lastWords(plain: readonly string[]): string {
  const said = plain.map((line) => cutText(oneLine(redactSecrets(line)), PLAIN_LENGTH_MAX)).filter(Boolean);
  return said.length === 0 ? '' : `; its last words: ${said.join(' / ')}`;
}

/** What is wrong with the session that answered. Undefined while none is known. */
function sessionProblem(asked: ReaderStart['session'], answered: string | null): string | undefined {
  if (asked.kind !== 'resume' || answered === null || answered === asked.id) return undefined;
  return 'the client did not resume the session: it began another';
}

function endOf(exit: Exit | null): string {
  if (exit === null) return 'nobody saw how the client ended';
  if (exit.code !== null) return `ended with exit code ${exit.code}`;
  return exit.signal === null ? 'ended by a signal' : `ended by ${exit.signal}`;
}
