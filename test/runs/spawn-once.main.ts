import { requesterHere } from '../../src/runs/requester.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import { runsWorld, thisProcess } from '../../src/runs/world.ts';

/** Spawns one run from this process and prints the answer: `bun spawn-once.main.ts`. */
const world = runsWorld(thisProcess());
if (world === undefined) throw new Error('Cannot spawn: HOME is not set');
console.log(JSON.stringify(spawnRun({ task: 'quick' }, requesterHere(world), world)));
