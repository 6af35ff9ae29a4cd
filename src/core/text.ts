/** Texts: cut and cleaned without breaking them, compared, counted. */

/** ANSI escape sequences: CSI (also as one C1 byte), OSC up to its terminator, and two-byte escapes. */
const ANSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g;
/** C0 and C1 controls except tab, line feed and carriage return. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/**
 * Zero-width, blank and bidirectional characters, selectors and tags, which make text read differently from what it
 * says. Joiners stay where emoji and some scripts need them, which is never beside ASCII.
 */
const INVISIBLE =
  /\u034f|\u17b4|\u17b5|[\u180b-\u180d\u180f]|[\ufe00-\ufe0e]|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]|\ud80d[\udc30-\udc3f]|\ud82f[\udca0-\udca3]|\ud834[\udd73-\udd7a]|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])/g;

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
  return looksOf(text) === 'odd' ? withoutOddities(text) : text;
}

function withoutOddities(text: string): string {
  return text.toWellFormed().replace(ANSI, '').replace(CONTROL, '').replace(INVISIBLE, '');
}

/** `plain`: no character that could be part of a tag or a token. `odd`: there may be something to clean. */
type Looks = 'plain' | 'clean' | 'odd';

/** Short texts are looked through first: that is cheaper than expressions, which a hook would use once. */
function looksOf(text: string): Looks {
  if (text.length > 1024) return 'odd';
  let looks: Looks = 'plain';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x7f) {
      if (code < 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return 'odd';
      // # & < [ \\
      if (code === 0x23 || code === 0x26 || code === 0x3c || code === 0x5b || code === 0x5c) looks = 'clean';
    } else if (code < 0xac00 || code > 0xd7a3) {
      const isLetter =
        (code >= 0xa0 && code < 0x300 && code !== 0xad) ||
        (code >= 0x2070 && code < 0x3164 && code !== 0x2800) ||
        (code > 0x3164 && code < 0xd800);
      if (!isLetter) return 'odd';
      looks = 'clean';
    }
  }
  return looks;
}

/** The text on one line, each run of white space a single blank. */
export function oneLine(text: string): string {
  return joined(cleanText(text));
}

/** The same, and whether it is so plain that there is nothing to look for in it. */
export function lineAndLooks(text: string): { readonly line: string; readonly isPlain: boolean } {
  const looks = looksOf(text);
  return { line: joined(looks === 'odd' ? withoutOddities(text) : text), isPlain: looks === 'plain' };
}

function joined(text: string): string {
  const clean = text.trim();
  const isOneLine =
    !clean.includes('\n') && !clean.includes('\t') && !clean.includes('\r') && !clean.includes('  ');
  return isOneLine ? clean : clean.replace(/\s+/g, ' ');
}

/**
 * Whether it has characters that pass for others: modifier and small letters, joiners, signs of mathematics, brackets of
 * CJK, full-width forms, and half pairs of letters in circles or of another style.
 */
export function hasLookAlike(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0xab || (code > 0xab && code < 0x2b0) || (code >= 0x303f && code < 0xa789)) continue; // Latin, CJK
    if (code < 0x300 || (code >= 0x1400 && code < 0x1dc0) || code === 0x200c || code === 0x200d) return true;
    if ((code >= 0x2039 && code < 0x303f) || (code >= 0xfe30 && code < 0xff61)) return true;
    if (code === 0xa789 || code === 0xd834 || code === 0xd835 || code === 0xd83c) return true;
  }
  return false;
}

/**
 * A short name of a text, 53 bits as at most 11 letters and digits: the same text gives the same name on every
 * machine. To recognise texts, not to protect them: who has the text can make another with the same name.
 */
export function fingerprint(text: string): string {
  // Two FNV-1a sums with different starts, each stirred once more at the end.
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
  }
  low = Math.imul(low ^ (low >>> 15) ^ high, 0x2c1b3c6d);
  high = Math.imul(high ^ (high >>> 13) ^ low, 0x297a2d39);
  return ((high >>> 11) * 0x1_0000_0000 + ((low ^ (low >>> 16)) >>> 0)).toString(36);
}

const LETTERS_MAX = 24;
const DIGITS_MAX = 13;
/** Of all words together that have a letter behind a digit: `k8s`, `i18n`, `e2e`, `3d`. */
const MIXED_MAX = 4;
const HEX_DIGITS_MAX = 24;
const SEPARATORS = ' ()-./:@_';

/**
 * An id or a name that a client or its user gives, as it may be stored. What neither makes is replaced by its fingerprint,
 * so that it stays one and the same without being told. Plain loops first: every hook has a few of these.
 */
export function safeName(name: string): string {
  return (isWords(name) && !name.includes('//')) || isHexadecimal(name) || isClientsId(name)
    ? name
    : `redacted-${fingerprint(name)}`;
}

/** Words of letters with a number behind them at most; of those with a letter behind a number only a few characters. */
function isWords(name: string): boolean {
  let letters = 0;
  let digits = 0;
  let isMixed = false;
  let mixed = 0;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
    if (isDigit) digits++;
    else if (isLetter) letters++;
    else if (code <= 0x7f && !SEPARATORS.includes(name[index] as string)) return false;
    else {
      letters = digits = 0;
      isMixed = false;
    }
    if (isMixed) mixed++;
    else if (isLetter && digits > 0) {
      isMixed = true;
      mixed += letters + digits;
    }
    if (letters > LETTERS_MAX || digits > DIGITS_MAX || mixed > MIXED_MAX) return false;
  }
  return true;
}

/** Hexadecimal digits, of which a UUID has the most: with its four dashes, or without any, as background runs have it. */
function isHexadecimal(name: string): boolean {
  let digits = 0;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if ((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66)) digits++;
    else if (code !== 0x2d) return false;
  }
  const isUuid = name.length === 32 || (name.length === 36 && name[8] === '-' && name[23] === '-');
  return digits <= HEX_DIGITS_MAX || (isUuid && digits === 32);
}

/** The ids of calls, messages and sessions, and the keys of background runs; Gemini CLI's calls have a tool and a time. */
function isClientsId(name: string): boolean {
  return /^(?:agent:[a-z][\w-]{0,24}:subagent:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent-a?(?:[a-z]{1,20}-)?[0-9a-f]{1,24}|[a-z]+(?:_[a-z]+){0,5}-\d{13}-[0-9a-f]{1,14}|(?:toolu|srvtoolu|call|ses|msg|prt|req|fc|item|thread|turn|chatcmpl|resp)[-_](?:[A-Za-z0-9]{2,10}[-_]){0,2}[A-Za-z0-9]{1,56})$/.test(
    name,
  );
}

/** `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How many characters at their beginning two texts share. */
export function sharedStart(left: string, right: string): number {
  let at = 0;
  while (at < left.length && left[at] === right[at]) at++;
  return at;
}
