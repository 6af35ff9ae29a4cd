import type { PageLanguage } from './texts.ts';

/** Numbers and times as a person reads them, in the language of the page. */
export type Format = ReturnType<typeof formatIn>;

/** The formats of one language. */
export function formatIn(language: PageLanguage) {
  const locale = language === 'ko' ? 'ko-KR' : 'en';
  const count = new Intl.NumberFormat(locale);
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const day = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  return {
    count: (value: number) => count.format(value),
    share: (part: number, all: number) => share.format(all === 0 ? 0 : part / all),
    /** Of `2026-03-01`. */
    day: (date: string) => day.format(new Date(date)),
    time: (iso: string) => time.format(new Date(iso)),
    usd: (value: number) => `$${value.toFixed(value >= 0.01 || value === 0 ? 2 : 4)}`,
    duration: (ms: number | null) => durationIn(language, ms),
    /** Evidence: a factor, of which 20 is enough. */
    evidence: (value: number) =>
      value >= 10 ? count.format(Math.floor(value)) : (Math.floor(value * 10) / 10).toFixed(1),
  };
}

function durationIn(language: PageLanguage, ms: number | null): string {
  if (ms === null) return '–';
  const [h, m, s] = language === 'ko' ? ['시간', '분', '초'] : [' h', ' min', ' s'];
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const parts = (...all: readonly (readonly [number, string])[]) =>
    all.flatMap(([value, unit], index) => (value > 0 || index === 0 ? [`${value}${unit}`] : [])).join(' ');
  if (minutes >= 60) return parts([Math.floor(minutes / 60), h as string], [minutes % 60, m as string]);
  if (minutes >= 10) return `${minutes}${m}`;
  return minutes > 0 ? parts([minutes, m as string], [seconds % 60, s as string]) : `${seconds}${s}`;
}
