import { requesterHere } from '../../src/subagents/requester.ts';
import { spawnRun } from '../../src/subagents/spawn.ts';
import { runsWorld, thisProcess } from '../../src/subagents/world.ts';

/** Spawns runs that hang, one after the other, until it is ended: `bun spawn-loop.main.ts NAME`. */
const world = runsWorld(thisProcess());
if (world === undefined) throw new Error('Cannot spawn: HOME is not set');
for (let index = 0; ; index++) {
  spawnRun({ task: `[[hang]] ${process.argv[2]} ${index}` }, requesterHere(world), world);
  await Bun.sleep(5);
}
