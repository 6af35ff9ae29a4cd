import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { statePaths } from '../../src/core/state-paths.ts';
import { runHook } from '../../src/hooks/hook-process.ts';
import * as writePath from '../../src/hooks/write-path.ts';
import * as errorSearch from '../../src/lessons/store/error-search.ts';
import * as deliveries from '../../src/runs/delivery/hook-delivery.ts';
import { hookPayload } from './arbitrary-payload.ts';

/**
 * A process that runs many generated payloads through the hooks, on the real database of its HOME. Each run's output
 * ends with a NUL byte; standard error gets one line at the end: how many were events, and a digest of the payloads.
 *
 *   bun run-hooks.main.ts COUNT SEED
 */
const [count = 0, seed = 0] = process.argv.slice(2).map(Number);
const paths = statePaths(process.env, process.platform);
if (paths === undefined) throw new Error('Cannot run hooks: HOME is not set');
const chunks = {
  writePath: async () => writePath,
  errorSearch: async () => errorSearch,
  deliveries: async () => deliveries,
};
const digest = createHash('sha256');
let events = 0;
for (const [index, payload] of fc.sample(hookPayload(), { numRuns: count, seed }).entries()) {
  const text = JSON.stringify(payload);
  digest.update(text);
  const name = index % 3 === 0 ? 'subagent-context' : undefined;
  if (await runHook(JSON.parse(text), name, { env: {}, paths, now: new Date(), chunks })) events++;
  await Bun.write(Bun.stdout, '\0');
  // A hook leaves its database to the end of its process; here that has to be the collector.
  if (index % 50 === 49) Bun.gc(true);
}
process.stderr.write(`${events} ${digest.digest('hex')}\n`);
