import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from '../core/state-paths.ts';

const PATH_ENTRIES_MAX = 500;

/**
 * Where a program is found on the PATH. Relative entries are passed over: they would name a program inside whatever
 * repository the user is in.
 */
export function findProgram(name: string, env: Environment, platform: string): string | undefined {
  const isWindows = platform === 'win32';
  const path = (isWindows ? (env.PATH ?? env.Path) : env.PATH) ?? '';
  const names = isWindows ? [`${name}.exe`, `${name}.cmd`] : [name];
  return path
    .split(delimiter)
    .slice(0, PATH_ENTRIES_MAX)
    .filter((directory) => isAbsolute(directory))
    .flatMap((directory) => names.map((one) => join(directory, one)))
    .find(isExecutableFile);
}

/** The environment without what on the PATH would name a program inside the directory that one happens to be in. */
export function withAbsolutePath(env: Environment, platform: string): Environment {
  const isPath = (name: string) => (platform === 'win32' ? name.toUpperCase() : name) === 'PATH';
  const absolute = (path: string) => path.split(delimiter).filter(isAbsolute).join(delimiter);
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      isPath(name) && value !== undefined ? absolute(value) : value,
    ]),
  );
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
