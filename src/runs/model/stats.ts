import { cleanText, cutText } from '../../core/text.ts';
import type { ModelPrice } from '../../settings/run-settings.ts';
import type { Usage } from './turn.ts';

const MS_PER_SECOND = 1000;
const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 86_400_000;
const HOURS_MAX = 48;
const DAYS_MAX = 14;
const SECONDS_MAX = 365 * 86_400;

/** When something was, as people say it: `just now`, `42 s ago`, `5 min ago`, `47 h ago`, `13 d ago`, then the date. */
export function timeAgo(atMs: number, nowMs: number): string {
  const passedMs = nowMs - atMs;
  if (Number.isNaN(passedMs)) return 'at an unknown time';
  if (passedMs < MS_PER_SECOND) return 'just now';
  if (passedMs < MS_PER_MINUTE) return `${Math.floor(passedMs / MS_PER_SECOND)} s ago`;
  if (passedMs < MS_PER_HOUR) return `${Math.floor(passedMs / MS_PER_MINUTE)} min ago`;
  if (passedMs < HOURS_MAX * MS_PER_HOUR) return `${Math.floor(passedMs / MS_PER_HOUR)} h ago`;
  if (passedMs < DAYS_MAX * MS_PER_DAY) return `${Math.floor(passedMs / MS_PER_DAY)} d ago`;
  return localTime(atMs).slice(0, 'YYYY-MM-DD'.length);
}

/** A time by the clock of this machine, for people: `2026-11-20 09:47:09`. */
export function localTime(atMs: number): string {
  return new Date(atMs).toLocaleString('sv-SE');
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600 };

/** Seconds of `90`, `90s`, `10m` or `2h`, at most a year; undefined when it is something else. */
export function parseSeconds(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9})(s|m|h|)$/.exec(text.trim()) ?? [];
  if (count === '') return undefined;
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? 1);
  return seconds <= SECONDS_MAX ? seconds : undefined;
}

/** `1st`, `2nd`, `3rd`, `11th`. */
export function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13;
  const ending = isTeen ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[count % 10] ?? 'th');
  return `${count}${ending}`;
}

/** A time in ISO 8601; null stays null. */
export function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

const TOKENS_PER_PRICE = 1_000_000;

/** The usage with a cost: the client's own where it names one, else by the configured price; unknown stays unknown. */
export function priced(usage: Usage, prices: readonly ModelPrice[]): Usage {
  if (usage.costUsd !== null || usage.model === null) return usage;
  const price = priceOf(usage.model, prices);
  const costUsd = price === undefined ? null : costOf(usage, price);
  return costUsd === null ? usage : { ...usage, costUsd, costSource: 'priced' };
}

function priceOf(model: string, prices: readonly ModelPrice[]): ModelPrice | undefined {
  return (
    prices.find((price) => price.model === model) ??
    prices.find((price) => family(price.model) === family(model))
  );
}

/** Clients put their provider before a model's name, and the day of its release behind it. */
function family(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return name.replace(/-\d{8}$/, '');
}

/** Null unless both counts are known. What a cache held is part of the input, at a price of its own where there is one. */
function costOf(usage: Usage, price: ModelPrice): number | null {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === null || outputTokens === null) return null;
  const read = Math.min(usage.cacheReadTokens ?? 0, inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, inputTokens - read);
  const sum =
    (inputTokens - read - written) * price.input +
    read * (price.cacheRead ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return sum / TOKENS_PER_PRICE;
}

const ID_LENGTH_MAX = 200;
const COUNT_MILLION = 1_000_000;
const COUNT_THOUSAND = 1000;
const USD_SMALL = 0.01;

export type Stats = {
  /** Null or 0: not known. */
  readonly runtimeMs: number | null;
  readonly usage: Usage;
  readonly sessionKey: string;
  readonly sessionId: string | null;
  readonly transcript: string;
};

/** `Stats: runtime 5m12s • tokens 12.3k (in 10.1k / out 2.2k) • est $0.04 • sessionKey … • sessionId … • transcript …` */
export function statsLine({ runtimeMs, usage, sessionKey, sessionId, transcript }: Stats): string {
  const { costUsd, model } = usage;
  const parts = [
    `runtime ${formatDuration(runtimeMs)}`,
    tokensPart(usage),
    ...(costUsd === null ? [] : [`est ${formatUsd(costUsd)}`]),
    `sessionKey ${plain(sessionKey)}`,
    ...(sessionId === null ? [] : [`sessionId ${word(sessionId)}`]),
    `transcript ${plain(transcript)}`,
    ...(model === null ? [] : [`model ${word(model)}`]),
  ];
  return `Stats: ${parts.join(' • ')}`;
}

function tokensPart({ inputTokens, outputTokens }: Usage): string {
  if (inputTokens === null && outputTokens === null) return 'tokens n/a';
  const total = inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens;
  return `tokens ${formatCount(total)} (in ${formatCount(inputTokens)} / out ${formatCount(outputTokens)})`;
}

/** `1h5m`, `5m12s`, `12s`; `n/a` when it is not known or nothing. */
export function formatDuration(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms) || ms <= 0) return 'n/a';
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours > 0) return `${hours}h${minutes % 60}m`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}

/** `2.2m`, `12.3k`, `840`; `n/a` when it is not known. */
export function formatCount(count: number | null): string {
  if (count === null || !Number.isFinite(count)) return 'n/a';
  if (count >= COUNT_MILLION) return `${(count / COUNT_MILLION).toFixed(1)}m`;
  if (count >= COUNT_THOUSAND) return `${(count / COUNT_THOUSAND).toFixed(1)}k`;
  return String(Math.round(count));
}

/** `$0.04`; small amounts with four decimals. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(usd >= USD_SMALL ? 2 : 4)}`;
}

/** On one line; otherwise as it is, because a path may have any blanks. */
export function plain(text: string): string {
  return cleanText(text).replace(/[\r\n]+/g, ' ');
}

/** A name from a client, which must not look like another part of the line. */
function word(text: string): string {
  return cutText(plain(text).replaceAll('•', '·'), ID_LENGTH_MAX);
}
