import { requesterHere } from '../../src/runs/requester.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import { runsWorld, thisProcess } from '../../src/runs/world.ts';
import { BINARY } from '../support/binary.ts';

/** Spawns runs that hang, one after the other, until it is ended: `bun spawn-loop.main.ts NAME`. */
const world = runsWorld({ ...thisProcess(), executablePath: BINARY, isCompiled: true });
if (world === undefined) throw new Error('Cannot spawn: HOME is not set');
for (let index = 0; ; index++) {
  spawnRun({ task: `[[hang]] ${process.argv[2]} ${index}` }, requesterHere(world), world);
  await Bun.sleep(5);
}
