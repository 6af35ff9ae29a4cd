import { randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, parse } from 'node:path';
import { lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { tryProcessLock } from '../hooks/store/use-database.ts';
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

const LOCK = 'update.lock';

/**
 * Takes the lock of whoever keeps or removes programs, which ends with its process. Returns the function that releases it, or
 * undefined while another has it. @throws Error from the system.
 */
export function lockVersions({ versions }: Pick<Place, 'versions'>): (() => void) | undefined {
  mkdirSync(versions, { recursive: true, mode: 0o700 });
  const file = join(versions, LOCK);
  const release = tryProcessLock(file);
  if (release === undefined) return undefined;
  return () => {
    lookOr(() => rmSync(file), undefined); // Windows does not let go of it; uninstall removes it.
    release();
    lookOr(() => rmdirSync(versions), undefined); // Not while something is in it.
  };
}

/** Puts a program into its place while sessions run the old one: there is one at any time. @throws Error that names the place. */
export function putProgram(source: string, place: Place, platform: string): void {
  const isWindows = platform === 'win32';
  if (isWindows) mkdirSync(place.versions, { recursive: true, mode: 0o700 });
  const aside = keptPath(place, `before-${Date.now()}`);
  copyFileAtomic(source, place.binary, { mode: 0o700, ...(isWindows && { aside }) });
}

/**
 * Removes a program. Windows does not let go of one that runs, such as this very one, but lets it be put aside: then it goes to
 * where temporary files are. @throws Error from the system.
 */
export function removeProgram(path: string, platform: string, remove: (path: string) => void = rmSync): void {
  try {
    remove(path);
  } catch (error) {
    if (platform !== 'win32') throw error;
    renameSync(path, join(tmpdir(), `${randomUUID()}-${basename(path)}`));
  }
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
  const unlock = existsSync(paths.versions) ? lockVersions(paths) : () => {};
  if (unlock === undefined) return [ok('an update is going on')];
  const { removed, stay } = removeUnusedVersions(paths);
  unlock();
  if (stay.length > 0) return [ok(`kept as long as a session runs one: ${stay.join(', ')}`)];
  return removed.length > 0 ? [ok(`no session runs one any more; removed ${removed.join(', ')}`)] : [];
}
