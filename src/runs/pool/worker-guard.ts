import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { reconcile } from '../reconcile.ts';
import { readRuns } from '../store/rows.ts';
import { activeLiveness } from '../store/turns.ts';
import { ownProgram, type RunsWorld, runsWorld, thisProcess } from '../world.ts';

/**
 * A worker supervises its runs itself. This process beside it does nothing until the worker is gone: if that was killed, each of
 * its runs gets a supervisor, which ends the client since there is no worker.
 */

/** Longer than a supervisor that was claimed may take to begin. */
const WATCHES_MAX_MS = 15_000;
const LOOK_MS = 500;

/** Starts the process beside this worker; `end` when the worker ends by itself. @throws Error that says why it cannot be started */
export function startGuard(world: RunsWorld): { readonly end: () => void } {
  const [program, ...words] = ownProgram(world);
  const child = spawn(program, [...words, 'worker-guard'], {
    ...{ env: world.env, cwd: world.paths.home, detached: true, windowsHide: true },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.once('error', () => {}); // Seen by the missing id.
  if (child.pid === undefined) throw new Error(`"${program}" cannot be started`);
  child.stdin.on('error', () => {}); // It has ended before.
  child.unref();
  return { end: () => child.kill('SIGKILL') };
}

/** The whole process, called as `worker-guard`. Never comes back. */
export async function guardProcess(): Promise<never> {
  // A pipe that nobody writes to ends with the worker, however that ended.
  for await (const _none of process.stdin);
  const world = runsWorld(thisProcess());
  const endMs = performance.now() + WATCHES_MAX_MS;
  while (world !== undefined && performance.now() < endMs) {
    reconcile(world);
    if ((readRuns(world.paths, activeLiveness) ?? []).length === 0) break;
    await sleep(LOOK_MS);
  }
  process.exit(0);
}
