import { isRecord, type Json } from '../core/guards.ts';
import { PATH_KEYS } from './files.ts';

const LONG_CHARS = 100;

/** The input without its long texts, also those deep in it: whoever repeats it fails at the tool's schema. A file's name stays. */
export function withoutLongTexts(input: Json): Json {
  const entries = Object.entries(input).filter(([key, value]) => !isLong(value) || PATH_KEYS.includes(key));
  return Object.fromEntries(entries.map(([key, value]) => [key, within(value)]));
}

/** The long texts by the keys under which they stand. */
export function longTextsIn(input: Json): (readonly [key: string, text: string])[] {
  return Object.entries(input).flatMap(([key, value]) => textsBelow(key, value));
}

/** How many characters the value has as JSON, without those that quoting adds. */
export function jsonChars(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  let chars = 1;
  if (Array.isArray(value)) for (const one of value) chars += jsonChars(one) + 1;
  else if (isRecord(value))
    for (const key of Object.keys(value)) chars += key.length + 4 + jsonChars(value[key]);
  else return String(value).length;
  return Math.max(2, chars);
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > LONG_CHARS;
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => !isLong(one)).map(within);
  return isRecord(value) ? withoutLongTexts(value) : value;
}

function textsBelow(key: string, value: unknown): (readonly [key: string, text: string])[] {
  if (isLong(value)) return PATH_KEYS.includes(key) ? [] : [[key, value]];
  if (Array.isArray(value)) return value.flatMap((one) => textsBelow(key, one));
  return isRecord(value) ? longTextsIn(value) : [];
}
