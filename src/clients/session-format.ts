import type { SessionStep } from '../core/conversation.ts';
import { isRecord, type Json, readString } from '../core/guards.ts';

/** How clients write sessions down, record by record. What writes a record anew stands beside what reads it. */

export type SessionFormat = {
  /** What the record says of its session, where it does: the first one that does counts. None of another client does. */
  readonly headIn: (record: Json) => SessionHead | undefined;
  /** Reads the records of one session. */
  readonly reader: () => RecordReader;
  /** The record with its calls changed; the record itself where nothing of it is. */
  readonly withCalls: (record: Json, change: CallChange) => Json;
  /** Where records are no lines of a file: the session as its client exports it. */
  readonly exported?: (session: { readonly id: string; readonly path: string }) => ExportedSession;
};

/** What reads one kind of record; nothing comes of one that is not known. */
export type RecordReader = { readonly read: (record: unknown) => readonly SessionStep[] };

export type SessionHead = {
  readonly id: string;
  /** It is a sub-agent's, or was made of one. */
  readonly isOfAgent: boolean;
  /** Where it was started, where the record says that. */
  readonly cwd: string | undefined;
};

/** A session as one document: what it is, and its messages in their order. */
export type ExportedSession = { readonly info: Json; readonly messages: Iterable<Json> };

/** What becomes of the calls of a session; what is given back as it came is not changed. */
export type CallChange = {
  readonly input: (id: string, input: Json) => Json;
  /** Of the result, or of the error. */
  readonly output: (id: string, text: string) => string;
};

/** The record with this value; the record itself where it has it, or has nothing there. */
export function withValue(record: Json, key: string, value: unknown): Json {
  return record[key] === value || record[key] === undefined ? record : { ...record, [key]: value };
}

/** The list with its objects changed; the list itself where none is, and what is no list. */
export function withEach(list: unknown, change: (record: Json) => Json): unknown {
  if (!Array.isArray(list)) return list;
  const changed = list.map((one) => (isRecord(one) ? change(one) : one));
  return changed.some((one, at) => one !== list[at]) ? changed : list;
}

/** The content with its text changed, which stands in place of all its texts then; pictures stay. */
export function withText(content: unknown, change: (text: string) => string): unknown {
  if (typeof content === 'string') return change(content);
  if (!Array.isArray(content)) return content;
  const textOf = (part: unknown) => (isRecord(part) ? readString(part, 'text') : undefined);
  const before = content.flatMap((part) => textOf(part) ?? []).join('\n');
  const after = change(before);
  const first = content.findIndex((part) => textOf(part) !== undefined);
  if (after === before || first < 0) return content;
  return content.flatMap((part, at) => {
    if (at === first) return [{ ...part, text: after }];
    return textOf(part) === undefined ? [part] : [];
  });
}
