import { isRecord, type Json, readRecord } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { StoredTime } from './turn-clocks.ts';

/** What another supervisor needs to go on with a turn, as it is stored beside the offset. */
export type TurnMemory = {
  /** Of the reader of the client's output, at that offset. */
  readonly reader: Json;
  readonly time: StoredTime;
  /** When the client said its last word, by the wall clock. */
  readonly resultAtMs: number | null;
};

/** The memory as it may stand in a database: without secrets. */
export function storedMemory({ reader, time, resultAtMs }: TurnMemory): Json {
  return { reader: redacted(reader, ''), time: { ...time }, resultAtMs };
}

/** Reads back a memory; undefined when there is none, or none of this form. */
export function readMemory(stored: Json | undefined): TurnMemory | undefined {
  if (stored === undefined || !isRecord(stored.reader)) return undefined;
  const time = readRecord(stored, 'time');
  const { spentMs, wallMs, bootMs } = time;
  if (typeof spentMs !== 'number' || typeof wallMs !== 'number' || typeof bootMs !== 'number')
    return undefined;
  const resultAtMs = typeof stored.resultAtMs === 'number' ? stored.resultAtMs : null;
  return { reader: stored.reader, time: { spentMs, wallMs, bootMs }, resultAtMs };
}

/** Ids are of the client's making, look random, and are needed as they are. */
function redacted(value: unknown, key: string): unknown {
  if (typeof value === 'string') return /id$/i.test(key) ? value : redactSecrets(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, key));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redacted(item, name)]));
}
