import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { collectGarbage } from '#runtime';
import { lookOr } from '../core/guards.ts';
import { LongJson } from '../core/long-json.ts';
import { withOpenFile } from './files.ts';

/** A line of a file and where it lies; `end` is behind its line end. `bytes` are valid until the next line is asked for. */
type Line = {
  readonly start: number;
  readonly end: number;
  /** False for the last line of a file that does not end in a line end: somebody may be writing it. */
  readonly isEnded: boolean;
} & ({ readonly kind: 'line'; readonly bytes: Uint8Array } | { readonly kind: 'too-long' });

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
/** What has been read leaves strings behind, which a runtime collects late when nothing else asks for memory. */
const COLLECT_BYTES = 48 * 1024 * 1024;

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
  #sinceCollected = 0;

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
    this.#collect(length);
    return length > 0;
  }

  #collect(length: number): void {
    this.#sinceCollected += length;
    if (this.#sinceCollected < COLLECT_BYTES) return;
    this.#sinceCollected = 0;
    collectGarbage();
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
  return withOpenFile(path, 'r', (file) => {
    const bytes = Buffer.allocUnsafe(bytesMax);
    const read = bytes.subarray(0, readSync(file, bytes, 0, bytesMax, 0));
    const end = read.indexOf(LINE_END);
    return end < 0 && read.length === 0 ? undefined : read.subarray(0, end < 0 ? read.length : end);
  });
}

const LONG_LINE_BYTES = 1024 * 1024;
/** Between two looks at everything else. */
const ROUND_BYTES = 4 * 1024 * 1024;

/**
 * Follows the lines of a file that another process writes: split at line feeds and nothing else, UTF-8 put together
 * across writes, in memory that does not depend on the length of a line. To be closed. @throws Error from the system
 * when the file cannot be opened or read.
 */
export class GrowingFile {
  readonly #file: number;
  readonly #lineBytesMax: number;
  readonly #chunk: Buffer;
  /** The line that has begun: its parts, or, when it is too long for that, what is kept of it. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #long: LongJson | undefined;
  #readUntil = 0;
  #sinceCollected = 0;

  /** `chunkBytes`: how much is read at once. `lineBytesMax`: a longer line is shortened, as a document of JSON. */
  constructor(path: string, { chunkBytes = CHUNK_BYTES, lineBytesMax = LONG_LINE_BYTES } = {}) {
    this.#file = openSync(path, 'r');
    this.#chunk = Buffer.allocUnsafe(chunkBytes);
    this.#lineBytesMax = lineBytesMax;
  }

  /** How long the file is now. */
  bytes(): number {
    return fstatSync(this.#file).size;
  }

  /** Hands over the next whole lines, of about so many bytes. False: there is nothing more for now. */
  read(onLine: (line: string) => void, bytesMax: number): boolean {
    for (let taken = 0; taken < bytesMax; ) {
      const length = readSync(this.#file, this.#chunk, 0, this.#chunk.length, this.#readUntil);
      if (length === 0) return false;
      this.#readUntil += length;
      taken += length;
      this.#split(this.#chunk.subarray(0, length), onLine);
      this.#collect(length);
    }
    return true;
  }

  /** Hands over the last line, which nothing has ended; for when nobody writes any more. */
  readRest(onLine: (line: string) => void): void {
    if (!this.#isBetweenLines()) this.#endLine(onLine);
  }

  /**
   * Hands over what is in the file by now, but no more than so many bytes of it, and its last line. Whoever goes on
   * writing meanwhile is not waited for: that may be without end.
   */
  async readRemaining(onLine: (line: string) => void, bytesMax: number): Promise<void> {
    const end = Math.min(this.bytes(), this.#readUntil + bytesMax);
    while (this.#readUntil < end && this.read(onLine, Math.min(ROUND_BYTES, end - this.#readUntil))) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.readRest(onLine);
  }

  close(): void {
    closeSync(this.#file);
  }

  #split(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_END, start);
      if (end < 0) break;
      if (this.#isBetweenLines()) onLine(chunk.toString('utf8', start, end));
      else {
        this.#append(chunk.subarray(start, end));
        this.#endLine(onLine);
      }
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
  }

  #isBetweenLines(): boolean {
    return this.#partsBytes === 0 && this.#long === undefined;
  }

  #append(bytes: Buffer): void {
    this.#partsBytes += bytes.length;
    if (this.#long === undefined && this.#partsBytes > this.#lineBytesMax) {
      this.#long = new LongJson();
      for (const part of this.#parts.splice(0)) this.#long.push(part);
    }
    if (this.#long !== undefined) this.#long.push(bytes);
    else if (bytes.length > 0) this.#parts.push(Buffer.from(bytes)); // The chunk is read into again.
  }

  #endLine(onLine: (line: string) => void): void {
    const bytes = this.#long === undefined ? Buffer.concat(this.#parts) : this.#long.take();
    this.#long = undefined;
    this.#parts = [];
    this.#partsBytes = 0;
    if (bytes !== undefined)
      onLine(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  }

  #collect(length: number): void {
    this.#sinceCollected += length;
    if (this.#sinceCollected < COLLECT_BYTES / 2) return;
    this.#sinceCollected = 0;
    collectGarbage();
  }
}

/** The last bytes of a file as text, at most so many; empty when there is none. Never throws. */
export function readTail(path: string, bytesMax: number): string {
  const read = () =>
    withOpenFile(path, 'r', (file) => {
      const from = Math.max(0, fstatSync(file).size - bytesMax);
      const bytes = Buffer.alloc(bytesMax);
      const tail = bytes.toString('utf8', 0, readSync(file, bytes, 0, bytesMax, from));
      // The cut may go through a character, and does go through a line.
      return from === 0 ? tail : tail.slice(tail.indexOf('\n') + 1);
    });
  return lookOr(read, '');
}
