import { type FileStamp, type Runtime, TEXT_FILE_BYTES_MAX } from './runtime.ts';

/**
 * Loading node:fs costs a Bun process about 1.4 ms, a third of its whole start, so the hook path reads through
 * Bun's own synchronous calls. Bun.mmap does not exist on Windows: there node:fs is loaded after all.
 */

/** What Bun.file(path).lastModified says of a path at which nothing stands (2^52 - 1). */
const ABSENT_LAST_MODIFIED = 4503599627370495;

export function stdinChunks(): AsyncIterable<Uint8Array> {
  return Bun.stdin.stream();
}

export async function writeStdout(text: string): Promise<void> {
  console.log(text); // Bun's own synchronous writer: the cheapest way out, and complete when it returns.
}

export function readTextFile(path: string, bytesMax = TEXT_FILE_BYTES_MAX): string | undefined {
  const bytes = fileStamp(path).bytes; // Of pipes and devices this is 0 or endless.
  if (!(bytes > 0 && bytes <= bytesMax)) return undefined;
  try {
    if (process.platform !== 'win32') return new TextDecoder().decode(Bun.mmap(path)) || undefined;
  } catch (error) {
    // Bun maps files for writing too. Anything else than a file that we may only read is none.
    if (!READ_ONLY.includes(String((error as { code?: unknown }).code))) return undefined;
  }
  return readSlowly(path);
}

const READ_ONLY = ['EACCES', 'EPERM', 'EROFS', 'ETXTBSY'];

function readSlowly(path: string): string | undefined {
  try {
    const text = process.getBuiltinModule('node:fs').readFileSync(path, 'utf8');
    return text.replace(/^\ufeff/, '') || undefined;
  } catch {
    return undefined; // An unreadable file is an absent one: the contract of readTextFile().
  }
}

export function readTextPart(path: string, from: number, until: number): string | undefined {
  if (process.platform === 'win32' || until - from > TEXT_FILE_BYTES_MAX) return undefined;
  try {
    const bytes = Bun.mmap(path); // Takes no memory but for the pages that are looked at.
    return bytes.length < until ? undefined : new TextDecoder().decode(bytes.subarray(from, until));
  } catch {
    return undefined; // Not there, or only to be read.
  }
}

export function parseJson5(text: string): unknown {
  try {
    return Bun.JSON5.parse(text);
  } catch {
    return undefined;
  }
}

export function pathExists(path: string): boolean {
  return fileStamp(path).modifiedMs !== ABSENT_LAST_MODIFIED;
}

export function fileStamp(path: string): FileStamp {
  try {
    const file = Bun.file(path);
    return { bytes: file.size, modifiedMs: file.lastModified };
  } catch {
    return { bytes: 0, modifiedMs: ABSENT_LAST_MODIFIED }; // A path that no file can have.
  }
}

export function sha256(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex');
}

export function hmacSha256(key: string, text: string): string {
  return new Bun.CryptoHasher('sha256', key).update(text).digest('hex');
}

export function collectGarbage(): void {
  Bun.gc(true);
}

export function writeMark(path: string, text: string): void {
  try {
    Bun.write(path, text).catch(() => {});
  } catch {
    // A mark that cannot be set is not worth a word.
  }
}

({
  stdinChunks,
  writeStdout,
  readTextFile,
  readTextPart,
  parseJson5,
  pathExists,
  fileStamp,
  writeMark,
  sha256,
  hmacSha256,
  collectGarbage,
}) satisfies Runtime;
