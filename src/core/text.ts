/** Cutting and cleaning text without breaking it. */

/** ANSI escape sequences: CSI (also as one C1 byte), OSC up to its terminator, and two-byte escapes. */
const ANSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g;
/** C0 and C1 controls except tab, line feed and carriage return. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/** Zero-width and bidirectional controls, which make text read differently from what it says. Not the joiners. */
const INVISIBLE = /[\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;

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
  return text.toWellFormed().replace(ANSI, '').replace(CONTROL, '').replace(INVISIBLE, '');
}

/** The text on one line, each run of white space a single blank. */
export function oneLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}
