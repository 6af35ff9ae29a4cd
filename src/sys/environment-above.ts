import { readFileSync } from 'node:fs';
import { statOf } from './process-identity.ts';

/** A chain of processes that is longer runs in a circle. */
const LEVELS_MAX = 64;

/**
 * Whether a process above this one was started with the variable, however its own environment looks by now. False where
 * the system does not tell.
 */
export function isSetAbove(name: string, pid: number = process.pid): boolean {
  if (process.platform !== 'linux') return false;
  let parent = statOf(pid)?.parent ?? 0;
  for (let level = 0; level < LEVELS_MAX && parent > 1; level++) {
    if (isSetIn(parent, name)) return true;
    parent = statOf(parent)?.parent ?? 0;
  }
  return false;
}

function isSetIn(pid: number, name: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
    return environment.startsWith(`${name}=`) || environment.includes(`\0${name}=`);
  } catch {
    return false; // It has just ended, or is another user's.
  }
}
