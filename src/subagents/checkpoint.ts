import type { Environment } from '../core/state-paths.ts';

/**
 * Places at which a test ends a process as hard as a power cut would: `SELF_GENERATION_CRASH_AT` names one. Whoever can
 * set our environment can end our process anyway. A place is passed with `checkpoint('after-launch', world.env)`; places
 * are named where they stand, in the words `before-…` and `after-…`.
 */
export const CHECKPOINT_VARIABLE = 'SELF_GENERATION_CRASH_AT';

/** Ends this process at once when the environment names this place. */
export function checkpoint(place: string, env: Environment): void {
  if (env[CHECKPOINT_VARIABLE] === place) process.kill(process.pid, 'SIGKILL');
}
