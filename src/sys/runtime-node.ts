import { existsSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import type { FileStamp, Runtime } from './runtime.ts';

export function stdinChunks(): AsyncIterable<Uint8Array> {
  return process.stdin;
}

export async function writeStdout(text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(1, bytes, offset);
}

export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8') || undefined;
  } catch {
    return undefined; // An unreadable file is an absent one: the contract of this function.
  }
}

export function pathExists(path: string): boolean {
  return existsSync(path);
}

export function fileStamp(path: string): FileStamp {
  const stats = statSync(path, { throwIfNoEntry: false });
  return { bytes: stats?.size ?? 0, modifiedMs: stats?.mtimeMs ?? 0 };
}

export function writeMark(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    // A mark that cannot be set is not worth a word.
  }
}

({ stdinChunks, writeStdout, readTextFile, pathExists, fileStamp, writeMark }) satisfies Runtime;
