import { oneLine } from '../../core/text.ts';

/** The key under which an error is found again: its telling line without what differs each time. */

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
