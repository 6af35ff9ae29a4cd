import { fingerprint } from '../core/text.ts';
import type { Db } from './connection.ts';

/** Returns true if a person wanted this error forgotten: then it is neither recorded nor told. */
export function isForgotten(normalizedError: string, db: Db): boolean {
  const sql = 'SELECT 1 FROM forgotten_errors WHERE fingerprint = ?';
  return db.sqlite.get(sql, fingerprint(normalizedError)) !== undefined;
}
