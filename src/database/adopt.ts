import { redactText } from './redact-rows.ts';
import type { Row, Sqlite } from './sqlite.ts';

/**
 * Takes over the tables of an earlier implementation, complete or partial: drops its triggers and indexes (some of
 * them are known to break writes), adds the columns it lacks, and copies a table that cannot be mended that way into
 * a new one. Tables that are not ours, virtual ones of unknown modules among them, stay as they are. To be called
 * inside the migration's transaction, before the schema's own statements.
 */
export function adoptTables(sqlite: Sqlite): void {
  for (const table of Object.keys(TABLES)) dropAttached(sqlite, table);
  dropRebuilt(sqlite);
  for (const [table, columns] of Object.entries(TABLES)) adoptTable(sqlite, table, columns);
  redactAdopted(sqlite);
  dropDuplicates(sqlite);
}

type Column = { readonly definition: string; readonly missing: string };

/** `missing` is the SQL value of a column that the old table did not have. */
const NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const ID: Column = { definition: 'INTEGER PRIMARY KEY AUTOINCREMENT', missing: 'NULL' };
const optional = (definition: string): Column => ({ definition, missing: 'NULL' });
const required = (definition: string, missing: string): Column => ({
  definition: `${definition} NOT NULL`,
  missing,
});

const TABLES: Record<string, Record<string, Column>> = {
  events: {
    id: ID,
    v: { definition: 'INTEGER DEFAULT 1', missing: '1' },
    type: required('TEXT', "'unknown'"),
    ts: required('TEXT', NOW),
    session_id: required('TEXT', "'unknown'"),
    project: optional('TEXT'),
    project_path: optional('TEXT'),
    data: required('JSON', "'{}'"),
  },
  error_kb: {
    id: ID,
    ts: required('TEXT', NOW),
    error_normalized: required('TEXT', "''"),
    error_raw: optional('TEXT'),
    resolution: optional('TEXT'),
    resolved_by: optional('TEXT'),
    tool_sequence: optional('TEXT'),
    use_count: { definition: 'INTEGER DEFAULT 0', missing: '0' },
    last_used: optional('TEXT'),
    project_path: { definition: "TEXT NOT NULL DEFAULT ''", missing: "''" },
    seen_count: { definition: 'INTEGER NOT NULL DEFAULT 0', missing: '0' },
    shown_count: { definition: 'INTEGER NOT NULL DEFAULT 0', missing: '0' },
    said: optional('TEXT'),
    state: optional('TEXT'),
    sessions: { definition: 'INTEGER NOT NULL DEFAULT 0', missing: '0' },
    evidence: optional('JSON'),
    shared: optional('TEXT'),
  },
  analysis_cache: {
    id: ID,
    ts: required('TEXT', NOW),
    project: optional('TEXT'),
    days: optional('INTEGER'),
    input_hash: optional('TEXT'),
    analysis: required('JSON', "'{}'"),
    project_path: optional('TEXT'),
  },
  feedback: {
    id: ID,
    v: { definition: 'INTEGER DEFAULT 1', missing: '1' },
    ts: required('TEXT', NOW),
    suggestion_id: required('TEXT', "''"),
    action: required('TEXT', "'dismissed'"),
    suggestion_type: optional('TEXT'),
    summary: optional('TEXT'),
  },
};

function dropAttached(sqlite: Sqlite, table: string): void {
  const attached = sqlite.all(
    "SELECT type, name FROM sqlite_schema WHERE tbl_name = ? AND type IN ('trigger', 'index') AND sql IS NOT NULL",
    table,
  );
  for (const { type, name } of attached) sqlite.exec(`DROP ${type} IF EXISTS ${quote(String(name))}`);
}

const REBUILT = 'events_fts event_text error_kb_text imports learnt open_errors error_files'.split(' ');

/** Search indexes are built anew; our own are here when a dump was restored, which loses the version. Places are as well. */
function dropRebuilt(sqlite: Sqlite): void {
  for (const name of REBUILT) {
    try {
      sqlite.exec(`DROP TABLE IF EXISTS ${name}`);
    } catch {
      // Its module is not known here. Without its triggers it is harmless.
    }
  }
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
  } else copyTable(sqlite, { table, columns, found, hasRowid: !/\bWITHOUT\s+ROWID\b/i.test(definition) });
}

/** Ours have none of these: they would refuse rows that we write. */
const CONSTRAINED = /\b(?:UNIQUE|CHECK|REFERENCES|GENERATED|WITHOUT|STRICT)\b/i;

/** ALTER TABLE can add what is optional or has a default; anything else means a new table. */
function isMendable(found: Map<string, Row>, columns: Record<string, Column>, lacking: string[]): boolean {
  const id = found.get('id');
  if (id?.pk !== 1 || String(id.type).toUpperCase() !== 'INTEGER') return false;
  const addable = lacking.every((name) => !/NOT NULL$/.test(columns[name]?.definition ?? ''));
  const writable = [...found].every(
    ([name, row]) => name in columns || row.notnull === 0 || row.dflt_value !== null,
  );
  const filled = [...found].every(([name, row]) => row.notnull === 1 || !isRequired(columns[name]));
  return addable && writable && filled;
}

function isRequired(column: Column | undefined): boolean {
  return /NOT NULL/.test(column?.definition ?? '');
}

type Copied = {
  readonly table: string;
  readonly columns: Record<string, Column>;
  readonly found: Map<string, Row>;
  readonly hasRowid: boolean;
};

/** Copied twice and not renamed: ALTER TABLE RENAME fails when a foreign view looks at the table, or at none. */
function copyTable(sqlite: Sqlite, { table, columns, found, hasRowid }: Copied): void {
  const values = Object.entries(columns).map(([name, column]) => {
    if (name === 'id') return `${hasRowid ? 'rowid' : 'NULL'} AS id`;
    if (!found.has(name)) return `${column.missing} AS ${name}`;
    return isRequired(column) ? `COALESCE(${name}, ${column.missing}) AS ${name}` : name;
  });
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
      for (const row of rows) redactRow(sqlite, table, row);
      if (rows.length < BATCH_ROWS) break;
      after = Number(rows.at(-1)?.id);
    }
  }
}

function redactRow(sqlite: Sqlite, table: string, { id, ...texts }: Row): void {
  for (const [column, value] of Object.entries(texts)) {
    if (typeof value !== 'string') continue;
    const redacted = redactText(value);
    if (redacted !== value)
      sqlite.run(`UPDATE ${table} SET ${column} = ? WHERE id = ?`, redacted, Number(id));
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

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
