import { oneLine } from '../core/text.ts';

/** Masks, for recognising only: what differs from one time to the next. */

/** A line in which numbers, hashes, absolute paths, addresses and long quotations are masked. */
export function maskLine(line: string): string {
  return oneLine(line)
    .replace(/\bhttps?:\/\/\S+/g, '…')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}\b/gi, '#')
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7,64}\b/g, '#')
    .replace(/(["'`])(?:(?!\1).){41,}\1/g, '"…"')
    .replace(/(?<![\w.@-])(?:~|[A-Za-z]:)?(?:[\\/][\w.@+ -]*[\w.@+-](?=[\\/]))+[\\/][\w.@+-]+[\\/]?/g, '…')
    .replace(/(?<![A-Za-z]{2}\d*)\d+(?:\.\d+)*/g, (number, at: number, text: string) =>
      isPort(number, text.slice(Math.max(0, at - 12), at)) ? number : '#',
    )
    .replace(/^(?:error|fatal|warning|npm (?:error|ERR!)(?: code)?|bash|sh|zsh)(?:: (?:line #: )?| )/i, '')
    .trim();
}

const EPHEMERAL_PORT = 32_768;

/** Which port it is says what is not there; those that the system hands out differ each time. */
function isPort(number: string, before: string): boolean {
  return /(?:\bport[ =:]|localhost:|\d\.\d+:|::)$/i.test(before) && Number(number) < EPHEMERAL_PORT;
}

/** What messages about one rule share; what differs becomes `…`. */
export function sharedWords(messages: readonly string[]): string {
  const [first = '', ...others] = [...new Set(messages)].map((message) => message.split(' '));
  if (first === '') return '';
  const sharedWith = (words: readonly string[]) => first.filter((word) => words.includes(word)).length;
  const [most] = others.sort((left, right) => sharedWith(right) - sharedWith(left));
  if (most === undefined || sharedWith(most) < 3) return withoutNames(first);
  const told: string[] = [];
  for (const word of first) {
    if (most.includes(word)) told.push(word);
    else if (told.at(-1) !== '…') told.push('…');
  }
  return withoutNames(told);
}

const NAME_LENGTH_MAX = 32;

/** Long names are of the place at which the rule was broken. */
function withoutNames(words: readonly string[]): string {
  return words
    .map((word) => (word.length > NAME_LENGTH_MAX ? '…' : word))
    .join(' ')
    .replace(/…(?: …)+/g, '…');
}
