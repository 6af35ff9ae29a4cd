import { supervise } from '../../../src/runs/supervisor/supervise.ts';
import { runsWorld } from '../../../src/runs/world.ts';

/** A supervisor as a process of its own.   bun supervise.main.ts RUN-ID TURN */
const [runId = '', turn = ''] = process.argv.slice(2);
const world = runsWorld({
  env: process.env,
  platform: process.platform,
  cwd: process.cwd(),
  executablePath: process.execPath,
  isCompiled: false,
  now: () => new Date(),
});
if (world === undefined) throw new Error('Cannot supervise: there is no home');
await supervise(runId, Number(turn), world);
process.exit(0);
