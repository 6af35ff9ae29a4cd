/** Cutting and cleaning text without breaking it. */

/** ANSI escape sequences: CSI (also as one C1 byte), OSC up to its terminator, and two-byte escapes. */
const ANSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g;
/** C0 and C1 controls except tab, line feed and carriage return. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/**
 * Zero-width, blank and bidirectional characters and tags, which make text read differently from what it says. Not the
 * joiners, which emoji and some scripts need.
 */
const INVISIBLE =
  /\u034f|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|\udb40[\udc00-\udfff]/g;

/** The longest prefix of at most `lengthMax` UTF-16 units that does not end inside a code point. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  if (lengthMax <= 0) return '';
  const last = text.charCodeAt(lengthMax - 1);
  const cutsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, cutsPair ? lengthMax - 1 : lengthMax);
}

/** Well-formed text without escape sequences, control characters or invisible characters; line ends stay. */
export function cleanText(text: string): string {
  if (isClean(text)) return text;
  return text.toWellFormed().replace(ANSI, '').replace(CONTROL, '').replace(INVISIBLE, '');
}

/** Short texts are looked through first: that is cheaper than the three expressions, which a hook would use once. */
function isClean(text: string): boolean {
  if (text.length > 1024) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isPlain = (code >= 0x20 && code < 0x7f) || code === 0x0a || code === 0x0d || code === 0x09;
    const isLetter =
      (code >= 0xa0 && code < 0x300 && code !== 0xad) ||
      (code >= 0x2070 && code < 0x3164) ||
      (code > 0x3164 && code < 0xd800);
    if (!isPlain && !isLetter) return false;
  }
  return true;
}

/** The text on one line, each run of white space a single blank. */
export function oneLine(text: string): string {
  const clean = cleanText(text).trim();
  const isOneLine =
    !clean.includes('\n') && !clean.includes('\t') && !clean.includes('\r') && !clean.includes('  ');
  return isOneLine ? clean : clean.replace(/\s+/g, ' ');
}
