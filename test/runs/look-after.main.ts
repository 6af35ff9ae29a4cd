import { startLookingAfter } from '../../src/runs/reconcile.ts';
import type { RunsWorld } from '../../src/runs/world.ts';

/** A process that lives long and looks after runs.   bun look-after.main.ts WORLD */
const world = JSON.parse(process.argv[2] ?? '') as Omit<RunsWorld, 'now'>;
startLookingAfter({ ...world, now: () => new Date() });
await Bun.sleep(30_000);
