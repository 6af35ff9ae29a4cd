import { parseJson } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import type { Db } from './connection.ts';
import type { Row, Sqlite } from './sqlite.ts';

/** Rows of earlier implementations, which stored what they saw. */

/** The same database, with secrets redacted in everything that is read from it. */
export function withoutSecrets(db: Db): Db {
  const { sqlite } = db;
  const redacting: Sqlite = {
    ...sqlite,
    get: (sql, ...values) => {
      const row = sqlite.get(sql, ...values);
      return row && redactedRow(row);
    },
    all: (sql, ...values) => sqlite.all(sql, ...values).map(redactedRow),
  };
  return { ...db, sqlite: redacting };
}

function redactedRow(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === 'string' ? redactText(value) : value,
    ]),
  );
}

/** A text without secrets. A JSON document stays one: its strings are redacted, and what stands under telling names. */
export function redactText(text: string): string {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return redactSecrets(text);
  const inside = JSON.stringify(value, (_key, one) => (typeof one === 'string' ? redactSecrets(one) : one));
  const whole = redactSecrets(inside);
  const redacted = parseJson(whole) === undefined ? inside : whole;
  return redacted === JSON.stringify(value) ? text : redacted;
}
