/** What a run has to do with a pool of machines. */
export type PoolRole = PoolPlace | PoolService;

/** It works on a machine of a pool: its process here only waits for that. */
export type PoolPlace = {
  readonly kind: 'away';
  readonly pool: string;
  /** From where the machine fetches the repository, without a login, and the branch there that has the commit. */
  readonly remote: string;
  readonly branch: string;
  /** What it begins with. */
  readonly commit: string;
  /** The directory in the repository; '': its root. */
  readonly inside: string;
};

/** It works here, for a member of the team who asked for it elsewhere. */
export type PoolService = {
  readonly kind: 'served';
  /** The worker that took it: when that ends, so does the run. */
  readonly worker: string;
  /** What its client may spend; null: what this machine's settings say. */
  readonly budgetUsd: number | null;
};

/** The name of a pool. */
export const POOL_NAME = /^[a-z0-9][a-z0-9_-]{0,40}$/;

/** Whether the run's client works on another machine. */
export function isAway(run: { readonly pool: PoolRole | null }): boolean {
  return run.pool?.kind === 'away';
}
