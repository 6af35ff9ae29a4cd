import { pathExists, readTextFile } from '#runtime';
import { readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import type { GivenContext } from './given-note.ts';
import { recordIn } from './sqlite.ts';

/** Which sub-agent was given what: the notes that SubagentStart left, taken in by who may write. */

const NOTE_AGE_MAX_MS = 60_000;

/** Takes the notes into the database. Throws what SQLite throws; the notes are kept then. */
export function takeGiven(paths: StatePaths, nowMs: number, db: Db): void {
  if (!pathExists(paths.given)) return;
  const fs = process.getBuiltinModule('node:fs');
  const notes = readNotes(paths);
  db.sqlite.transaction(() => {
    for (const { ts, sessionId, agentId, agentType, project, projectPath, text } of notes.flatMap(givenIn)) {
      const sql = `INSERT OR IGNORE INTO given_contexts(ts, session_id, agent_id, agent_type, project, project_path, text)
        VALUES (?, ?, ?, ?, ?, ?, ?)`;
      db.sqlite.run(sql, ts, sessionId, agentId, agentType, project, projectPath, text);
    }
  });
  for (const { file, given, writtenMs } of notes) {
    // One that cannot be read may be being written.
    if (given !== undefined || nowMs - writtenMs > NOTE_AGE_MAX_MS) fs.rmSync(file, { force: true });
  }
}

/** What waits to be taken in. */
export function waitingGiven(paths: StatePaths): GivenContext[] {
  return readNotes(paths).flatMap(givenIn);
}

type Note = { readonly file: string; readonly given: GivenContext | undefined; readonly writtenMs: number };

const givenIn = ({ given }: Note): GivenContext[] => (given === undefined ? [] : [given]);

function readNotes(paths: StatePaths): Note[] {
  if (!pathExists(paths.given)) return [];
  const fs = process.getBuiltinModule('node:fs');
  const notes: Note[] = [];
  for (const name of fs.readdirSync(paths.given)) {
    const file = `${paths.given}/${name}`;
    const writtenMs = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    // Another process may just have taken it in.
    if (writtenMs !== undefined) notes.push({ file, writtenMs, given: readNote(readTextFile(file) ?? '') });
  }
  return notes;
}

function readNote(text: string): GivenContext | undefined {
  const note = recordIn(text);
  const [ts, sessionId, agentId] = ['ts', 'sessionId', 'agentId'].map((key) => readString(note, key));
  const given = readString(note, 'text');
  if (!ts || !sessionId || !agentId || given === undefined) return undefined;
  const agentType = readString(note, 'agentType') ?? null;
  const project = readString(note, 'project') ?? 'unknown';
  const projectPath = readString(note, 'projectPath') ?? '';
  return { ts, sessionId, agentId, agentType, project, projectPath, text: given };
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
