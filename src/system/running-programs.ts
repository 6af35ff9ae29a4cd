import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { lookOr } from '../core/guards.ts';
import { ask } from './process-identity.ts';

/** A program's file that a process runs. `isReplaced`: another file stands there by now. */
export type RunningProgram = { readonly path: string; readonly isReplaced: boolean };

/** What Linux adds to the name of a file that is gone, or replaced. */
const GONE = ' (deleted)';
const PS_LINE = /^(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}) +(\S.*)$/;

/**
 * The files of all programs that run, as far as this user may know. Empty on Windows, which does not tell, but lets nobody
 * delete what runs.
 */
export function runningPrograms(): RunningProgram[] {
  if (process.platform === 'win32') return [];
  if (process.platform !== 'linux')
    return programsIn(ask('ps', ['-axww', '-o', 'lstart=,comm=']), changedMsOf);
  return lookOr(() => readdirSync('/proc'), []).flatMap((name) => {
    const path = /^\d+$/.test(name) ? lookOr(() => readlinkSync(`/proc/${name}/exe`), '') : '';
    const isReplaced = path.endsWith(GONE);
    return path === '' ? [] : [{ path: isReplaced ? path.slice(0, -GONE.length) : path, isReplaced }];
  });
}

/**
 * The same from what `ps -o lstart=,comm=` prints in UTC. There a replaced file is known by its time: it has changed since the
 * process started. `changedMs`: when, in ms since 1970; undefined where nothing stands there.
 */
export function programsIn(
  listing: string,
  changedMs: (path: string) => number | undefined,
): RunningProgram[] {
  return listing.split('\n').flatMap((line) => {
    const [, started = '', path = ''] = PS_LINE.exec(line.trim()) ?? [];
    // In whole seconds; what started in the second of the change may have the old file.
    return path === ''
      ? []
      : [{ path, isReplaced: Date.parse(`${started} UTC`) <= (changedMs(path) ?? Infinity) }];
  });
}

/** Putting a file in its place changes it, with whatever times it came. */
function changedMsOf(path: string): number | undefined {
  return lookOr(() => statSync(path).ctimeMs, undefined);
}
