import type { Environment } from '../core/state-paths.ts';

/** Names the place at which a test ends a process as hard as a power cut would. */
export const CHECKPOINT_VARIABLE = 'SELF_GENERATION_CRASH_AT';

/** Ends this process at once when the environment names this place. */
export function checkpoint(place: string, env: Environment): void {
  if (env[CHECKPOINT_VARIABLE] === place) process.kill(process.pid, 'SIGKILL');
}
