import { Database } from 'bun:sqlite';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import type { StoredSession } from '../../src/clients/sessions.ts';
import type { ClientName } from './clients.ts';
import { Clock } from './transcripts.ts';

/** Sessions in the stores of clients: those that the real clients have recorded, and made up ones of the same forms. */

export const RECORDED = join(import.meta.dir, '../fixtures/sessions');
/** Where a client keeps them below the home directory. */
const PLACES: Readonly<Record<ClientName, string>> = {
  ...{ claude: '.claude/projects', codex: '.codex/sessions', gemini: '.gemini/tmp' },
  opencode: '.local/share/opencode',
};
/** The directory of the recorded sessions. */
export const RECORDED_IN = '/home/dev/project';

type Value = string | number | null;

function insert(table: string, row: Readonly<Record<string, Value>>, database: Database): void {
  const names = Object.keys(row);
  const sql = `INSERT OR REPLACE INTO ${table} (${names}) VALUES (${names.map(() => '?')})`;
  database.run(sql, Object.values(row));
}

/** The client's database, made when it is not there. */
function openCodeDatabase(home: string): Database {
  const path = join(home, PLACES.opencode, 'opencode.db');
  const isThere = existsSync(path);
  mkdirSync(dirname(path), { recursive: true });
  const database = new Database(path);
  const schema = readFileSync(join(RECORDED, 'opencode/schema.sql'), 'utf8');
  if (!isThere) database.run(schema.replaceAll(/,\s*CONSTRAINT[^\n]*/g, ''));
  return database;
}

/** Puts the recorded sessions of a client into its store in this home, as if started in `project` and written then. */
export function putSessions(home: string, name: ClientName, project = RECORDED_IN, atMs = Date.now()): void {
  const place = join(home, PLACES[name]);
  const moved = (text: string) => text.replaceAll(RECORDED_IN, project);
  if (name === 'opencode') {
    using database = openCodeDatabase(home);
    for (const table of ['session', 'message', 'part']) {
      const lines = readFileSync(join(RECORDED, name, `${table}.jsonl`), 'utf8')
        .split('\n')
        .filter(Boolean);
      for (const line of lines) insert(table, JSON.parse(moved(line)), database);
    }
    return;
  }
  const dashed = (path: string) => path.replaceAll(/[^A-Za-z0-9]/g, '-');
  for (const entry of readdirSync(join(RECORDED, name), { recursive: true }).map(String)) {
    const from = join(RECORDED, name, entry);
    const to = join(place, entry.replace(dashed(RECORDED_IN), dashed(project)));
    if (statSync(from).isDirectory()) mkdirSync(to, { recursive: true });
    else {
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, moved(readFileSync(from, 'utf8')));
      utimesSync(to, atMs / 1000, atMs / 1000);
    }
  }
  if (name === 'gemini') writeFileSync(join(place, 'project/.project_root'), project);
}

export type MadeCall = {
  readonly run: string;
  /** The exit code. */
  readonly code?: number;
  readonly prints?: string;
  /** What the client says in place of a result of the command. */
  readonly says?: string;
  readonly workdir?: string;
  /** Made up where it is not given, as services do. */
  readonly id?: string;
};

/** What happened: a text is a prompt. */
export type MadeSession = {
  readonly id: string;
  readonly cwd: string;
  readonly startMs?: number;
  /** Of a sub-agent: the session that has started it. */
  readonly parent?: string;
  /** And the one of the user, where that is another. */
  readonly root?: string;
  readonly entries: readonly (string | MadeCall)[];
};

const idOf = ({ id }: MadeCall, session: string, at: number) => id ?? `call_${at}ABCDEF0123${session}${at}`;

function putCodex({ id, cwd, startMs, parent, root = parent, entries }: MadeSession, home: string): string {
  const clock = new Clock(startMs);
  const lines: string[] = [];
  const add = (type: string, payload: object) =>
    lines.push(`${JSON.stringify({ timestamp: clock.tick(), ordinal: lines.length, type, payload })}\n`);
  const agent = parent === undefined ? {} : { parent_thread_id: parent };
  add('session_meta', { session_id: root ?? id, id, cwd, originator: 'codex_cli', ...agent });
  for (const [at, entry] of entries.entries()) {
    if (typeof entry === 'string') {
      const content = [{ type: 'input_text', text: entry }];
      add('response_item', { type: 'message', role: 'user', content });
      continue;
    }
    const { run, code = 0, prints = '', says, workdir } = entry;
    const call_id = idOf(entry, id, at);
    const args = JSON.stringify({ cmd: run, ...(workdir && { workdir }) });
    add('response_item', { type: 'function_call', name: 'exec_command', arguments: args, call_id });
    const head = `Chunk ID: da39a6\nWall time: 0.0000 seconds\nProcess exited with code ${code}\nOriginal token count: 7\nOutput:\n`;
    add('response_item', { type: 'function_call_output', call_id, output: says ?? `${head}${prints}` });
  }
  const path = join(home, PLACES.codex, `2026/11/20/rollout-2026-11-20T09-00-00-${id}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.join(''));
  return path;
}

function putGemini({ id, cwd, startMs, parent, entries }: MadeSession, home: string): string {
  const clock = new Clock(startMs);
  const kind = parent === undefined ? 'main' : 'subagent';
  const lines: object[] = [{ sessionId: id, projectHash: 'x', startTime: clock.tick(), kind }];
  for (const [at, entry] of entries.entries()) {
    const message = { id: `${id}-${at}`, timestamp: clock.tick() };
    if (typeof entry === 'string') {
      lines.push({ ...message, type: 'user', content: [{ text: entry }] });
      continue;
    }
    const { run, code = 0, prints = '', says, workdir } = entry;
    const callId = idOf(entry, id, at);
    const tail = code === 0 ? '' : `\nExit Code: ${code}`;
    const output = `<untrusted_context>\nOutput: ${prints}${tail}\nProcess Group PGID: 6977\n</untrusted_context>`;
    const response = says === undefined ? { output } : { error: says };
    const result = [{ functionResponse: { id: callId, name: 'run_shell_command', response } }];
    const status = says === undefined ? 'success' : 'error';
    const args = { command: run, ...(workdir && { dir_path: workdir }) };
    const call = { id: callId, name: 'run_shell_command', args, result, status, timestamp: clock.tick() };
    lines.push({ ...message, type: 'gemini', content: '' });
    lines.push({ ...message, type: 'gemini', content: '', toolCalls: [call] });
    lines.push({ ...message, id: `${id}-${at}-r`, timestamp: clock.tick(), type: 'user', content: result });
  }
  const project = join(home, PLACES.gemini, cwd.replaceAll('/', '-'));
  const name = parent === undefined ? `session-2026-11-20T09-00-${id.slice(0, 8)}` : `${parent}/${id}`;
  const path = join(project, `chats/${name}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(join(project, '.project_root'), cwd);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

function putOpenCode({ id, cwd, startMs, parent = '', entries }: MadeSession, home: string): string {
  const clock = new Clock(startMs);
  const ms = () => Date.parse(clock.tick());
  using database = openCodeDatabase(home);
  const times = { time_created: ms(), time_updated: ms() };
  const named = { project_id: 'global', slug: id, version: '1.18.33', directory: cwd };
  const title = parent === '' ? 'A session' : 'look (@general subagent)';
  insert('session', { id, ...named, title, parent_id: parent || null, ...times }, database);
  const add = (at: string, role: string, part: object, time: number) => {
    const stamp = { session_id: id, time_created: time, time_updated: time };
    const data = JSON.stringify({ role, time: { created: time } });
    insert('message', { id: `msg_${id}_${at}`, ...stamp, data }, database);
    const row = { id: `prt_${id}_${at}`, message_id: `msg_${id}_${at}`, ...stamp };
    insert('part', { ...row, data: JSON.stringify(part) }, database);
  };
  for (const [index, entry] of entries.entries()) {
    const at = String(index).padStart(4, '0');
    if (typeof entry === 'string') {
      add(at, 'user', { type: 'text', text: entry }, ms());
      continue;
    }
    const { run, code = 0, prints = '', says, workdir } = entry;
    const input = { command: run, ...(workdir && { workdir }) };
    const time = { start: ms(), end: ms() };
    const ended = { status: 'completed', output: prints, metadata: { output: prints, exit: code } };
    const state = { ...(says === undefined ? ended : { status: 'error', error: says }), input, time };
    add(at, 'assistant', { type: 'tool', tool: 'bash', callID: idOf(entry, id, index), state }, time.end);
  }
  return join(home, PLACES.opencode, 'opencode.db');
}

/** Writes a session as its client does, in the place of an earlier one with its id; gives the path of its file. */
export const PUT: Readonly<
  Record<'codex' | 'gemini' | 'opencode', (session: MadeSession, home: string) => string>
> = { codex: putCodex, gemini: putGemini, opencode: putOpenCode };

/** The sessions that a client has of this directory, the one written last first. */
export function sessionsOf(name: ClientName, home: string, project: string): readonly StoredSession[] {
  return clientNamed(name).sessions.startedIn(project, { HOME: home });
}

/** Lets a session look as if it was last written then. */
export function writtenAt(name: ClientName, { id, path }: StoredSession, atMs: number): void {
  if (name !== 'opencode') {
    utimesSync(path, atMs / 1000, atMs / 1000);
    return;
  }
  using database = new Database(path);
  database.run('UPDATE session SET time_updated = ? WHERE id = ?', [atMs, id]);
}
