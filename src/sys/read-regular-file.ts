import { readFileSync, statSync } from 'node:fs';

/** The text of a file, undefined where there is none. @throws Error for what is there and is no file that can be read. */
export function readRegularFile(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  // Anything else, a pipe for one, might never come to an end.
  if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
  return readFileSync(path, 'utf8');
}
