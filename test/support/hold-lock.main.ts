import { Database } from 'bun:sqlite';

/**
 * A process that holds the write lock of a database until its standard input ends, ten seconds at most, and then
 * commits a row of its own.   bun hold-lock.main.ts DATABASE
 */
const HELD_MAX_MS = 10_000;
const database = new Database(process.argv[2] ?? '');
database.run('PRAGMA busy_timeout = 5000');
database.run('BEGIN IMMEDIATE');
database.run("INSERT INTO feedback(ts, suggestion_id, action) VALUES ('2026', 'held', 'lock')");
process.stdout.write('held\n');
await Promise.race([Bun.stdin.text(), Bun.sleep(HELD_MAX_MS)]);
database.run('COMMIT');
process.exit(0);
