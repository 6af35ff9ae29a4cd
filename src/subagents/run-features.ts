import { advance } from './advance.ts';
import { agentsFor } from './agents.ts';
import type { RunFeatures } from './features.ts';
import { readLog } from './read-log.ts';
import { requesterHere } from './requester.ts';
import { retryRun } from './retry.ts';
import { sendToRun } from './send.ts';
import { spawnRun } from './spawn.ts';
import { stopRuns } from './stop.ts';
import { waitForRuns } from './wait.ts';

/** What can be done with background runs. */
export const runFeatures: RunFeatures = {
  requesterHere,
  kick: advance,
  spawnRun,
  retryRun,
  stopRuns,
  sendToRun,
  waitForRuns,
  agentsFor,
  readLog,
};
