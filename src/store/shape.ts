import type { Sqlite } from './sqlite.ts';

/** The version of the schema that this code writes, and to which it takes over what an earlier one made. */
export const SCHEMA_VERSION = 5;

/** Which columns a database has. Databases of other implementations are read as they are. */
export type Shape = { has(table: string, column: string): boolean };

/** Everything that this version makes. */
export const OWN_SHAPE: Shape = { has: () => true };

const READ_TABLES = ['events', 'error_kb', 'analysis_cache'];

/** Looks at the columns only of a database that somebody else made. */
export function readShape(sqlite: Sqlite): Shape {
  const list = READ_TABLES.map((table) => `'${table}'`).join(', ');
  const rows = sqlite.all(
    `SELECT m.name AS tableName, p.name AS columnName
     FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS p
     WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name IN (${list})`,
  );
  const columns = new Set(rows.map((row) => `${row.tableName}.${row.columnName}`));
  return { has: (table, column) => columns.has(`${table}.${column}`) };
}

/** Whether this version made or migrated the database. */
export function isOwnSchema(sqlite: Sqlite): boolean {
  return schemaVersion(sqlite) === SCHEMA_VERSION;
}

/** `PRAGMA user_version`: 0 in an empty database and in those of earlier implementations. */
export function schemaVersion(sqlite: Sqlite): number {
  return Number(sqlite.get('PRAGMA user_version')?.user_version ?? 0);
}
