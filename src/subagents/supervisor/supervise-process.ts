import { noteRelease } from '../client-release.ts';
import { runsWorld, thisProcess } from '../world.ts';
import { supervise } from './supervise.ts';

/** No file of ours is for other users' eyes; SQLite's are made with this as well. */
const PRIVATE_UMASK = 0o077;

/** A supervisor's whole process, called as `supervise RUN TURN`. Never comes back. */
export async function superviseProcess([, runId = '', turn]: readonly string[]): Promise<never> {
  Bun.unsafe.setJITPolicy(1); // A hook's start is tuned for a life of milliseconds; this one reads for hours.
  process.umask(PRIVATE_UMASK);
  const world = runsWorld(thisProcess());
  if (world !== undefined) {
    await Promise.all([supervise(runId, Number(turn), world), noteRelease(runId, world)]);
  }
  process.exit(0); // Nobody waits for it, and nothing that is left may keep it.
}
