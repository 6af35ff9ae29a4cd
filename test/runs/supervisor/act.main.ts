import { takeDelivery } from '../../../src/runs/delivery/deliver.ts';
import { reconcileAndArchive } from '../../../src/runs/reconcile.ts';
import { requesterHere } from '../../../src/runs/requester.ts';
import { sendToRun } from '../../../src/runs/send.ts';
import { spawnRun } from '../../../src/runs/spawn.ts';
import { runsWorld, thisProcess } from '../../../src/runs/world.ts';
import { BINARY } from '../../support/binary.ts';

/** One thing that is done with runs, as a process of its own that can be killed.   bun act.main.ts WHAT OWNER|RUN [MESSAGE [NAME]] */
const [what, owner = '', message = '', name] = process.argv.slice(2);
const world = runsWorld({ ...thisProcess(), executablePath: BINARY, isCompiled: true });
if (world === undefined) throw new Error('Cannot act: there is no home');
const requester = requesterHere(world);
if (what === 'spawn') console.log(JSON.stringify(spawnRun({ task: 'do it' }, requester, world)));
else if (what === 'reconcileAndArchive') reconcileAndArchive(world);
else if (what === 'steer')
  console.log(JSON.stringify(sendToRun(owner, message, requester, world, { place: 'ahead', name })));
else if (what === 'deliver')
  console.log(takeDelivery(requester, { owner, isPerson: true }, world)?.text ?? '');
