import { becomeLongLived } from '../../sys/process.ts';
import { noteRelease } from '../client-release.ts';
import { runsWorld, thisProcess } from '../world.ts';
import { supervise } from './supervise.ts';

/** A supervisor's whole process, called as `supervise RUN TURN`. Never comes back. */
export async function superviseProcess([, runId = '', turn]: readonly string[]): Promise<never> {
  becomeLongLived();
  const world = runsWorld(thisProcess());
  if (world !== undefined) {
    await Promise.all([supervise(runId, Number(turn), world), noteRelease(runId, world)]);
  }
  process.exit(0); // Nobody waits for it, and nothing that is left may keep it.
}
