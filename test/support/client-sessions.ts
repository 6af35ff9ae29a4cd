import { Database } from 'bun:sqlite';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import type { StoredSession } from '../../src/clients/sessions.ts';
import type { ClientName } from './clients.ts';

/** Sessions that the real clients have written, as their stores in a home: see test/clients/record-sessions.ts. */
export const RECORDED = join(import.meta.dir, '../fixtures/sessions');
/** Where they were started. */
export const RECORDED_IN = '/home/dev/project';

const PLACES: Readonly<Record<ClientName, string>> = {
  claude: '.claude/projects',
  codex: '.codex/sessions',
  gemini: '.gemini/tmp',
  opencode: '.local/share/opencode',
};

/** Puts the recorded sessions of a client into its store in this home, as if started in `project` and written then. */
export function putSessions(home: string, name: ClientName, project = RECORDED_IN, atMs = Date.now()): void {
  const place = join(home, PLACES[name]);
  const moved = (text: string) => text.replaceAll(RECORDED_IN, project);
  if (name === 'opencode') {
    putDatabase(place, moved);
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

function putDatabase(place: string, moved: (text: string) => string): void {
  mkdirSync(place, { recursive: true });
  const recorded = (file: string) => readFileSync(join(RECORDED, 'opencode', file), 'utf8');
  using database = new Database(join(place, 'opencode.db'));
  database.run(recorded('schema.sql').replaceAll(/,\s*CONSTRAINT[^\n]*/g, ''));
  for (const table of ['session', 'message', 'part']) {
    for (const line of recorded(`${table}.jsonl`).split('\n').filter(Boolean)) {
      const row: Record<string, string | number | null> = JSON.parse(moved(line));
      const names = Object.keys(row);
      database.run(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`, Object.values(row));
    }
  }
}

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
