#!/usr/bin/env bun
import { proofCommand } from '../src/cli/proof/proof.ts';
import { getDb } from '../src/database/db.ts';
import { callHere } from '../test/cli/call.ts';
import { temporaryHome } from '../test/support/home.ts';
import { SimulatedUser, type World } from '../test/support/simulated-user.ts';

/** Prints what `proof` says to simulated users, of whom is known what telling does: through the real ledger, with a clock of its own. */

const START = Date.parse('2026-08-31T08:00:00.000Z');
const HELPS: World = { holdOut: 'trial', ratio: 0.4, calls: [5, 2], perWeek: 6, seed: 4 };

const USERS: readonly (readonly [title: string, world: World, weeks: readonly number[]])[] = [
  ['telling prevents 6 of 10 and mends sooner', HELPS, [1, 4, 12]],
  ['nothing is held out', { ...HELPS, holdOut: 'off' }, [12]],
  ['nothing has happened yet', HELPS, [0]],
  ['telling prevents 9 of 10, in a busy project', { ...HELPS, ratio: 0.1, perWeek: 15 }, [12]],
  ['telling does harm', { ...HELPS, ratio: 4, calls: [2, 2], perWeek: 4 }, [26]],
  ['telling changes nothing', { ...HELPS, ratio: 1, calls: [3, 3], perWeek: 9 }, [26]],
  ['failures are too rare', { ...HELPS, perWeek: 0.3 }, [12]],
];

if (process.argv.includes('--help')) {
  process.stdout.write('bun scripts/proof-demo.ts: what "proof" says to simulated users, week by week\n');
  process.exit(0);
}

for (const [title, world, stops] of USERS) {
  using home = temporaryHome();
  home.writeConfig({ proof: { holdOut: world.holdOut } });
  const db = getDb(home.paths, { mode: 'write', busyTimeoutMs: 5000 });
  const user = new SimulatedUser(world, START, db);
  let week = 0;
  for (const stop of stops) {
    user.work(stop - week);
    week = stop;
    const asked = { env: { HOME: home.path }, now: () => user.now };
    const { stdout, stderr } = await callHere(proofCommand, [], asked);
    process.stdout.write(`\n━━━ ${title}: week ${week}\n\n${stdout}${stderr}`);
  }
  db.sqlite.close();
}
