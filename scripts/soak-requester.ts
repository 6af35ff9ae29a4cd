/**
 * The requester of soak-runs.ts: takes announcements again and again and writes each down before the next call, which
 * acknowledges. Each start is a new owner of leases.
 *
 *   bun scripts/soak-requester.ts STATE-DIRECTORY FILE MILLISECONDS
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { statePaths } from '../src/core/state-paths.ts';
import { takeAnnouncements } from '../src/runs/store/outbox.ts';
import { readRuns, withRuns } from '../src/runs/store/rows.ts';
import { listRuns } from '../src/runs/store/runs.ts';

const LEASE_MS = 3000;
const LIMIT = 10;

const [home = '', file = '', everyMs = ''] = process.argv.slice(2);
const paths = statePaths({ SELF_GENERATION_HOME: home }, process.platform);
if (paths === undefined) throw new Error(`Cannot use "${home}": not absolute`);
const owner = `soak:${process.pid}:${Date.now()}`;

let requester: string | undefined;
for (;;) {
  requester ??= readRuns(paths, (db) => listRuns({ limit: 1 }, db))?.[0]?.run.requester.key;
  if (requester !== undefined) {
    const from = { requester, session: null, owner, isPerson: true };
    const options = { nowMs: Date.now(), leaseMs: LEASE_MS, limit: LIMIT };
    const taken = withRuns(paths, (db) => takeAnnouncements(from, options, db));
    for (const { id, runId, isRedelivery } of taken) {
      appendFileSync(file, `${JSON.stringify({ id, runId, isRedelivery })}\n`);
    }
  }
  await wait(Number(everyMs));
}
