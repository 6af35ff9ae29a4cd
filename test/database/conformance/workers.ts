import { rmdirSync } from 'node:fs';
import { openSqlite } from '#sqlite';
import { getDb } from '../../../src/database/db.ts';
import { record, spool } from '../../../src/hooks/store/record.ts';
import { pathsIn, prompt, time } from './context.ts';

/** What cases let other processes do. Each role prints `ready` when it has begun. */
export async function runWorker([role, home = '', ...words]: readonly string[]): Promise<void> {
  const paths = pathsIn(home);
  const number = Number(words[0] ?? 0);
  process.umask(0o077);
  switch (role) {
    case 'migrate': {
      console.log('ready');
      getDb(paths, { mode: 'write', busyTimeoutMs: 10_000 }).sqlite.close();
      return;
    }
    case 'record': {
      console.log('ready');
      for (let index = 0; index < number; index++) {
        const db = getDb(paths, { mode: 'write', busyTimeoutMs: 10_000 });
        record([prompt(`${words[1]} number ${index}`, { ts: time(index) })], paths, db);
        db.sqlite.close();
      }
      return;
    }
    case 'spool': {
      console.log('ready');
      for (let index = 0; index < number; index++)
        spool([prompt(`${words[1]} waits ${index}`)], paths, index);
      return;
    }
    case 'remove-spool': {
      console.log('ready');
      for (const untilMs = Date.now() + 30_000; Date.now() < untilMs; ) {
        try {
          rmdirSync(paths.spool);
        } catch {
          // It is not there, or something is in it.
        }
      }
      return;
    }
    case 'hold': {
      const { sqlite } = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
      sqlite.exec('BEGIN IMMEDIATE');
      console.log('ready');
      await new Promise((resolve) => setTimeout(resolve, number));
      sqlite.exec('COMMIT');
      return;
    }
    case 'hold-old': {
      const sqlite = openSqlite(paths.database, { mode: 'write', busyTimeoutMs: 1000 });
      sqlite.exec('BEGIN EXCLUSIVE');
      console.log('ready');
      await new Promise((resolve) => setTimeout(resolve, number));
      sqlite.exec('COMMIT');
      return;
    }
    case 'read-as-nobody': {
      // The driver's files may be out of the other user's reach, so it is loaded before.
      openSqlite(':memory:', { mode: 'write', busyTimeoutMs: 0 }).close();
      process.setuid?.(number);
      const db = getDb(paths, { mode: 'read', busyTimeoutMs: 100 });
      console.log('ready');
      console.log(`events ${db?.sqlite.get('SELECT COUNT(*) AS n FROM events')?.n}`);
      return;
    }
    default:
      throw new Error(`Unknown role: "${role}"`);
  }
}
