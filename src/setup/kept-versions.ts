import { linkSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, parse } from 'node:path';
import { lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { copyFileAtomic, realPath, temporariesOf } from '../system/atomic-file.ts';
import { type RunningProgram, runningPrograms } from '../system/running-programs.ts';
import { type CheckWorld, type Finding, ok } from './checks.ts';

/** The program in its place, and those that stood there before, which sessions that go on may still run. */

type Place = Pick<StatePaths, 'binary' | 'hooks' | 'versions'>;

/** Longer than a copy of the program takes. */
const STALE_MS = 3_600_000;

/** Where the program that stands in its place is kept under the name of its version. */
export function keptPath({ binary, versions }: Place, version: string): string {
  const { name, ext } = parse(binary);
  return join(versions, `${name}-${version}${ext}`);
}

/** Keeps the program in its place under its version, and gives that path. @throws Error from the system. */
export function keepVersion(place: Place, version: string): string {
  const path = keptPath(place, version);
  mkdirSync(place.versions, { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  try {
    linkSync(place.binary, path);
  } catch {
    copyFileAtomic(place.binary, path, { mode: 0o700 }); // Not every file system has hard links.
  }
  return path;
}

/** Puts a program into its place while sessions run the old one: there is one at any time. @throws Error that names the place. */
export function putProgram(source: string, place: Place, platform: string): void {
  const isWindows = platform === 'win32';
  if (isWindows) mkdirSync(place.versions, { recursive: true, mode: 0o700 });
  const aside = keptPath(place, `before-${Date.now()}`);
  copyFileAtomic(source, place.binary, { mode: 0o700, ...(isWindows && { aside }) });
}

/**
 * Removes the programs of earlier versions when no process runs one of them, and what an install that was killed has left of a
 * copy. Returns their paths: of those that went, and of those that stay.
 */
export function removeUnusedVersions(
  { binary, hooks, versions }: Place,
  running: readonly RunningProgram[] = runningPrograms(),
): { readonly removed: readonly string[]; readonly stay: readonly string[] } {
  const start = `${basename(binary).replace(/\.exe$/, '')}-`;
  const kept = lookOr(() => readdirSync(versions), [] as string[]).filter((name) => name.startsWith(start));
  const places = new Set([binary, `${realPath(hooks)}/${basename(binary)}`]);
  const folders = [`${versions}/`, `${realPath(versions)}/`];
  const isUsed = running.some(
    ({ path, isReplaced }) =>
      (isReplaced && places.has(path)) || folders.some((folder) => path.startsWith(folder)),
  );
  // Windows does not let go of one that runs.
  const isRemoved = (path: string) =>
    lookOr(() => {
      rmSync(path);
      return true;
    }, false);
  const { removed = [], stay = [] } = Object.groupBy(
    kept.map((name) => join(versions, name)),
    (path) => (!isUsed && isRemoved(path) ? 'removed' : 'stay'),
  );
  const isStale = (path: string) => statSync(path).ctimeMs < Date.now() - STALE_MS;
  for (const path of temporariesOf(binary)) if (lookOr(() => isStale(path), false)) isRemoved(path);
  lookOr(() => rmdirSync(versions), undefined); // Not while something is in it.
  return { removed, stay };
}

/** Doctor's finding about the programs of earlier versions, which it removes when no session runs them; none where there are none. */
export function checkVersions({ paths }: Pick<CheckWorld, 'paths'>): Finding[] {
  const { removed, stay } = removeUnusedVersions(paths);
  if (stay.length > 0) return [ok(`kept as long as a session runs one: ${stay.join(', ')}`)];
  return removed.length > 0 ? [ok(`no session runs one any more; removed ${removed.join(', ')}`)] : [];
}
