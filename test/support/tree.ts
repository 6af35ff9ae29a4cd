import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Writes a file with this mode, with the directories that it needs, and gives its path. */
export function putFile(path: string, content: string | Buffer, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

/** Everything below a directory, by relative name: kind, mode and content of each path. */
export function treeBelow(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(names.map((name) => [name, describePath(join(directory, name))]));
}

/** As `treeBelow()`, with the directory itself under the empty name. */
export function treeOf(directory: string): Record<string, string> {
  return { '': describePath(directory), ...treeBelow(directory) };
}

function describePath(path: string): string {
  const stats = lstatSync(path);
  const mode = (stats.mode & 0o7777).toString(8);
  if (stats.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  return stats.isDirectory() ? `directory ${mode}` : `file ${mode} ${readFileSync(path, 'utf8')}`;
}
