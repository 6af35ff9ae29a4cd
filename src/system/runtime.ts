/** Our settings and git's own marks are far smaller; what is larger is something else. */
export const TEXT_FILE_BYTES_MAX = 256 * 1024;

export type FileStamp = { readonly bytes: number; readonly modifiedMs: number };

/**
 * What the hook path needs from the JavaScript runtime. Two implementations, chosen by the package's
 * `imports` condition "#runtime": never by an `if` at run time.
 */
export interface Runtime {
  /** Standard input, chunk by chunk. */
  stdinChunks(): AsyncIterable<Uint8Array>;
  /** Writes the whole text to standard output before it resolves. */
  writeStdout(text: string): Promise<void>;
  /** The text of a file of at most 256 KiB, or so many bytes, without byte order mark; undefined when there is none. Never throws. */
  readTextFile(path: string, bytesMax?: number): string | undefined;
  /** The text between two places of a file, at most 256 KiB; undefined when it cannot be read here. Never throws. */
  readTextPart(path: string, from: number, until: number): string | undefined;
  /** A document of JSON5; undefined when it is none. Under Node only JSON is one. Never throws. */
  parseJson5(text: string): unknown;
  /** Whether anything stands at this path. Never throws. */
  pathExists(path: string): boolean;
  /** Size and modification time of a file; 0 bytes when there is none. Never throws. */
  fileStamp(path: string): FileStamp;
  /** Replaces the file's content; a failure is ignored. For marks that nobody misses, never for data. */
  writeMark(path: string, text: string): void;
  /** SHA-256 of a text, as 64 hexadecimal digits. */
  sha256(text: string): string;
  /** HMAC-SHA256 (RFC 2104) of a text under a key, as 64 hexadecimal digits. */
  hmacSha256(key: string, text: string): string;
  /** Gives back memory now, where the runtime can be asked to. */
  collectGarbage(): void;
}
