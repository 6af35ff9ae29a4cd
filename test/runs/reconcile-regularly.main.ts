import { reconcileRegularly } from '../../src/runs/reconcile.ts';
import type { RunsWorld } from '../../src/runs/world.ts';

/** A process that lives long and looks after runs.   bun reconcile-regularly.main.ts WORLD */
const world = JSON.parse(process.argv[2] ?? '') as Omit<RunsWorld, 'now'>;
reconcileRegularly({ ...world, now: () => new Date() });
await Bun.sleep(30_000);
