/** Times as a person writes and reads them. */

const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 86_400_000;
const HOURS_MAX = 48;
const SECONDS_MAX = 365 * 86_400;

/** How long ago something was: `just now`, `5m ago`, `47h ago`, `3d ago`. */
export function formatAge(passedMs: number): string {
  if (!(passedMs >= MS_PER_MINUTE)) return 'just now';
  if (passedMs < MS_PER_HOUR) return `${Math.floor(passedMs / MS_PER_MINUTE)}m ago`;
  if (passedMs < HOURS_MAX * MS_PER_HOUR) return `${Math.floor(passedMs / MS_PER_HOUR)}h ago`;
  return `${Math.floor(passedMs / MS_PER_DAY)}d ago`;
}

/** The same with seconds, for what goes on just now: `5s ago`. */
export function formatSince(passedMs: number): string {
  return passedMs < MS_PER_MINUTE ? `${Math.max(0, Math.floor(passedMs / 1000))}s ago` : formatAge(passedMs);
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

/** A time in words that every model knows; null when it has not come. */
export function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
