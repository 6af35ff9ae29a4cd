import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import { cutText, oneLine } from '../core/text.ts';

/** What all clients have in common when their output is read. Output is untrusted: anything may be in it. */

const REASON_LENGTH_MAX = 300;
/** Of a message only so much is looked at: an error may quote the whole prompt. */
const MESSAGE_LENGTH_MAX = 4096;
/** And of an output that is no result. */
const OUTPUT_LENGTH_MAX = 4 * MESSAGE_LENGTH_MAX;
/** Services wrap each other's errors: JSON in the message of a JSON. */
const WRAPPINGS_MAX = 4;

/** The first of these messages that says anything, as one line that can be shown. */
export function firstReason(messages: readonly (string | undefined)[]): string {
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
export function complaintIn(output: string): string | undefined {
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
