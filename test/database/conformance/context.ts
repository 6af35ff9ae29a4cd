import { mkdirSync } from 'node:fs';
import { type StatePaths, statePaths } from '../../../src/core/state-paths.ts';
import type { Db } from '../../../src/database/connection.ts';
import { getDb } from '../../../src/database/db.ts';
import type { CallRecord, Recording, ToolError } from '../../../src/hooks/decision.ts';
import { record } from '../../../src/hooks/store/record.ts';
import { commandFamily } from '../../../src/lessons/command.ts';

/** A fresh home directory and what a case needs to work in it. */
export type Context = {
  readonly home: string;
  readonly paths: StatePaths;
  /** The database, open for writing from the first look at it on; closed after the case. */
  readonly db: Db;
  /** Opens another connection for writing; closed after the case. */
  readonly open: (options?: { busyTimeoutMs?: number; migrationBytesMax?: number }) => Db;
  readonly read: () => Db | undefined;
  /** Records one after the other, as one hook after the other does. */
  readonly tell: (...recordings: Recording[]) => void;
  /** Runs a role of workers.ts in a process of its own, under the same driver. */
  readonly startWorker: (role: string, ...words: string[]) => Worker;
  readonly dispose: () => void;
};

/** One case of the suite. `run` throws when the driver or the store does not keep a promise. */
type Case = { readonly title: string; readonly run: (context: Context) => void | Promise<void> };

export const CASES: Case[] = [];

/** Adds a case: each runs under both drivers. */
export function test(title: string, run: Case['run']): void {
  CASES.push({ title, run });
}

export type Worker = {
  /** The first line of its output. */
  readonly ready: Promise<string>;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  readonly kill: () => void;
};

export function createContext(home: string, startWorker: Context['startWorker']): Context {
  const paths = pathsIn(home);
  const opened: Db[] = [];
  const keep = <T extends Db | undefined>(db: T): T => {
    if (db) opened.push(db);
    return db;
  };
  const open: Context['open'] = (options = {}) =>
    keep(getDb(paths, { mode: 'write', busyTimeoutMs: 1000, ...options }));
  let db: Db | undefined;
  const context: Context = {
    home,
    paths,
    get db() {
      db ??= open();
      return db;
    },
    open,
    read: () => keep(getDb(paths, { mode: 'read', busyTimeoutMs: 1000 })),
    tell: (...recordings) => {
      for (const recording of recordings) record([recording], paths, context.db);
    },
    startWorker,
    dispose: () => {
      for (const db of opened) db.sqlite.close();
    },
  };
  return context;
}

export function pathsIn(home: string): StatePaths {
  const paths = statePaths({ SELF_GENERATION_HOME: home }, 'linux');
  if (paths === undefined) throw new Error(`Cannot use the home directory "${home}": it is not absolute`);
  return paths;
}

export function makeDataFolder(paths: StatePaths): void {
  mkdirSync(paths.data, { recursive: true });
}

export type Where = {
  readonly ts?: string;
  readonly session?: string;
  readonly agent?: string | null;
  readonly projectPath?: string | null;
};

const START_MS = Date.parse('2026-05-01T10:00:00.000Z');

/** The time `seconds` after the start of all stories. */
export function time(seconds: number): string {
  return new Date(START_MS + seconds * 1000).toISOString();
}

export function origin({
  ts = time(0),
  session = 's1',
  agent = null,
  projectPath = '/home/dev/shop',
}: Where = {}) {
  const project = projectPath?.split('/').at(-1) ?? 'unknown';
  return { ts, sessionId: session, project, projectPath, agentId: agent, agentType: agent && 'executor' };
}

export function prompt(text: string, where: Where = {}): Recording {
  return { kind: 'prompt', at: origin(where), text, charCount: text.length };
}

export type CallFields = Where & {
  readonly command?: string;
  readonly file?: string;
  readonly id?: string;
};

function callOf(tool: string, { command, file, id }: CallFields): CallRecord {
  const isShell = command !== undefined;
  return {
    tool,
    toolUseId: id ?? null,
    command: isShell ? commandFamily(command) : null,
    line: isShell ? command : null,
    directory: isShell ? '' : null,
    remark: null,
    file: file ?? null,
    chars: 0,
  };
}

export function success(tool: string, call: CallFields = {}): Recording {
  return { kind: 'tool-use', at: origin(call), ...callOf(tool, call), meta: {} };
}

type ToolErrors = Extract<Recording, { kind: 'tool-errors' }>;

export type FailureFields = CallFields &
  Partial<Pick<ToolError, 'said' | 'noise' | 'errorRaw'>> & { readonly shown?: number };

/** `error` is the key, and the telling line as long as no other is given. */
export function failure(tool: string, error: string, call: FailureFields = {}): ToolErrors {
  const { said = error, errorRaw = said, noise = null } = call;
  const toolError: ToolError = { ...callOf(tool, call), error, said, errorRaw, noise };
  return { kind: 'tool-errors', at: origin(call), errors: [toolError], shownKbId: call.shown ?? null };
}

export function sessionEnd(where: Where = {}): Recording {
  return { kind: 'session-end', at: origin(where), reason: 'exit' };
}

/** Waits until all of them have ended well. */
export async function allEnded(workers: readonly Worker[]): Promise<void> {
  for (const { code, output } of await Promise.all(workers.map(({ ended }) => ended)))
    if (code !== 0) throw new Error(`A process ended with ${code}: ${output}`);
}

export function count(db: Db, table: string, condition = '1'): number {
  return Number(db.sqlite.get(`SELECT COUNT(*) AS n FROM ${table} WHERE ${condition}`)?.n);
}

/** Throws when the file or one of our search indexes is damaged. */
export function checkIntegrity(db: Db): void {
  const rows = db.sqlite.all('PRAGMA integrity_check').map((row) => row.integrity_check);
  if (rows.join() !== 'ok') throw new Error(`Damaged database: ${rows.join()}`);
  for (const table of ['event_text', 'error_kb_text']) {
    db.sqlite.exec(`INSERT INTO ${table}(${table}) VALUES ('integrity-check')`);
  }
}
