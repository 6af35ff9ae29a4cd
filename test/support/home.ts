import { Database } from 'bun:sqlite';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { type StatePaths, statePaths } from '../../src/core/state-paths.ts';
import type { HookLogEntry } from '../../src/system/failure-log.ts';

/** A user's home directory that is thrown away at the end of its scope (`using home = temporaryHome()`). */
export type Home = Disposable & {
  readonly path: string;
  readonly paths: StatePaths;
  /** Writes a file below the home directory and gives its path. */
  readonly put: (name: string, content: string | Uint8Array) => string;
  readonly writeConfig: (config: unknown) => void;
};

export function temporaryHome(): Home {
  const path = mkdtempSync(`${tmpdir()}/self-generation-test-`);
  const paths = pathsOf(path);
  const put = (name: string, content: string | Uint8Array) => {
    const file = `${path}/${name}`;
    mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  return {
    path,
    paths,
    put,
    writeConfig: (config) => void put('.self-generation/config.json', JSON.stringify(config)),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function pathsOf(home: string): StatePaths {
  const paths = statePaths({ HOME: home }, 'linux');
  if (paths === undefined) throw new Error(`Cannot use "${home}" as a home directory: it is not absolute`);
  return paths;
}

type Row = Record<string, unknown>;

/** Rows of the database as another program sees them. */
export function readRows(paths: StatePaths, sql: string, ...values: (string | number | null)[]): Row[] {
  const database = new Database(paths.database, { readonly: true });
  try {
    database.run('PRAGMA busy_timeout = 5000');
    return database.query(sql).all(...values) as Row[];
  } finally {
    database.close();
  }
}

export type EventRow = {
  readonly type: string;
  readonly sessionId: string;
  readonly project: string | null;
  readonly projectPath: string | null;
  readonly data: Row;
};

/** The recorded events, oldest first; none when there is no database. */
export function readEvents(paths: StatePaths, type?: string): EventRow[] {
  if (!existsSync(paths.database)) return [];
  return readRows(paths, 'SELECT * FROM events ORDER BY id')
    .map((row) => ({
      type: String(row.type),
      sessionId: String(row.session_id),
      project: row.project as string | null,
      projectPath: row.project_path as string | null,
      data: JSON.parse(String(row.data)) as Row,
    }))
    .filter((event) => type === undefined || event.type === type);
}

/** The files that wait in the spool. */
export function spoolFiles(paths: StatePaths): string[] {
  return existsSync(paths.spool) ? readdirSync(paths.spool) : [];
}

/** What the hooks noted about their own failures. */
export function hookFailures(paths: StatePaths): HookLogEntry[] {
  if (!existsSync(paths.hookLog)) return [];
  const lines = readFileSync(paths.hookLog, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as HookLogEntry);
}
