import type { Sqlite, Value } from '../../src/database/sqlite.ts';

/** Rows of any table, written and read as they are. */

export function insertRow(sqlite: Sqlite, table: string, row: Readonly<Record<string, Value>>): void {
  const names = Object.keys(row);
  const places = names.map(() => '?');
  sqlite.run(`INSERT INTO ${table}(${names}) VALUES (${places})`, ...Object.values(row));
}

/** The values of each row, in the order of the columns. */
export function valuesIn(sqlite: Sqlite, sql: string): unknown[][] {
  return sqlite.all(sql).map((row) => Object.values(row));
}

/** The first value of each row. */
export function column(sqlite: Sqlite, sql: string): unknown[] {
  return valuesIn(sqlite, sql).map(([first]) => first);
}
