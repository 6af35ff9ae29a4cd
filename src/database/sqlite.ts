import { asRecord, type Json, parseJson } from '../core/guards.ts';

export type Value = string | number | null;
export type Row = Record<string, unknown>;

/** A column's text; null when it has none. */
export function textIn(column: unknown): string | null {
  return typeof column === 'string' ? column : null;
}

/** A column's number; null when it has none. */
export function numberIn(column: unknown): number | null {
  return typeof column === 'number' ? column : null;
}

/** The JSON object in a column; empty when there is none. */
export function recordIn(column: unknown): Json {
  return asRecord(typeof column === 'string' ? parseJson(column) : undefined);
}

/** The whole surface that this product needs of an SQLite driver. Two implementations behind "#sqlite". */
export interface Sqlite {
  /** Runs statements that take no parameters. */
  exec(sql: string): void;
  run(sql: string, ...values: Value[]): { changes: number; lastInsertRowid: number };
  get(sql: string, ...values: Value[]): Row | undefined;
  all(sql: string, ...values: Value[]): Row[];
  /** Runs `work` in one BEGIN IMMEDIATE transaction; rolls back and rethrows when it throws. */
  transaction<T>(work: () => T): T;
  close(): void;
}

export type OpenOptions = {
  /** `read` never creates a file; `snapshot` also reads where SQLite may not write its lock files beside it. */
  readonly mode: 'read' | 'write' | 'snapshot';
  readonly busyTimeoutMs: number;
};

/** The result code's name of an SQLite error (`SQLITE_BUSY`), or undefined for any other error. */
export function sqliteErrorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : undefined;
}

/** An URI that opens the file as it is, without locks. */
export function snapshotUri(path: string): string {
  return `file:${encodeURI(path).replaceAll('?', '%3f').replaceAll('#', '%23')}?immutable=1`;
}

/** Refuses a pipe or a device among the files that SQLite opens without a look: it would wait for its other end, for ever. */
export function refusePipes(path: string, isPipe: (file: string) => boolean): void {
  if (isPipe(path) || isPipe(`${path}-journal`))
    throw new Error(`Cannot open the database "${path}": a pipe or a device stands there or beside it`);
}
