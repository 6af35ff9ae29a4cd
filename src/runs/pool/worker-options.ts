import type { RunsWorld } from '../world.ts';

/** How a worker is started. What runs it talks to a server, and is loaded only then. */

export type WorkerOptions = {
  readonly pool: string;
  readonly slots: number;
  readonly name: string;
  readonly lostAfterMs: number;
  readonly allowsLocal: 'local too' | 'remote alone';
  /** What its user lets the runs do besides what their client is configured for. */
  readonly grants: readonly string[] | undefined;
};

/** The worker's surroundings: what it says, and how it is told to end. */
export type WorkerShell = {
  readonly say: (line: string) => void;
  /** Calls it each time that the worker is told to end, until the returned function is called. */
  readonly onEnd: (act: () => void) => () => void;
};

/** See worker.ts. */
export type RunWorker = (options: WorkerOptions, world: RunsWorld, shell: WorkerShell) => Promise<void>;
