import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { collectGarbage } from '#runtime';
import { LongJson } from '../core/long-json.ts';

export type GrowingFileOptions = {
  /** How much is read at once. */
  readonly chunkBytes?: number;
  /** A longer line is shortened while it is read, as a document of JSON. */
  readonly lineBytesMax?: number;
};

const READ_BYTES = 256 * 1024;
const LONG_LINE_BYTES = 1024 * 1024;
/** What has been read leaves strings behind, which a runtime collects late when nothing else asks for memory. */
const COLLECT_BYTES = 24 * 1024 * 1024;
/** Between two looks at everything else. */
const ROUND_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Follows the lines of a file that another process writes: split at line feeds and nothing else, UTF-8 put together
 * across writes, in memory that does not depend on the length of a line. To be closed. @throws Error from the system
 * when the file cannot be opened or read.
 */
export class GrowingFile {
  readonly #file: number;
  readonly #lineBytesMax: number;
  readonly #chunk: Buffer;
  /** The line that has begun: its bytes, or, when it is too long for that, what is kept of it. */
  #line: Buffer = Buffer.alloc(0);
  #lineLength = 0;
  #long: LongJson | undefined;
  #readUntil = 0;
  #sinceCollected = 0;

  constructor(
    path: string,
    { chunkBytes = READ_BYTES, lineBytesMax = LONG_LINE_BYTES }: GrowingFileOptions = {},
  ) {
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
      const end = chunk.indexOf(LINE_FEED, start);
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
    return this.#lineLength === 0 && this.#long === undefined;
  }

  #append(bytes: Buffer): void {
    if (this.#long === undefined && this.#lineLength + bytes.length > this.#lineBytesMax) {
      this.#long = new LongJson();
      this.#long.push(this.#line.subarray(0, this.#lineLength));
      this.#line = Buffer.alloc(0);
      this.#lineLength = 0;
    }
    if (this.#long !== undefined) this.#long.push(bytes);
    else this.#hold(bytes);
  }

  #hold(bytes: Buffer): void {
    const length = this.#lineLength + bytes.length;
    if (length > this.#line.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#lineBytesMax, Math.max(length, this.#line.length * 2)));
      this.#line.copy(grown, 0, 0, this.#lineLength);
      this.#line = grown;
    }
    bytes.copy(this.#line, this.#lineLength);
    this.#lineLength = length;
  }

  #endLine(onLine: (line: string) => void): void {
    const bytes = this.#long === undefined ? this.#line.subarray(0, this.#lineLength) : this.#long.take();
    this.#long = undefined;
    this.#lineLength = 0;
    if (bytes !== undefined)
      onLine(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  }

  #collect(length: number): void {
    this.#sinceCollected += length;
    if (this.#sinceCollected < COLLECT_BYTES) return;
    this.#sinceCollected = 0;
    collectGarbage();
  }
}

/** The last bytes of a file as text, at most so many; empty when there is none. Never throws. */
export function readTail(path: string, bytesMax: number): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const from = Math.max(0, fstatSync(file).size - bytesMax);
    const bytes = Buffer.alloc(bytesMax);
    const length = readSync(file, bytes, 0, bytesMax, from);
    // The cut may go through a character, and does go through a line.
    const tail = bytes.toString('utf8', 0, length);
    return from === 0 ? tail : tail.slice(tail.indexOf('\n') + 1);
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
