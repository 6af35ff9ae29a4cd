import { expect, setDefaultTimeout, test } from 'bun:test';
import { NO_POSTGRES, poolTeam } from './pool-home.ts';

setDefaultTimeout(60_000);

test.skipIf(NO_POSTGRES !== undefined)(
  'transaction() throws where the server rolled back, though no statement of its work has failed',
  async () => {
    await using team = await poolTeam();
    const bob = await team.open('bob');
    let stray: Promise<unknown> = Promise.resolve();
    const work = bob.transaction(async ({ all }) => {
      await all('SELECT 1');
      // Somebody else on the same connection, whose error goes elsewhere.
      stray = bob.all('DELETE FROM self_generation.pool_runs').catch(() => {});
      return 'done';
    });
    await expect(work).rejects.toThrow('rolled back');
    await stray;
    await bob.close();
  },
);
