import { cleanText, cutText } from '../text.ts';
import type { Usage } from './usage.ts';

/** The line that ends every announcement. */

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

/** A name that a client gave: it cannot pass for another part of the line. */
function word(text: string): string {
  return cutText(plain(text).replaceAll('•', '·'), ID_LENGTH_MAX);
}
