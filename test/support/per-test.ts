import { afterEach, beforeEach } from 'bun:test';
import type { Db } from '../../src/database/connection.ts';
import { getDb } from '../../src/database/db.ts';
import { type Home, temporaryHome } from './home.ts';

/** What each test of a file has anew: declared once, it is always that of the test that runs. */
export function perTest<T extends object>(open: () => T, close: (one: T) => void): T {
  let current: T;
  beforeEach(() => {
    current = open();
  });
  afterEach(() => close(current));
  return new Proxy({} as T, { get: (_, key) => Reflect.get(current, key) });
}

/** A home directory. */
export function homePerTest(): Home {
  return perTest(temporaryHome, (home) => home[Symbol.dispose]());
}

/** The database of that home, open for writing. */
export function databasePerTest(home: Home): Db {
  return perTest(
    () => getDb(home.paths, { mode: 'write', busyTimeoutMs: 1000 }),
    (db) => db.sqlite.close(),
  );
}
