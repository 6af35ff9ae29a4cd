import { pathExists, writeMark } from '#runtime';
import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import type { Row } from './sqlite.ts';

/**
 * Which sub-agent was given what. SubagentStart must not wait for the database, so it leaves a note in a file, and the
 * next hook that may write takes it in. A note is no event: it may be lost when the machine fails in that moment.
 */
export type GivenContext = {
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentType: string | null;
  readonly project: string;
  readonly projectPath: string;
  readonly text: string;
};

const NOTE_AGE_MAX_MS = 60_000;

/**
 * Leaves the note, in one of 4,096 files that the end of the agent's id chooses: where nobody ever takes notes in, the
 * disk does not fill. Never throws.
 */
export function noteGiven(given: GivenContext, paths: StatePaths): void {
  let slot = '';
  for (const letter of given.agentId.slice(-3)) slot += '0123456789abcdef'.includes(letter) ? letter : '0';
  writeMark(`${paths.given}/${slot}.json`, JSON.stringify(given));
}

/** Takes the notes into the database. Throws what SQLite throws; the notes are kept then. */
export function takeGiven(paths: StatePaths, nowMs: number, db: Db): void {
  if (!pathExists(paths.given)) return;
  const fs = process.getBuiltinModule('node:fs');
  const done: string[] = [];
  db.sqlite.transaction(() => {
    for (const name of fs.readdirSync(paths.given)) {
      const file = `${paths.given}/${name}`;
      const given = readNote(fs.readFileSync(file, 'utf8'));
      const isFresh = nowMs - fs.statSync(file).mtimeMs < NOTE_AGE_MAX_MS;
      if (given !== undefined) insert(given, db);
      if (given !== undefined || !isFresh) done.push(file); // Else it may be being written.
    }
  });
  for (const file of done) fs.rmSync(file, { force: true });
  try {
    fs.rmdirSync(paths.given);
  } catch {
    // Another note came in meanwhile.
  }
}

function insert(given: GivenContext, db: Db): void {
  db.sqlite.run(
    `INSERT OR IGNORE INTO given_contexts(ts, session_id, agent_id, agent_type, project, project_path, text)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    given.ts,
    given.sessionId,
    given.agentId,
    given.agentType,
    given.project,
    given.projectPath,
    given.text,
  );
}

function readNote(text: string): GivenContext | undefined {
  const note = parseJson(text);
  if (!isRecord(note)) return undefined;
  const [ts, sessionId, agentId] = ['ts', 'sessionId', 'agentId'].map((key) => readString(note, key));
  const given = readString(note, 'text');
  if (!ts || !sessionId || !agentId || given === undefined) return undefined;
  return {
    ts,
    sessionId,
    agentId,
    agentType: readString(note, 'agentType') ?? null,
    project: readString(note, 'project') ?? 'unknown',
    projectPath: readString(note, 'projectPath') ?? '',
    text: given,
  };
}

/** The newest first. */
export function listGiven(limit: number, db: Db): GivenContext[] {
  return db.sqlite.all('SELECT * FROM given_contexts ORDER BY ts DESC, id DESC LIMIT ?', limit).map(readRow);
}

function readRow(row: Row): GivenContext {
  return {
    ts: String(row.ts),
    sessionId: String(row.session_id),
    agentId: String(row.agent_id),
    agentType: row.agent_type === null ? null : String(row.agent_type),
    project: String(row.project ?? ''),
    projectPath: String(row.project_path),
    text: String(row.text),
  };
}
