import { statePaths } from '../../src/core/state-paths.ts';
import { getDb } from '../../src/database/db.ts';

/**
 * A writer that never stops: each transaction moves something from one account to the other, so that their sum stays,
 * and then empties the log into the database file. The accounts lie on different pages. Prints `ready` after the first.
 *
 *   bun transfer.main.ts HOME
 */
const [home = ''] = process.argv.slice(2);
const paths = statePaths({ SELF_GENERATION_HOME: home }, 'linux');
if (paths === undefined) throw new Error(`Cannot use "${home}" as a home directory: it is not absolute`);
const { sqlite } = getDb(paths, { mode: 'write', busyTimeoutMs: 5000 });
sqlite.exec(`CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, filling BLOB);
  INSERT INTO account VALUES (1, 500, zeroblob(20000)), (2, 500, zeroblob(20000))`);
for (let count = 0; ; count++) {
  sqlite.transaction(() => {
    const amount = 1 + (count % 7);
    sqlite.run('UPDATE account SET amount = amount - ? WHERE id = 1', amount);
    sqlite.run('UPDATE account SET amount = amount + ? WHERE id = 2', amount);
  });
  sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  if (count === 0) console.log('ready');
  // Quiet for a while, of changing length, so that some reads begin and end in it and others only begin.
  await Bun.sleep((count * 13) % 53);
}
