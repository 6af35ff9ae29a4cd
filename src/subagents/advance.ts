import type { RunsWorld } from './features.ts';

/**
 * Starts what may start, looks after runs that nobody looks after, archives what is due. Quick when there is nothing to
 * do. Never throws: what goes wrong is noted in logs/runs.log.
 */
export function advance(_world: RunsWorld): void {}
