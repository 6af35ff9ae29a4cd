import { readFileSync, statSync } from 'node:fs';

/**
 * The bytes of a file. A pipe may have nobody at its other end, and a device no end, so they are not opened at all.
 * @throws Error that names the path for these; otherwise what the system says, with its code.
 */
export function readPlainFile(path: string): Buffer {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory())
    throw new Error(`Cannot read "${path}": it is a pipe or a device, not a file`);
  return readFileSync(path); // Of a directory the system says what it is.
}

/** The text of a file, undefined where there is none. @throws Error for what is there and is no file that can be read. */
export function readRegularFile(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  // Anything else, a pipe for one, might never come to an end.
  if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
  return readFileSync(path, 'utf8');
}
