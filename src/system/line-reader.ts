import { closeSync, openSync, readSync } from 'node:fs';

/** A line of a file and where it lies; `end` is behind its line end. `bytes` are valid until the next line is asked for. */
export type Line =
  | {
      readonly kind: 'line';
      readonly bytes: Uint8Array;
      readonly start: number;
      readonly end: number;
      /** False for the last line of a file that does not end in a line end: somebody may be writing it. */
      readonly isEnded: boolean;
    }
  | { readonly kind: 'too-long'; readonly start: number; readonly end: number; readonly isEnded: boolean };

export type LineOptions = {
  /** Where the first line begins. */
  readonly from?: number;
  /** A longer line is passed over without being held in memory. */
  readonly lineBytesMax?: number;
  /** How much is read at once. */
  readonly chunkBytes?: number;
};

const LINE_BYTES_MAX = 32 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;

/**
 * Reads a file line by line, split at line feeds and nothing else, in memory of the size of its longest line. To be
 * closed. @throws Error from the system when the file cannot be opened or read.
 */
export class LineReader {
  readonly #file: number;
  readonly #lineBytesMax: number;
  readonly #chunkBytes: number;
  #buffer: Buffer;
  /** The unread bytes in the buffer, and where in the file the first of them lies. */
  #at = 0;
  #until = 0;
  #offset: number;

  constructor(
    path: string,
    { from = 0, lineBytesMax = LINE_BYTES_MAX, chunkBytes = CHUNK_BYTES }: LineOptions = {},
  ) {
    this.#file = openSync(path, 'r');
    this.#lineBytesMax = lineBytesMax;
    this.#chunkBytes = chunkBytes;
    this.#buffer = Buffer.allocUnsafe(chunkBytes);
    this.#offset = from;
  }

  /** The next line, or undefined at the end of the file. */
  next(): Line | undefined {
    let searched = 0;
    for (;;) {
      const unread = this.#buffer.subarray(this.#at, this.#until);
      const found = unread.indexOf(LINE_END, searched);
      if (found >= 0) return this.#take(found, 1);
      searched = unread.length;
      if (searched > this.#lineBytesMax) return this.#passOver();
      if (!this.#readMore()) return searched === 0 ? undefined : this.#take(searched, 0);
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #take(length: number, lineEndLength: number): Line {
    const start = this.#offset;
    const bytes = this.#buffer.subarray(this.#at, this.#at + length);
    this.#advance(length + lineEndLength);
    const place = { start, end: this.#offset, isEnded: lineEndLength > 0 };
    return length > this.#lineBytesMax ? { kind: 'too-long', ...place } : { kind: 'line', bytes, ...place };
  }

  #passOver(): Line {
    const start = this.#offset;
    for (;;) {
      const found = this.#buffer.subarray(this.#at, this.#until).indexOf(LINE_END);
      this.#advance(found < 0 ? this.#until - this.#at : found + 1);
      const isEnded = found >= 0;
      if (isEnded || !this.#readMore()) return { kind: 'too-long', start, end: this.#offset, isEnded };
    }
  }

  #advance(length: number): void {
    this.#at += length;
    this.#offset += length;
  }

  /** False at the end of the file. */
  #readMore(): boolean {
    const unread = this.#until - this.#at;
    if (this.#at > 0 || unread === this.#buffer.length) this.#makeRoom(unread);
    const wanted = Math.min(this.#buffer.length - this.#until, Math.max(this.#chunkBytes, unread));
    const length = readSync(this.#file, this.#buffer, this.#until, wanted, this.#offset + unread);
    this.#until += length;
    return length > 0;
  }

  /** Moves what is unread to the front of a buffer that has room for more; one that a long line has left is given back. */
  #makeRoom(unread: number): void {
    const size = Math.max(this.#chunkBytes, Math.min(unread * 2, this.#lineBytesMax + this.#chunkBytes));
    const isFitting = this.#buffer.length >= size && this.#buffer.length <= size * 4;
    const next = isFitting ? this.#buffer : Buffer.allocUnsafe(size);
    this.#buffer.copy(next, 0, this.#at, this.#until);
    this.#buffer = next;
    this.#at = 0;
    this.#until = unread;
  }
}

/**
 * The beginning of a file's first line, at most this long; undefined when the file has no line yet. @throws as above.
 */
export function readFirstLine(path: string, bytesMax: number): Uint8Array | undefined {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(bytesMax);
    const read = bytes.subarray(0, readSync(file, bytes, 0, bytesMax, 0));
    const end = read.indexOf(LINE_END);
    return end < 0 && read.length === 0 ? undefined : read.subarray(0, end < 0 ? read.length : end);
  } finally {
    closeSync(file);
  }
}
