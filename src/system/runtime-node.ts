import { createHash, createHmac } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { lookOr, parseJson } from '../core/guards.ts';
import { type FileStamp, type Runtime, TEXT_FILE_BYTES_MAX } from './runtime.ts';

export { parseJson as parseJson5 };

export function stdinChunks(): AsyncIterable<Uint8Array> {
  return process.stdin;
}

export async function writeStdout(text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(1, bytes, offset);
}

export function readTextFile(path: string, bytesMax = TEXT_FILE_BYTES_MAX): string | undefined {
  return lookOr(() => {
    const stats = statSync(path);
    if (!stats.isFile() || stats.size > bytesMax) return undefined;
    return readFileSync(path, 'utf8').replace(/^\ufeff/, '') || undefined;
  }, undefined);
}

export function readTextPart(path: string, from: number, until: number): string | undefined {
  if (until - from > TEXT_FILE_BYTES_MAX) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const bytes = Buffer.alloc(until - from);
    return readSync(file, bytes, 0, bytes.length, from) < bytes.length ? undefined : bytes.toString('utf8');
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export function pathExists(path: string): boolean {
  return existsSync(path);
}

export function fileStamp(path: string): FileStamp {
  // It throws for a path that no file can have.
  const stats = lookOr(() => statSync(path, { throwIfNoEntry: false }), undefined);
  return { bytes: stats?.size ?? 0, modifiedMs: stats?.mtimeMs ?? 0 };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function hmacSha256(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

export function collectGarbage(): void {
  // Node only collects on request when it was started so.
}

export function writeMark(path: string, text: string): void {
  lookOr(() => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }, undefined);
}

({
  stdinChunks,
  writeStdout,
  readTextFile,
  readTextPart,
  parseJson5: parseJson,
  pathExists,
  fileStamp,
  writeMark,
  sha256,
  hmacSha256,
  collectGarbage,
}) satisfies Runtime;
