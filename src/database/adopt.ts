import { openSqlite } from '#sqlite';
import { lookOr, parseJson } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import type { Db } from './connection.ts';
import type { Row, Sqlite } from './sqlite.ts';

/**
 * Takes over the tables of an earlier implementation, complete or partial: drops its triggers and indexes (some of
 * them are known to break writes), adds the columns it lacks, and copies a table that cannot be mended that way into
 * a new one. Tables that are not ours, virtual ones of unknown modules among them, stay as they are. To be called
 * inside the migration's transaction, before the schema's own statements. `schema`: those.
 */
export function adoptTables(sqlite: Sqlite, schema: string): void {
  const model = openSqlite(':memory:', { mode: 'write', busyTimeoutMs: 0 });
  try {
    model.exec(schema);
    for (const table of TABLES) dropAttached(sqlite, table);
    dropRebuilt(sqlite);
    for (const table of TABLES) adoptTable(sqlite, table, columnsIn(model, table));
  } finally {
    model.close();
  }
  redactAdopted(sqlite);
  dropDuplicates(sqlite);
}

/** The tables that earlier implementations had. */
const TABLES = ['events', 'error_kb', 'analysis_cache', 'feedback'];

/** The values, as SQL, of required columns that the old table did not have. */
const MISSING: Readonly<Record<string, string>> = {
  ts: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  type: "'unknown'",
  session_id: "'unknown'",
  data: "'{}'",
  error_normalized: "''",
  analysis: "'{}'",
  suggestion_id: "''",
  action: "'dismissed'",
};

type Column = {
  readonly definition: string;
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  /** The SQL value where the old table has none. */
  readonly missing: string;
};

function columnsIn(model: Sqlite, table: string): Record<string, Column> {
  const columns = model.all('SELECT * FROM pragma_table_info(?)', table).map((row): [string, Column] => {
    const name = String(row.name);
    const isRequired = row.notnull === 1;
    const hasDefault = row.dflt_value !== null;
    const constraints = `${isRequired ? ' NOT NULL' : ''}${hasDefault ? ` DEFAULT ${row.dflt_value}` : ''}`;
    const definition = row.pk === 1 ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : `${row.type}${constraints}`;
    const missing = hasDefault ? String(row.dflt_value) : isRequired ? (MISSING[name] ?? "''") : 'NULL';
    return [name, { definition, isRequired, hasDefault, missing }];
  });
  return Object.fromEntries(columns);
}

function dropAttached(sqlite: Sqlite, table: string): void {
  const attached = sqlite.all(
    "SELECT type, name FROM sqlite_schema WHERE tbl_name = ? AND type IN ('trigger', 'index') AND sql IS NOT NULL",
    table,
  );
  for (const { type, name } of attached)
    sqlite.exec(`DROP ${type} IF EXISTS "${String(name).replaceAll('"', '""')}"`);
}

const REBUILT = 'events_fts event_text error_kb_text imports learnt open_errors error_files'.split(' ');

/** Search indexes are built anew; our own are here when a dump was restored, which loses the version. Places are as well. */
function dropRebuilt(sqlite: Sqlite): void {
  // It throws where the module of a table is not known here. Without its triggers that one is harmless.
  for (const name of REBUILT) lookOr(() => sqlite.exec(`DROP TABLE IF EXISTS ${name}`), undefined);
}

function adoptTable(sqlite: Sqlite, table: string, columns: Record<string, Column>): void {
  const found = new Map(
    sqlite.all('SELECT * FROM pragma_table_info(?)', table).map((row) => [String(row.name), row]),
  );
  if (found.size === 0) return;
  const definition = String(sqlite.get('SELECT sql FROM sqlite_schema WHERE name = ?', table)?.sql);
  const lacking = Object.keys(columns).filter((name) => !found.has(name));
  if (!CONSTRAINED.test(definition) && isMendable(found, columns, lacking)) {
    for (const name of lacking) {
      sqlite.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${columns[name]?.definition}`);
    }
  } else {
    const id = /\bWITHOUT\s+ROWID\b/i.test(definition) ? 'NULL' : 'rowid';
    copyTable(sqlite, table, columns, (name, { missing, isRequired }) => {
      if (name === 'id') return id;
      if (!found.has(name)) return missing;
      return isRequired ? `COALESCE(${name}, ${missing})` : name;
    });
  }
}

/** Ours have none of these: they would refuse rows that we write. */
const CONSTRAINED = /\b(?:UNIQUE|CHECK|REFERENCES|GENERATED|WITHOUT|STRICT)\b/i;

/** ALTER TABLE can add what is optional or has a default; anything else means a new table. */
function isMendable(found: Map<string, Row>, columns: Record<string, Column>, lacking: string[]): boolean {
  const id = found.get('id');
  if (id?.pk !== 1 || String(id.type).toUpperCase() !== 'INTEGER') return false;
  const addable = lacking.every((name) => !columns[name]?.isRequired || columns[name].hasDefault);
  const writable = [...found].every(
    ([name, row]) => name in columns || row.notnull === 0 || row.dflt_value !== null,
  );
  const filled = [...found].every(([name, row]) => row.notnull === 1 || !columns[name]?.isRequired);
  return addable && writable && filled;
}

/** Copied twice and not renamed: ALTER TABLE RENAME fails when a foreign view looks at the table, or at none. */
function copyTable(
  sqlite: Sqlite,
  table: string,
  columns: Record<string, Column>,
  sourceOf: (name: string, column: Column) => string,
): void {
  const values = Object.entries(columns).map(([name, column]) => `${sourceOf(name, column)} AS ${name}`);
  const names = Object.keys(columns).join(', ');
  const definitions = Object.entries(columns).map(([name, column]) => `${name} ${column.definition}`);
  sqlite.exec(`CREATE TABLE adopted_copy AS SELECT ${values.join(', ')} FROM ${table}`);
  sqlite.exec(`DROP TABLE ${table}`);
  sqlite.exec(`CREATE TABLE ${table} (${definitions.join(', ')})`);
  sqlite.exec(`INSERT INTO ${table}(${names}) SELECT ${names} FROM adopted_copy`);
  sqlite.exec('DROP TABLE adopted_copy');
}

const BATCH_ROWS = 500;
/** Where earlier implementations kept what a person typed or a program printed. */
const TEXT_COLUMNS: Record<string, readonly string[]> = {
  events: ['data'],
  error_kb: ['error_normalized', 'error_raw', 'resolution', 'tool_sequence'],
  analysis_cache: ['analysis'],
  feedback: ['summary'],
};

/** They stored secrets as they came; from here on none is in the tables. The backup keeps them, with mode 0600. */
function redactAdopted(sqlite: Sqlite): void {
  for (const [table, columns] of Object.entries(TEXT_COLUMNS)) {
    if (!hasTable(sqlite, table)) continue;
    const statement = `SELECT id, ${columns.join(', ')} FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`;
    for (let after = -1; ; ) {
      const rows = sqlite.all(statement, after, BATCH_ROWS);
      for (const { id, ...texts } of rows) {
        for (const [column, text] of Object.entries(texts)) {
          const redacted = typeof text === 'string' ? redactText(text) : null;
          if (redacted !== null && redacted !== text)
            sqlite.run(`UPDATE ${table} SET ${column} = ? WHERE id = ?`, redacted, Number(id));
        }
      }
      if (rows.length < BATCH_ROWS) break;
      after = Number(rows.at(-1)?.id);
    }
  }
}

/** The unique indexes to come need one row each: the most used one stays. */
function dropDuplicates(sqlite: Sqlite): void {
  if (hasTable(sqlite, 'error_kb')) {
    sqlite.exec(`DELETE FROM error_kb WHERE id NOT IN (
      SELECT id FROM (SELECT id, ROW_NUMBER() OVER (
        PARTITION BY error_normalized, project_path ORDER BY resolution IS NULL, use_count DESC, id DESC) AS place
      FROM error_kb) WHERE place = 1)`);
  }
  if (hasTable(sqlite, 'analysis_cache')) {
    sqlite.exec(`DELETE FROM analysis_cache WHERE input_hash IS NOT NULL AND id NOT IN (
      SELECT MAX(id) FROM analysis_cache GROUP BY project, days, input_hash)`);
  }
}

/** What is left to do when the schema's own tables, indexes and triggers are there. */
export function settleAdopted(sqlite: Sqlite): void {
  sqlite.exec(`
    -- What others learnt is not told; what a person wrote is, and of an error without a project everywhere.
    UPDATE error_kb SET resolution = NULL, resolved_by = NULL, tool_sequence = NULL, use_count = 0
      WHERE resolution IS NOT NULL AND resolved_by IS NOT 'user' AND evidence IS NULL;
    UPDATE error_kb SET shared = resolution
      WHERE project_path = '' AND resolved_by = 'user' AND typeof(resolution) = 'text';
    -- The search indexes have no rows yet that were there before their triggers.
    INSERT INTO event_text(rowid, text)
      SELECT id, COALESCE(json_extract(data, '$.text'), json_extract(data, '$.error')) FROM events
      WHERE json_valid(data) AND COALESCE(json_extract(data, '$.text'), json_extract(data, '$.error')) IS NOT NULL;
    INSERT INTO error_kb_text(rowid, error, files) SELECT id, error_normalized, '' FROM error_kb;
    UPDATE error_kb SET error_raw = error_raw;
  `);
}

function hasTable(sqlite: Sqlite, table: string): boolean {
  return sqlite.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", table) !== undefined;
}

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
  const redacted = (value: unknown) => (typeof value === 'string' ? redactText(value) : value);
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, redacted(value)]));
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
