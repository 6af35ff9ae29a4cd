/**
 * A line of JSON that is too long to be held: it comes in pieces and goes out as the same document with its long texts
 * cut and its long lists shortened. What a document says about itself (types, ids, counts) is short and stays.
 */

/** Of one text so much is kept: every character of what readers keep of it, even if each is written as an escape. */
const STRING_BYTES_MAX = 400 * 1024;
/** Beyond this, lists end where they are, and objects that lie deep. */
const DOCUMENT_BYTES_MAX = 2 * 1024 * 1024;
/** Beyond this the document is given up. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
/** Down to this depth objects are kept whole: counts and types lie there. */
const OBJECT_DEPTH_MAX = 4;
const DEPTH_MAX = 256;
/** `\ud83d\ude00`: as long as one character can be. */
const ESCAPE_LENGTH_MAX = 12;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Takes one line. Never throws, whatever is in it. */
export class LongJson {
  #out: Uint8Array = new Uint8Array(64 * 1024);
  #length = 0;
  /** The brackets that are open. */
  readonly #open: number[] = [];
  /** The depth of the list or object whose rest is left out; 0: nothing is. */
  #leftOutAt = 0;
  #isInString = false;
  /** Whether the next byte is the second of an escape. */
  #isEscaped = false;
  #stringStart = 0;
  #isStringCut = false;
  #isGivenUp = false;

  /** Takes the next piece of the line. */
  push(bytes: Uint8Array): void {
    let at = 0;
    // What is no object is no line of a client's.
    if (this.#length === 0 && bytes.length > 0 && bytes[0] !== OPEN_OBJECT) this.#isGivenUp = true;
    while (at < bytes.length && !this.#isGivenUp) {
      at = this.#isInString ? this.#takeString(bytes, at) : this.#takeStructure(bytes, at);
      if (this.#length > KEPT_BYTES_MAX || this.#open.length > DEPTH_MAX) this.#isGivenUp = true;
    }
  }

  /** The shortened document as UTF-8, valid until the next push; undefined when it had to be given up. */
  take(): Uint8Array | undefined {
    return this.#isGivenUp ? undefined : this.#out.subarray(0, this.#length);
  }

  /** Up to the quote that opens the next text, or to the end of the piece. */
  #takeStructure(bytes: Uint8Array, from: number): number {
    let start = from;
    const keepUntil = (end: number) => {
      if (this.#leftOutAt === 0) this.#keep(bytes, start, end);
    };
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        keepUntil(at + 1);
        this.#isInString = true;
        this.#isStringCut = this.#leftOutAt > 0;
        this.#stringStart = this.#length;
        return at + 1;
      }
      if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open.push(byte);
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        if (this.#leftOutAt > 0 && this.#leftOutAt === this.#open.length) {
          this.#leftOutAt = 0;
          start = at;
        }
        this.#open.pop();
      } else if (byte === COMMA && this.#leftOutAt === 0 && this.#isRestLeftOut(at - start)) {
        keepUntil(at);
        this.#leftOutAt = this.#open.length;
      }
    }
    keepUntil(bytes.length);
    return bytes.length;
  }

  #isRestLeftOut(pendingBytes: number): boolean {
    if (this.#length + pendingBytes <= DOCUMENT_BYTES_MAX) return false;
    return this.#open.at(-1) === OPEN_LIST || this.#open.length > OBJECT_DEPTH_MAX;
  }

  /** Up to and with the quote that closes the text, or to the end of the piece. */
  #takeString(bytes: Uint8Array, from: number): number {
    const end = this.#endOfString(bytes, from);
    const until = end < 0 ? bytes.length : end;
    if (!this.#isStringCut) {
      const room = STRING_BYTES_MAX - (this.#length - this.#stringStart);
      this.#keep(bytes, from, Math.min(until, from + room));
      if (until - from > room) this.#cutString();
    }
    if (end < 0) return bytes.length;
    if (this.#leftOutAt === 0) this.#keep(bytes, end, end + 1);
    this.#isInString = false;
    return end + 1;
  }

  /** Where the closing quote is; -1: not in this piece. Remembers an escape that the end of the piece cuts in two. */
  #endOfString(bytes: Uint8Array, from: number): number {
    for (let at = from; ; ) {
      const quote = bytes.indexOf(QUOTE, at);
      const until = quote < 0 ? bytes.length : quote;
      let slashes = 0;
      while (until - 1 - slashes >= from && bytes[until - 1 - slashes] === BACKSLASH) slashes++;
      // A run of backslashes that reaches back to the start of the piece goes on from the piece before.
      const isWholeRun = until - slashes === from && this.#isEscaped;
      const isEscaped = (slashes + (isWholeRun ? 1 : 0)) % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return -1;
      }
      if (!isEscaped) {
        this.#isEscaped = false;
        return quote;
      }
      at = quote + 1;
    }
  }

  /** Ends the text that is being kept before a character or an escape that did not fit whole. */
  #cutString(): void {
    this.#isStringCut = true;
    let end = this.#length;
    while (end > this.#stringStart && ((this.#out[end - 1] ?? 0) & 0xc0) === 0x80) end--;
    if (end > this.#stringStart && (this.#out[end - 1] ?? 0) >= 0xc0) end--;
    this.#length = this.#escapeBefore(end) ?? end;
  }

  /** Where the escape begins that lies in the last bytes, or the first half of a pair; undefined: there is none. */
  #escapeBefore(end: number): number | undefined {
    const from = Math.max(this.#stringStart, end - ESCAPE_LENGTH_MAX);
    for (let at = end - 1; at >= from; at--) {
      if (this.#out[at] !== BACKSLASH) continue;
      let first = at;
      while (first > this.#stringStart && this.#out[first - 1] === BACKSLASH) first--;
      // Two and two are written backslashes; one that is left over begins an escape.
      return (at - first) % 2 === 0 ? at : undefined;
    }
    return undefined;
  }

  #keep(bytes: Uint8Array, from: number, until: number): void {
    const length = until - from;
    if (length <= 0) return;
    if (this.#length + length > this.#out.length) {
      const grown = new Uint8Array(Math.max(this.#out.length * 2, this.#length + length));
      grown.set(this.#out.subarray(0, this.#length));
      this.#out = grown;
    }
    this.#out.set(bytes.subarray(from, until), this.#length);
    this.#length += length;
  }
}

const RUN_BYTES_MIN = 64 * 1024;
/** Of a run, its beginning stays: it may belong to an escape sequence before it. */
const KEPT_BYTES = 16;

/**
 * The bytes of a JSON document without what is encoded in it, such as images: of each long run of the letters of base64
 * only the beginning is left. What was a JSON document still is one, with the same shape.
 */
export function withoutBlobs(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [];
  let from = 0;
  // Of so long a run, one byte of each stretch of this length must be a letter, so most bytes need no look.
  const step = RUN_BYTES_MIN / 2;
  for (let at = step - 1; at < bytes.length; at += step) {
    if (!IS_LETTER[bytes[at] ?? 0]) continue;
    let start = at;
    while (start > from && IS_LETTER[bytes[start - 1] ?? 0]) start--;
    let end = at;
    while (end < bytes.length && IS_LETTER[bytes[end] ?? 0]) end++;
    if (end - start >= RUN_BYTES_MIN) {
      kept.push(bytes.subarray(from, start + KEPT_BYTES));
      from = end;
    }
    at = Math.max(at, end);
  }
  if (from === 0) return bytes;
  kept.push(bytes.subarray(from));
  return joined(kept);
}

/** By their codes: the letters of base64, also as addresses have them. */
const IS_LETTER = Array.from({ length: 256 }, (_, code) => /[\w+/=-]/.test(String.fromCharCode(code)));

function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
