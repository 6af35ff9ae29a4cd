import type { Requester } from '../core/runs/run.ts';
import type { RunsWorld } from './features.ts';

/** Who asks, seen from this process. */
export function requesterHere(world: RunsWorld): Requester {
  throw new Error(`Cannot tell who asks in "${world.cwd}" yet`);
}

/** Whether this process is part of a sub-agent's run, by its own environment or that of the processes above it. */
export function isInsideRun(_world: RunsWorld): boolean {
  return false;
}
