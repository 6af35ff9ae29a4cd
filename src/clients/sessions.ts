import { statSync } from 'node:fs';
import type { SessionStep } from '../core/conversation.ts';
import { lookOr, parseJson } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { LineReader } from '../system/lines.ts';
import type { RecordReader, SessionFormat } from './session-format.ts';

/** Sessions as clients keep them: finding one, and reading it as a conversation. */

/** A session in its client's store. */
export type StoredSession = {
  readonly id: string;
  /** The file that it stands in. */
  readonly path: string;
  /** When it was last written. */
  readonly modifiedMs: number;
};

/** A session with what an import asks of it. */
export type ListedSession = StoredSession & {
  /** Where it was started, where its store says that. */
  readonly cwd: string | undefined;
  /** Of a sub-agent: the main session that it belongs to, and its kind. */
  readonly parentId: string | null;
  readonly agentType: string | null;
};

/** A client's own sessions. Nothing in it throws for what is not there, or cannot be read. */
export type SessionStore = {
  /** Those that were started in the directory, without sub-agents'; the one written last comes first. */
  readonly startedIn: (cwd: string, env: Environment) => readonly StoredSession[];
  readonly withId: (id: string, env: Environment) => StoredSession | undefined;
  /** All of them, sub-agents' among them; a fork behind what it was made of. Absent for the client whose transcripts `transcripts/` reads by itself. */
  readonly all?: (env: Environment) => readonly ListedSession[];
  /** The session of this id and those of its sub-agents; absent where nobody learns from a session that still runs. */
  readonly withAgents?: (id: string, env: Environment) => readonly ListedSession[];
  /**
   * What it says, from its beginning; a record that cannot be read is passed over. `sinceMs`: what was written down before
   * may be left out.
   */
  readonly read: (session: StoredSession, env: Environment, sinceMs?: number) => Iterable<SessionStep>;
  readonly format: SessionFormat;
};

const LINE_BYTES_MAX = 32 * 1024 * 1024;
const DECODER = new TextDecoder();

/** The records of a file with a JSON object in each line, in memory of one line. A torn last line is passed over. */
export function* recordsIn(path: string): Generator<unknown> {
  const lines = lookOr(() => new LineReader(path, { lineBytesMax: LINE_BYTES_MAX }), undefined);
  if (lines === undefined) return;
  try {
    for (let line = lines.next(); line !== undefined; line = lines.next())
      if (line.kind === 'line' && line.bytes.length > 0) yield parseJson(DECODER.decode(line.bytes));
  } finally {
    lines.close();
  }
}

/** What a reader makes of the records of a file. */
export function* stepsIn(path: string, reader: RecordReader): Generator<SessionStep> {
  for (const record of recordsIn(path)) yield* reader.read(record);
}

/** A file as a session, newest first when sorted; none where there is no such file. */
export function storedAt(path: string, id: string): StoredSession[] {
  const file = lookOr(() => statSync(path, { throwIfNoEntry: false }), undefined);
  return file?.isFile() ? [{ id, path, modifiedMs: file.mtimeMs }] : [];
}

/** A time as it is written in a store, in milliseconds or as a text, in ISO 8601; undefined when it is none. */
export function timeIn(written: unknown): string | undefined {
  const time = new Date(typeof written === 'number' || typeof written === 'string' ? written : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** The one written last comes first. */
export function newestFirst(sessions: readonly StoredSession[]): StoredSession[] {
  return sessions.toSorted((one, other) => other.modifiedMs - one.modifiedMs);
}
