import type { FileStamp, Runtime } from './runtime.ts';

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

export function readTextFile(path: string): string | undefined {
  try {
    return process.platform === 'win32' ? readSlowly(path) : new TextDecoder().decode(Bun.mmap(path));
  } catch {
    // Bun maps files for writing too, so this is one that we may only read, or none.
    return pathExists(path) ? readSlowly(path) : undefined;
  }
}

function readSlowly(path: string): string | undefined {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8') || undefined;
  } catch {
    return undefined; // An unreadable file is an absent one: the contract of readTextFile().
  }
}

export function pathExists(path: string): boolean {
  return Bun.file(path).lastModified !== ABSENT_LAST_MODIFIED;
}

export function fileStamp(path: string): FileStamp {
  const file = Bun.file(path);
  return { bytes: file.size, modifiedMs: file.lastModified };
}

export function writeMark(path: string, text: string): void {
  Bun.write(path, text).catch(() => {}); // A mark that cannot be set is not worth a word.
}

({ stdinChunks, writeStdout, readTextFile, pathExists, fileStamp, writeMark }) satisfies Runtime;
