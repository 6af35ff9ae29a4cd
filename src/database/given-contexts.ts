import { pathExists, readTextFile } from '#runtime';
import { CHANNELS, LESSON_KINDS, type Telling } from '../benefit/model/telling.ts';
import { isRecord, type Json, readRecord, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { isForgotten } from './forgotten-errors.ts';
import type { GivenNote } from './given-note.ts';
import { recordTellings } from './ledger.ts';
import { recordIn } from './sqlite.ts';

/** Which agent was given what: the notes that hooks left, taken in by who may write. */

/** What a sub-agent was given. */
export type GivenContext = Omit<GivenNote, 'agentId' | 'client' | 'tellings'> & { readonly agentId: string };

const NOTE_AGE_MAX_MS = 60_000;

/**
 * Takes the notes into the database: what sub-agents were given, and what the ledger has not yet of what was told or held out.
 * Each counts once, also when a taker is killed before its file is removed. One that quotes an error that was forgotten since is
 * left out. Throws what SQLite throws; the notes are kept then.
 */
export function takeGiven(paths: StatePaths, nowMs: number, db: Db): void {
  if (!pathExists(paths.given)) return;
  const fs = process.getBuiltinModule('node:fs');
  const notes = readNotes(paths);
  db.sqlite.transaction(() => {
    for (const note of notes.flatMap(givenIn).sort(byTime)) {
      if (note.tellings.some(({ group }) => isForgotten(group.key, db))) continue;
      recordTellings(note, db);
      if (isContext(note)) insertContext(note, db);
    }
  });
  for (const { file, given, writtenMs } of notes) {
    // One that cannot be read may be being written.
    if (given !== undefined || nowMs - writtenMs > NOTE_AGE_MAX_MS) fs.rmSync(file, { force: true });
  }
}

const byTime = (left: GivenNote, right: GivenNote) => Date.parse(left.ts) - Date.parse(right.ts);

function insertContext(context: GivenContext, db: Db): void {
  const { ts, sessionId, agentId, agentType, project, projectPath, text } = context;
  const sql = `INSERT OR IGNORE INTO given_contexts(ts, session_id, agent_id, agent_type, project, project_path, text)
    VALUES (?, ?, ?, ?, ?, ?, ?)`;
  db.sqlite.run(sql, ts, sessionId, agentId, agentType, project, projectPath, text);
}

function isContext(note: GivenNote): note is GivenNote & GivenContext {
  return note.agentId !== null && note.text !== '';
}

/** What of sub-agents waits to be taken in. */
export function waitingGiven(paths: StatePaths): GivenContext[] {
  return waitingNotes(paths).filter(isContext);
}

/** What waits to be taken in. */
export function waitingNotes(paths: StatePaths): GivenNote[] {
  return readNotes(paths).flatMap(givenIn);
}

type Note = { readonly file: string; readonly given: GivenNote | undefined; readonly writtenMs: number };

const givenIn = ({ given }: Note): GivenNote[] => (given === undefined ? [] : [given]);

function readNotes(paths: StatePaths): Note[] {
  if (!pathExists(paths.given)) return [];
  const fs = process.getBuiltinModule('node:fs');
  const notes: Note[] = [];
  for (const name of fs.readdirSync(paths.given)) {
    const file = `${paths.given}/${name}`;
    const stats = fs.statSync(file, { throwIfNoEntry: false });
    // Another process may just have taken it in; what is no file is none of ours.
    if (stats?.isFile())
      notes.push({ file, writtenMs: stats.mtimeMs, given: readNote(readTextFile(file) ?? '') });
  }
  return notes;
}

function readNote(source: string): GivenNote | undefined {
  const note = recordIn(source);
  const text = readString(note, 'text');
  const [ts, sessionId] = [readString(note, 'ts'), readString(note, 'sessionId')];
  if (!sessionId || text === undefined || Number.isNaN(Date.parse(ts ?? ''))) return undefined;
  return {
    ...{ ts: ts as string, sessionId, text },
    agentId: readString(note, 'agentId') || null,
    agentType: readString(note, 'agentType') ?? null,
    project: readString(note, 'project') ?? 'unknown',
    projectPath: readString(note, 'projectPath') ?? '',
    client: readString(note, 'client'),
    tellings: Array.isArray(note.tellings) ? note.tellings.flatMap(readTelling) : [],
  };
}

function readTelling(value: unknown): Telling[] {
  if (!isRecord(value)) return [];
  const { place, key } = readRecord(value, 'group');
  const kind = LESSON_KINDS.find((one) => one === value.kind);
  const channel = CHANNELS.find((one) => one === value.channel);
  const { text, holdPercent, isHeld, callId = null, root } = value as Json;
  if (kind === undefined || channel === undefined || typeof isHeld !== 'boolean') return [];
  if (typeof place !== 'string' || typeof key !== 'string' || typeof text !== 'string') return [];
  const isPercent = typeof holdPercent === 'number' && holdPercent >= 0 && holdPercent <= 100;
  if (!isPercent || (callId !== null && typeof callId !== 'string')) return [];
  if (root !== undefined && typeof root !== 'string') return [];
  return [{ group: { place, key }, kind, text, channel, holdPercent, isHeld, callId, root }];
}

/** The newest first. */
export function listGiven(limit: number, db: Db): GivenContext[] {
  const rows = db.sqlite.all(
    `SELECT ts, session_id AS sessionId, agent_id AS agentId, agent_type AS agentType,
       COALESCE(project, '') AS project, project_path AS projectPath, text
     FROM given_contexts ORDER BY ts DESC, id DESC LIMIT ?`,
    limit,
  );
  return rows as GivenContext[];
}
